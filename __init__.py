"""Active Ragdoll: a physical body for animated characters."""


def register() -> None:
    """Register classes, settings, handlers and the command line; called by Blender."""
    from . import registration

    registration.register()


def unregister() -> None:
    """Take everything back that `register` added; called by Blender."""
    from . import registration

    registration.unregister()
