"""Examples, each a module with `main(out)`: one scene, a few figures, a contact sheet."""
