"""Undo and redo around everything a ragdoll can be told, in a real Blender window; ends with exit code 0 when all held.

blender --factory-startup --python tests/real/undo_in_window.py [-- CYCLES]

The character has compounds for its feet. Each cycle plays to mid-shot or stands at the first frame, edits, plays the
edited shot, undoes, plays; redoes, plays; undoes, plays. What was undone plays as before, what was done again as it
did, to the last bit; between an undo in mid-shot and the new start the character shows its animation."""

import sys
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import window
from window_session import Session, activate, animation, armature, compare, play, push, scene

FIRST, MIDDLE, LAST = 5, 9, 14
OPERATORS = bpy.ops.active_ragdoll


def parts():
    return {part.bone: part for part in armature().active_ragdoll.parts}


def bone_with(shape):
    return next(name for name, part in parts().items() if part.body.rigid_body.collision_shape == shape)


def piece_of(bone):
    body = parts()[bone].body
    return next(o for o in armature().active_ragdoll.collection.objects if o.parent == body and o.type == "MESH")


def rebuild():
    assert OPERATORS.build(bones="KEEP") == {"FINISHED"}


def own():
    return armature().active_ragdoll


def bone(name=""):
    return armature().pose.bones[name or Session.bone].active_ragdoll


def select():
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="INVERT")


def scaled(thing):
    assert OPERATORS.edit_bodies() == {"FINISHED"}
    push("editing")
    thing().scale = (1.3, 1.2, 1.1)
    push("scaled")
    activate()
    assert OPERATORS.edit_bodies() == {"FINISHED"}


def preset():
    assert OPERATORS.apply_preset(name="ROBOT") == {"FINISHED"}
    push("preset")
    rebuild()


def substeps():
    scene().rigidbody_world.substeps_per_frame = 9
    push("fewer substeps")
    assert OPERATORS.remedy(kind="SUBSTEPS") == {"FINISHED"}
    scene().rigidbody_world.substeps_per_frame = 12


SETTINGS = {  # that need no new build
    "weight": lambda: setattr(own(), "rotation_weight", 0.3),
    "bone weight": lambda: setattr(bone(), "rotation_weight", 0.5),
    "limit": lambda: setattr(bone(), "limit_max", (0.4, *bone().limit_max[1:])),
    "selection": select,
    "blend": lambda: setattr(own(), "physics_blend", 0.5),
}
REBUILT = {
    "build": lambda: None,
    "body moved": lambda: setattr(parts()[Session.bone].body.location, "x", 0.03),
    "compound to box": lambda: setattr(bone(bone_with("COMPOUND")), "shape", "BOX"),
    "hull to compound": lambda: setattr(bone(), "shape", "COMPOUND"),
    "stabilize": lambda: setattr(own(), "stabilize_masses", True),
}
EDITS = {
    **SETTINGS,
    **{kind: lambda change=change: (change(), rebuild()) for kind, change in REBUILT.items()},
    "bodies edited": lambda: scaled(lambda: parts()[Session.bone].body),
    "piece edited": lambda: scaled(lambda: piece_of(bone_with("COMPOUND"))),
    "preset": preset,
    "merge": lambda: OPERATORS.remedy(kind="TINY", bones=Session.bone),
    "substeps": substeps,
    "remove": OPERATORS.remove,
    "simulate": lambda: OPERATORS.simulate(frame_start=FIRST, frame_end=LAST),
    "bake": lambda: OPERATORS.bake(frame_start=FIRST, frame_end=LAST),
}
STEPS = {"bodies edited": 3, "piece edited": 3, "preset": 2, "substeps": 2}  # of undo; others take one
CYCLES = int(sys.argv[sys.argv.index("--") + 1]) if "--" in sys.argv else len(EDITS)


def set_up():
    Session.name = window.walker().name
    scene().frame_start, scene().frame_end = FIRST, LAST
    activate()
    push("character")
    assert OPERATORS.build(bones="MAIN") == {"FINISHED"}
    settings = armature().active_ragdoll
    settings.rotation_weight, settings.translation_weight = 0.4, 0.5
    Session.bone = bone_with("CONVEX_HULL")
    assert bone_with("COMPOUND")
    push("build")
    Session.reference = play(FIRST, LAST)
    compare(play(FIRST, LAST), Session.reference, "played twice")
    push("played")


def cycle(number):
    kind = list(EDITS)[number % len(EDITS)]
    stop = (MIDDLE, FIRST)[number % 2]
    play(FIRST, stop)
    push("before")
    activate()
    EDITS[kind]()
    push(kind)
    play(stop + 1, stop + 3)
    edited = play(FIRST, LAST)
    for again in ("undone", "redone and undone"):
        for _step in range(STEPS.get(kind, 1)):
            bpy.ops.ed.undo()
        assert armature().active_ragdoll.is_ragdoll
        frame = scene().frame_current
        going_on = play(frame + 1, frame + 3)
        if kind in SETTINGS and frame == FIRST:  # a step from there begins the shot
            compare(going_on, Session.reference, f"{kind}, {again}, from where it stands")
        elif kind in SETTINGS:
            off = max(float(np.abs(shown - animation(at)).max()) for at, shown in going_on.items())
            assert off < 1e-4, f"{kind}, {again}: {off} off the animation"
        compare(play(FIRST, LAST), Session.reference, f"{kind}, {again}, from the first frame")
        if again == "undone":
            for _step in range(STEPS.get(kind, 1)):
                bpy.ops.ed.redo()
            play(scene().frame_current, scene().frame_current + 2)
            compare(play(FIRST, LAST), edited, f"{kind}, redone, from the first frame")
    return f"{kind} at {'mid-shot' if stop == MIDDLE else 'the first frame'}"


def cycles():
    set_up()
    yield
    for number in range(CYCLES):
        yield cycle(number)


window.run(cycles())
