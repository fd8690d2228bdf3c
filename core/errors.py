"""The one exception that reaches the user as a message."""


class RagdollError(Exception):
    """Something the user can mend; the text is one line and names the bone, object or value."""


def unforeseen(error: BaseException) -> str:
    """The message about a mistake of ours: a run that went on after it would show a pose of some other frame."""
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted"
    return f"An error in Active Ragdoll, see the console: {type(error).__name__}: {error}"
