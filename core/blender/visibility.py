"""What of a ragdoll the 3D views show: the overlay draws it, so the objects that it is made of stay out of sight.

Blender leaves bodies without a cache at the world's origin, and joints where they stand in bind pose. Hidden by the eye
of their collections in the view layers, they are evaluated as if they were shown, which objects that are hidden one by
one, or disabled in viewports, are not.
"""

from . import compounds


def show(scene) -> None:
    """Let all view layers of a scene show or hide its ragdolls' objects, as the scene says."""
    hidden = not scene.active_ragdoll.show_helpers
    wanted = {obj.active_ragdoll.collection for obj in _ragdolls(scene)}
    wanted |= _linked_by_us(scene)
    wanted.discard(None)
    for layer in scene.view_layers:
        for found in _inside(layer.layer_collection):
            if found.collection in wanted and found.hide_viewport != hidden:
                found.hide_viewport = hidden


def show_for_editing(obj, editing: bool) -> None:
    """Show a character's bodies and their pieces in spite of all, for as long as they are edited."""
    settings = obj.active_ragdoll
    outer = settings.scene.collection
    pieces = compounds.pieces_of(settings)
    for things, held in (([settings.bodies], outer.children), (pieces, outer.objects)):
        for thing in things:
            if editing != (thing.name in held):
                (held.link if editing else held.unlink)(thing)
    for piece in pieces:
        piece.hide_select = not editing


def _inside(layer_collection):
    for child in layer_collection.children:
        yield child
        yield from _inside(child)


def _ragdolls(scene) -> list:
    return [o for o in scene.objects if o.type == "ARMATURE" and o.active_ragdoll.is_ragdoll]


def _linked_by_us(scene) -> set:
    """The rigid body world's collections where a build put them into the scene: what users own is in others, too."""
    names = scene.active_ragdoll.collections_linked.split(",")
    return {getattr(scene.rigidbody_world, name) for name in names if name} if scene.rigidbody_world else set()
