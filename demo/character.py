"""The demo's character: Blender's bundled Rigify human metarig in a jointed mannequin made in code."""

import contextlib
import importlib
import io

import addon_utils
import bpy
import numpy as np

from . import DemoError
from .mannequin import MATERIALS, Part, horse_parts, mannequin_parts


def enable_rigify() -> None:
    """Enables Blender's bundled Rigify add-on, quietly, if it is not enabled.

    Its preferences entry is needed (`default_set`): without it Rigify's registration stops half-way.

    Raises:
        DemoError: this Blender has no working Rigify.
    """
    if addon_utils.check("rigify")[1]:
        return
    chatter = io.StringIO()
    with contextlib.redirect_stdout(chatter):
        module = addon_utils.enable("rigify", default_set=True)
    if module is None:
        raise DemoError("this Blender's bundled Rigify add-on could not be enabled")


PARTS = {"human": ("Mannequin", mannequin_parts), "Animals.horse": ("Horse", horse_parts)}


def make_rigify_human(scene: bpy.types.Scene, metarig: str = "human") -> tuple[bpy.types.Object, bpy.types.Object]:
    """Makes the Rigify human metarig (159 bones) with a skinned mannequin in the scene's own collection.

    Args:
        scene: the scene of the current context's window (edit mode is needed for a moment).
        metarig: one of `PARTS`.

    Returns:
        The armature object and its mesh object (a child of it), both at the origin, standing on z = 0, facing
        -Y.

    Raises:
        DemoError: Rigify is missing, or the scene is not the context's.
    """
    enable_rigify()
    if bpy.context.scene != scene:
        raise DemoError(f"scene {scene.name!r} is not the current one, so no rig can be made in it")
    view_layer = bpy.context.view_layer
    name, parts = PARTS[metarig]
    armature = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    scene.collection.objects.link(armature)
    _select_only(armature, view_layer)
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        importlib.import_module(f"rigify.metarigs.{metarig}").create(armature)  # there once the add-on is enabled
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
    for pose_bone in armature.pose.bones:
        pose_bone.rotation_mode = "QUATERNION"
    armature.data.display_type = "STICK"
    mesh_object = _make_mesh_object(armature, f"{name} skin", parts(armature.data.bones))
    scene.collection.objects.link(mesh_object)
    _select_only(armature, view_layer)
    view_layer.update()
    return armature, mesh_object


def generate_rigify(armature: bpy.types.Object) -> bpy.types.Object:
    """Generates the full Rigify control rig (with DEF- bones) of a metarig; works headless, takes seconds.

    Args:
        armature: a metarig in the current view layer, as `make_rigify_human` makes it.

    Returns:
        The generated armature object; the metarig stays as it is.

    Raises:
        DemoError: Rigify is missing or refuses the metarig.
    """
    enable_rigify()
    view_layer = bpy.context.view_layer
    if bpy.context.object is not None and bpy.context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    _select_only(armature, view_layer)
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            bpy.ops.pose.rigify_generate()
        except RuntimeError as error:
            raise DemoError(f"Rigify could not generate a rig: {str(error).splitlines()[0]}") from error
    rig = armature.data.rigify_target_rig
    if rig is None:
        raise DemoError("Rigify generated no rig")
    return rig


def _select_only(obj: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> None:
    view_layer.update()  # or its lists may still hold objects that are gone
    for other in list(view_layer.objects.selected):
        other.select_set(False)
    view_layer.objects.active = obj
    obj.select_set(True)


def _make_mesh_object(armature: bpy.types.Object, title: str, parts: list[Part]) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(title)
    vertices, faces, materials, first = [], [], [], 0
    for part in parts:
        vertices.append(part.vertices)
        faces += [tuple(first + index for index in face) for face in part.faces]
        materials += part.materials
        first += len(part.vertices)
    mesh.from_pydata(np.concatenate(vertices).tolist(), [], faces)
    mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), dtype=bool))
    mesh.polygons.foreach_set("material_index", np.array(materials, dtype=np.int32))
    for name, colour in MATERIALS:
        mesh.materials.append(make_material(name, colour))
    mesh.update()
    obj = bpy.data.objects.new(title, mesh)
    first = 0
    for part in parts:
        for bone, weights in part.weights.items():
            group = obj.vertex_groups.get(bone) or obj.vertex_groups.new(name=bone)
            for weight in np.unique(weights[weights > 0.0]):
                indices = first + np.flatnonzero(weights == weight)
                group.add(indices.tolist(), float(weight), "REPLACE")
        first += len(part.vertices)
    obj.parent = armature
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    return obj


def make_material(name: str, colour: tuple[float, float, float], roughness: float = 0.45) -> bpy.types.Material:
    """A plain material of that linear colour, for Workbench (viewport colour) and Cycles alike."""
    material = bpy.data.materials.get(name)
    if material is not None:
        return material
    material = bpy.data.materials.new(name)
    if material.node_tree is None:
        material.use_nodes = True
    material.diffuse_color = (*colour, 1.0)
    material.roughness = roughness
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    return material
