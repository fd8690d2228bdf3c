"""A root at the ground moves the whole character and gets no body; a root that is a part of the body keeps its own."""

import bpy
import pytest

import own_characters
import rigs
from active_ragdoll.core.blender.physics import build

HUMANS = {
    "below a pelvis": lambda: own_characters.at_the_ground(own_characters.TABLES["own joints with stubs"][0]()),
    "in place of one": lambda: own_characters.at_the_ground(own_characters.TABLES["own mixamo"][0](), "mixamorig:Hips"),
    "of a dog": lambda: own_characters.at_the_ground(own_characters.TABLES["own dog"][0]()),
    "of a bird": lambda: own_characters.at_the_ground(own_characters.TABLES["own bird"][0]()),
}
CHOICES = ("DEFORM", "MAIN")


def _built(scene, table: dict, bones: str, meshed: bool = False) -> tuple:
    """Mass by bone of what was built of a table, its height and the notes."""
    rig = own_characters.of_table(scene, "Made", table, meshed=meshed)
    report = build.build(rig.obj, scene, bones)
    settings = rig.obj.active_ragdoll
    return {part.bone: part.body.rigid_body.mass for part in settings.parts}, settings.height, report.notes


@pytest.mark.parametrize("bones", CHOICES)
@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("kind", ("below a pelvis", "of a dog"))
def test_a_root_at_the_ground_changes_no_mass(fresh_scene, kind, nameless, bones):
    table = HUMANS[kind]()
    if nameless:
        names = {name: f"Node_{i}" for i, name in enumerate(table)}
        table = {names[name]: (*row[:2], names.get(row[2]), row[3]) for name, row in table.items()}
    root = next(iter(table))
    masses, height, notes = _built(fresh_scene, table, bones)
    assert f"'{root}' stands at the ground: no body" in notes
    without = {name: (*row[:2], None if row[2] == root else row[2], row[3]) for name, row in table.items()}
    del without[root]
    alone, size, _notes = _built(rigs.empty_file(), without, bones)
    assert masses == pytest.approx(alone, rel=1e-5) and height == pytest.approx(size)


@pytest.mark.parametrize("kind", ("in place of one", "of a bird"))
@pytest.mark.parametrize("bones", CHOICES)
def test_legs_and_spine_that_hang_on_it_join_each_other(fresh_scene, kind, bones):
    masses, _height, notes = _built(fresh_scene, HUMANS[kind](), bones)
    assert "'joint_Root' stands at the ground: no body" in notes
    parts = bpy.data.objects["Made"].active_ragdoll.parts
    assert "joint_Root" not in masses and sum(not part.parent for part in parts) == 1
    assert max(masses.values()) < 0.35 * sum(masses.values())


@pytest.mark.parametrize("bones", CHOICES)
def test_one_that_carries_a_part_of_the_mesh_keeps_its_body_as_do_those_that_the_user_asks_for(fresh_scene, bones):
    meshed, _height, _notes = _built(fresh_scene, HUMANS["below a pelvis"](), bones, meshed=True)
    assert ("joint_Root" in meshed) == (bones == "DEFORM")
    obj = bpy.data.objects["Made"]
    build.build(obj, fresh_scene, "ALL")
    assert "joint_Root" in [part.bone for part in obj.active_ragdoll.parts]


@pytest.mark.parametrize(("name", "bone"), [("own snake", "bone1"), ("own robot", "base"), ("own dog", "hips")])
def test_what_is_a_part_of_the_body_keeps_it_wherever_it_is(fresh_scene, name, bone):
    table = own_characters.TABLES[name][0]()
    low = min(row[0][2] for row in table.values())
    table[bone] = (*table[bone][:3], "PART")  # the robot's base deforms
    lowered = {own: ((*row[0][:2], row[0][2] - low), *row[1:]) for own, row in table.items()}
    masses, _height, notes = _built(fresh_scene, lowered, "DEFORM")
    assert bone in masses and not any("ground" in note for note in notes)
