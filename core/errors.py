"""The one exception that reaches the user as a message, and how messages list what they are about."""


class RagdollError(Exception):
    """Something the user can mend; the text is one line and names the bone, object or value."""


def listed(texts, most: int = 3) -> str:
    """The first of some texts, and how many more there are."""
    texts = list(texts)
    shown = ", ".join(texts[:most])
    return f"{shown} and {len(texts) - most} more" if len(texts) > most else shown


def named(names, most: int = 3) -> str:
    """Bones or objects as a message lists them."""
    return listed((f"'{name}'" for name in names), most)


def unforeseen(error: BaseException) -> str:
    """The message about a mistake of ours: a run that went on after it would show a pose of some other frame."""
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted"
    return f"An error in Active Ragdoll, see the console: {type(error).__name__}: {error}"
