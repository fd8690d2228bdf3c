"""A drive and a kind of stack entry of the test's own: added through the public registries alone, and gone again."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings.declare import STACK, STACK_VALUE, flag, share, text
from active_ragdoll.core.blender.stack import entries
from active_ragdoll.core.blender.tools import profiles
from active_ragdoll.core.motion.stack import Inputs
from active_ragdoll.core.motion.transform_bone import ADD, TransformBone
from active_ragdoll.core.ragdoll import drives
from active_ragdoll.core.ragdoll.drives.law import Factor, Law, Parameter
from active_ragdoll.operators import command_line

pytestmark = [pytest.mark.blender_version, pytest.mark.own_process]
LAST = 20
TURN = np.radians(40.0)


class Elastic(Law):
    """A spring whose stiffness is stated for each kilogram."""

    identifier, label, description, constraint = "ELASTIC", "Elastic", "Pulled by rubber bands", "SPRING2"
    about = "elasticity", "elasticity", "Elasticity", "Stiffness for each kilogram [N/m/kg]"
    factor = Factor("elasticity_scale", "Elasticity", "Multiplies the character's elasticity")
    words = "elasticity", ("elasticity", "K", "of the rubber bands")
    parameters = (Parameter(*about, 2000.0, 0.0, 1.0e5, factor, *words),)

    def reach(self, weight, seconds):
        return np.full_like(weight, 1.0)

    def gains(self, side, frame):
        stiffness = (side.parameters["elasticity"] * side.weight)[:, None] * side.inertias
        return stiffness, 0.05 * stiffness

    def joint_command(self, joints):
        return np.zeros((len(joints.weight), 3)), joints.inertia[:, None]


class ToyNod(bpy.types.PropertyGroup):
    """A bone that nods."""

    enabled: flag("Enabled", None, True, needs=STACK)
    bone: text("Bone", needs=STACK)
    weight: share("Weight", keyed=True, needs=STACK_VALUE)


class Nod(entries.ItemStep):
    """One nod."""

    def make(self, rig, item):
        turn = np.cos(TURN / 2), np.sin(TURN / 2), 0.0, 0.0
        self.solver = TransformBone(rig, rig.bone(self.name, item.bone), self.name, rotation=turn, rotation_mode=ADD)

    def read(self, places, _pose):
        return Inputs(weight=self.now(places).weight)


class Nods(entries.ListKind):
    """Bones that nod"""

    identifier, label, place, icon = "NODS", "Nods", 45, "HEART"
    items, active, group = "nods", "active_nod", ToyNod
    title, description = "Nod", "A bone that nods"
    step = Nod

    def draw(self, layout, obj, item):
        layout.prop_search(item, "bone", obj.data, "bones")
        layout.prop(item, "weight")


@pytest.fixture
def registered(extension):
    """Both, while a test runs."""
    law, kind = Elastic(), Nods()
    extension.unregister()
    drives.LAWS.append(law)
    entries._kinds.append(kind)
    extension.register()
    yield
    extension.unregister()
    drives.LAWS.remove(law)
    entries._kinds.remove(kind)
    extension.register()


def _distances(obj, scene) -> np.ndarray:
    """How far each body is from its target in the shot's last frame [m]; by the bodies' order."""
    rigs.step(scene, range(1, LAST + 1))
    away = rigs.bodies(obj) - rigs.matrices([part.target for part in obj.active_ragdoll.parts])
    return np.linalg.norm(away[:, :3, 3], axis=1)


def test_a_drive_of_ones_own_leads_bodies_and_is_keyed_in_profiles_and_on_the_command_line(registered, fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, LAST)
    settings = obj.active_ragdoll
    settings.drive = "ELASTIC"
    build.build(obj, fresh_scene)
    assert {part.target.rigid_body_constraint.spring_type for part in settings.parts} == {"SPRING2"}
    stiff = _distances(obj, fresh_scene)
    settings.elasticity = 62.5
    soft = _distances(obj, fresh_scene)
    assert stiff.max() < 0.05 < soft.max()
    settings.elasticity = 2000.0
    for part in settings.parts:
        obj.pose.bones[part.bone].active_ragdoll.elasticity_scale = 1.0 / 32.0
    assert np.array_equal(_distances(obj, fresh_scene), soft)
    rigs.key(obj, "active_ragdoll.elasticity", {1: 62.5, 15: 2000.0})
    assert np.abs(_distances(obj, fresh_scene) - soft).max() > 1e-4
    assert "elasticity" in (schema := profiles.schema()).object and "elasticity_scale" in schema.bone
    options = command_line._parser().parse_args(["bake", "x.blend", "--drive", "ELASTIC", "--elasticity", "3"])
    assert options.drive == "ELASTIC" and options.elasticity == 3.0


def test_an_entry_of_ones_own_turns_a_bone_and_is_led_by_physics(registered, fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, LAST)
    plain = rigs.animation(obj, (LAST,))[LAST]
    build.build(obj, fresh_scene)
    assert bpy.ops.active_ragdoll.motion_add(what="nods", bone="head") == {"FINISHED"}
    assert hasattr(bpy.types, "ACTIVE_RAGDOLL_PT_nods")
    assert entries.order_of(obj).index("TWO_BONE_IK") + 1 == entries.order_of(obj).index("NODS")
    head = obj.data.bones.find("head")
    for weight, angle in ((1.0, TURN), (0.5, TURN / 2), (0.0, 0.0)):
        obj.active_ragdoll.nods[0].weight = weight
        rigs.step(fresh_scene, range(1, LAST + 1))
        assert np.radians(rigs.angles(rigs.pose(obj), plain))[head] == pytest.approx(angle, abs=0.02)
    rigs.key(obj, "active_ragdoll.nods[0].weight", {1: 0.0, LAST: 1.0})
    rigs.step(fresh_scene, range(1, LAST + 1))
    assert np.radians(rigs.angles(rigs.pose(obj), plain))[head] == pytest.approx(TURN, abs=0.03)
    assert bpy.ops.active_ragdoll.motion_remove(what="nods") == {"FINISHED"}
    assert obj.active_ragdoll.target_armature is None, "with its last entry the stack goes"
