"""What the operators act on, and why one of them cannot act now."""


def active_armature(context):
    """The active object when it is an armature, else None."""
    obj = getattr(context, "object", None)
    return obj if obj is not None and obj.type == "ARMATURE" else None


def chosen_armatures(context) -> list:
    """The active armature and the selected ones, in a stable order."""
    active = active_armature(context)
    selected = [obj for obj in context.selected_objects if obj.type == "ARMATURE" and obj is not active]
    return [active, *sorted(selected, key=lambda obj: obj.name)]


def active_ragdoll(context):
    """The active armature when it has a ragdoll, else None."""
    obj = active_armature(context)
    return obj if obj is not None and obj.active_ragdoll.is_ragdoll else None


def active_moved(context):
    """The active armature when it has a ragdoll or a motion stack, else None."""
    obj = active_armature(context)
    has = obj is not None and (obj.active_ragdoll.is_ragdoll or obj.active_ragdoll.target_armature is not None)
    return obj if has else None


def scene_of(obj, context):
    """The scene that a character has its ragdoll or motion stack in; the current one while it has none."""
    return obj.active_ragdoll.scene or obj.active_ragdoll.motion_scene or context.scene


def refuse(cls, text: str) -> bool:
    """For `poll`: say what to do instead, and do not run."""
    cls.poll_message_set(text)
    return False


def needs_armature(cls, context) -> bool:
    """For `poll`: an armature is active."""
    return active_armature(context) is not None or refuse(cls, "Select the character's armature")


def needs_ragdoll(cls, context) -> bool:
    """For `poll`: an armature with a ragdoll is active."""
    if not needs_armature(cls, context):
        return False
    return active_ragdoll(context) is not None or refuse(cls, "Build the ragdoll first")


def needs_moved(cls, context) -> bool:
    """For `poll`: an armature with a ragdoll or a motion stack is active."""
    if not needs_armature(cls, context):
        return False
    return active_moved(context) is not None or refuse(cls, "Build the ragdoll first, or set up a look-at")
