"""The one exception that reaches the user as a message."""


class RagdollError(Exception):
    """Something the user can mend; the text is one line and names the bone, object or value."""
