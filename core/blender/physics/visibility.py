"""Hiding the helpers of a ragdoll in the 3D views; the overlay draws the ragdoll instead.

Bodies without a cache stand at the world's origin and joints where they are in bind pose, so the helpers themselves are
not worth seeing. They are hidden by the eye of their collections in the view layers, because Blender goes on evaluating
them then. It does not evaluate objects that are hidden one by one or disabled in viewports.
"""

from ..rig.armature import with_ragdoll
from . import body_meshes


def show(scene) -> None:
    """Show or hide the helpers of a scene's ragdolls in all its view layers, as the scene's setting says."""
    hidden = not scene.active_ragdoll.show_helpers
    wanted = {obj.active_ragdoll.collection for obj in with_ragdoll(scene.objects)}
    wanted |= _linked_by_us(scene)
    wanted.discard(None)
    for layer in scene.view_layers:
        for found in _inside(layer.layer_collection):
            if found.collection in wanted and found.hide_viewport != hidden:
                found.hide_viewport = hidden


def show_for_editing(obj, editing: bool) -> None:
    """Show a character's bodies and their pieces while they are edited, even if helpers are hidden."""
    settings = obj.active_ragdoll
    outer = settings.scene.collection
    pieces = body_meshes.pieces_of(settings)
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


def _linked_by_us(scene) -> set:
    """The rigid body world's collections that a build linked to the scene; the user's objects are in others, too."""
    names = scene.active_ragdoll.collections_linked.split(",")
    return {getattr(scene.rigidbody_world, name) for name in names if name} if scene.rigidbody_world else set()
