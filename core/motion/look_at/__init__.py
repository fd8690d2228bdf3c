"""Look-at: a chain of bones turns until the first of them looks at a point."""
