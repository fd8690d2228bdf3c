"""One random session inside a Blender: steps, and after each of them what must hold. See sessions.py.

Every step has a random generator of its own, so that leaving out others does not change what it draws. Prints what it
does; the last line tells the failure. Ends with exit code 1 where something did not hold."""

import argparse
import os
import random
import sys
import tempfile
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("fuzz", "blender", "core", ".")]

import bpy  # noqa: E402
import numpy as np  # noqa: E402

import harness  # noqa: E402

harness.load_extension()

import damage  # noqa: E402
import steps  # noqa: E402

import own_characters  # noqa: E402
import renders  # noqa: E402
import rigs  # noqa: E402
from active_ragdoll.core.blender.physics import built, collision, source  # noqa: E402
from active_ragdoll.core.blender.run import shot_run, simulate  # noqa: E402
from active_ragdoll.core.blender.runtime import STATE  # noqa: E402
from active_ragdoll.core.blender.settings.at_frame import animates  # noqa: E402
from active_ragdoll.core.errors import RagdollError  # noqa: E402

TOLERANCE = 1e-5  # of places, as a share of the character's height or of where it is
KINDS = ("", "", "", "own kaykit with roots", "own dog", "own bird", "own robot")


class Broken(Exception):
    """Something that must hold does not."""


class Session:
    """What steps act on. Nothing of Blender's is kept: undo and loading would leave it wrong."""

    def __init__(self, folder: Path, errors) -> None:
        self.path, self.library, self.saved = folder / "session.blend", None, set()
        self.errors = errors  # what Blender and handlers print as errors
        self.handlers = harness.own_handlers()

    def say(self, text: str) -> None:
        """Tell what is about to be done."""
        print(f"    {text}", flush=True)

    # ---- what is there ----------------------------------------------------------------------------------------------
    def scenes(self) -> list:
        """Those of the user's."""
        return [scene for scene in bpy.data.scenes if scene.library is None and not scene.active_ragdoll.is_source]

    def things(self) -> list:
        """The user's objects of this file."""
        shown = {obj for scene in self.scenes() for obj in scene.collection.all_objects}
        return [obj for obj in bpy.data.objects if obj in shown and obj.library is None and not built.is_ours(obj)]

    def collections(self) -> list:
        """The user's."""
        own = [c for c in bpy.data.collections if c.users and not (c.library or built.is_ours(c))]
        worlds = [scene.rigidbody_world for scene in bpy.data.scenes if scene.rigidbody_world is not None]
        ours = {c for world in worlds for c in (world.collection, world.constraints)}
        return [c for c in own if not c.active_ragdoll.owner and c not in ours]

    def characters(self, scene=None) -> list:
        """Those of a scene, linked ones too."""
        objects = (scene or bpy.context.scene).collection.all_objects
        return [obj for obj in objects if obj.type == "ARMATURE" and not built.is_ours(obj)]

    def character(self, rng, local: bool = False):
        """One of the scene; None without any."""
        found = [obj for obj in self.characters() if obj.library is None or not local]
        return rng.choice(found) if found else None

    # ---- doing ------------------------------------------------------------------------------------------------------
    def object_mode(self) -> None:
        if bpy.context.object is not None and bpy.context.object.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")

    def activate(self, obj) -> None:
        """Have it alone selected, and active."""
        self.object_mode()
        bpy.ops.object.select_all(action="DESELECT")
        if obj.name in bpy.context.view_layer.objects:
            bpy.context.view_layer.objects.active = obj
            obj.select_set(True)

    def operate(self, operator: str, /, **values) -> bool:
        """Call an operator of ours: whether it did something."""
        self.say(f"active_ragdoll.{operator}({', '.join(f'{key}={value!r}' for key, value in values.items())})")
        return self.call(getattr(bpy.ops.active_ragdoll, operator), **values)

    def call(self, operator, /, **values) -> bool:
        """Call an operator, which may refuse in words: whether it did something."""
        try:
            return operator(**values) == {"FINISHED"}
        except RuntimeError as error:
            if "Traceback" in str(error):
                raise
            self.say(f"  refused: {str(error).strip()}")
            return False

    def go_to(self, frame: int, between: float = 0.0) -> None:
        """Show a frame, in which all poses must be finite."""
        bpy.context.scene.frame_set(frame, subframe=between)
        for obj in self.characters():
            if not np.isfinite(rigs.pose(obj)).all():
                raise Broken(f"non-finite pose of a character at frame {frame}")

    def save(self) -> None:
        """Save the file, with a copy to bring things from, and note what is in it."""
        self.saved = {obj.name for obj in self.things()}
        self.library = self.path.with_name(f"{len(list(self.path.parent.iterdir()))}.blend")
        bpy.ops.wm.save_as_mainfile(filepath=str(self.library), copy=True)
        bpy.ops.wm.save_as_mainfile(filepath=str(self.path), compress=False)

    # ---- what must hold ---------------------------------------------------------------------------------------------
    def users(self) -> dict:
        """All that is the user's, to be compared."""
        found = {("object", obj.name): _object(obj) for obj in self.things()}
        # Remove leaves the keys of a bake.
        playing = {obj.name: _played(obj) for obj in self.things()}
        found |= {("plays", name): a.name for name, a in playing.items() if a and "Ragdoll Bake" not in a.name}
        for collection in self.collections():
            inside = {obj.name for obj in collection.objects if not built.is_ours(obj)}
            below = {c.name for c in collection.children if c in self.collections()}
            found["collection", collection.name] = inside, below
        for scene in self.scenes():
            found["scene", scene.name] = scene.frame_start, scene.frame_end, [v.name for v in scene.view_layers]
        for action in {*playing.values()} - {None} | {action for action in bpy.data.actions if action.use_fake_user}:
            curves = [c for c in rigs.curves_of(action) if "active_ragdoll" not in c.data_path]  # those go with items
            points = [(c.data_path, c.array_index, p.co[:]) for c in curves for p in c.keyframe_points]
            found["action", action.name] = sorted(points)
        return found

    def worlds(self) -> dict:
        """What rigid body worlds are set to, to be compared where there is no ragdoll."""
        found = {}
        for scene in self.scenes():
            world = scene.rigidbody_world
            found["world", scene.name] = world and (
                world.enabled,
                world.substeps_per_frame,
                world.solver_iterations,
                world.time_scale,
                *(c and c.name for c in (world.collection, world.constraints)),
            )
        return found

    def check(self, before: dict) -> None:
        """No error was printed, and what was the user's before is as it was."""
        if "Traceback" in (text := self.errors.read()) or "Error in bpy" in text:
            raise Broken(text.strip())
        for text in STATE.messages.values():
            if "An error in Active Ragdoll" in text:
                raise Broken(text)
        compare(before, self.users())
        for obj in self.characters():
            if not np.isfinite(rigs.pose(obj)).all():
                raise Broken("non-finite pose of a character")


def compare(before: dict, after: dict) -> None:
    """Raises Broken where something is lost or changed."""
    for key, was in before.items():
        if key not in after and key[0] != "plays" and not (key[0] == "action" and key[1] in bpy.data.actions):
            raise Broken(f"lost {key[0]} {key[1]!r}")
        if after.get(key, was) != was:
            raise Broken(f"changed {key[0]} {key[1]!r}: was {was!r:.600}, is {after[key]!r:.600}")


def _played(obj):
    """The user's action of an object: a bake plays another one."""
    if obj.active_ragdoll.muted:
        return obj.active_ragdoll.old_action
    return obj.animation_data.action if obj.animation_data else None


def _object(obj) -> tuple:
    """What the user knows of an object."""
    body = obj.rigid_body
    constraints = [
        # A target that is in no scene does not outlive saving; in its frames a bake turns influences off by keys.
        (c.name, c.type, animates(obj, path) or c.influence, target.name if target and target.users_scene else "")
        for owner in (obj, *(obj.pose.bones if obj.pose else ()))
        for c in owner.constraints
        if not source.is_own(c)
        for target, path in [(getattr(c, "target", None), c.path_from_id("influence"))]
    ]
    hidden = {scene.collection for scene in bpy.data.scenes if scene.active_ragdoll.is_source}
    inside = [c for c in obj.users_collection if not (built.is_ours(c) or c.active_ragdoll.owner or c in hidden)]
    return (
        obj.type,
        obj.data and (obj.data.name, len(obj.data.vertices) if obj.type == "MESH" else 0),
        [tuple(row) for row in obj.matrix_basis],
        obj.parent.name if obj.parent and obj.parent.users_scene else None,  # what is in no scene is not saved
        [(m.name, m.type) for m in obj.modifiers],
        constraints,
        body
        and (
            body.type,
            body.kinematic,
            body.enabled,
            body.mass,
            body.collision_shape,
            tuple(map(bool, obj.get(collision.SAVED, body.collision_collections))),  # what Remove gives back
        ),
        sorted(c.name for c in inside),
    )


# ---- beginning and end ----------------------------------------------------------------------------------------------
def set_up(session: Session, rng) -> None:
    """A character on a floor, built mostly, and some things of the user's."""
    kind = rng.choice(KINDS)
    session.say(f"a scene with {kind or 'a human'}")
    scene = own_characters.make(kind).scene if kind else rigs.empty_file()
    obj = session.characters()[0] if kind else rigs.swinging_human(scene, 1, steps.LAST)
    rigs.set_range(scene, 1, steps.LAST)
    rigs.set_weights(obj, rng.choice((0.0, 0.2, 1.0)))
    if rng.random() < 0.8:
        rigs.box(scene, "Floor", (20.0, 20.0, 1.0), (0.0, 0.0, -0.5), passive=True)
        rigs.box(scene, "Box", (0.3, 0.3, 0.3), (0.1, 0.0, 2.5))
    cube = bpy.data.objects.new("Cube", rigs.box_mesh("Cube", (0.2, 0.2, 0.2)))
    mine = bpy.data.collections.new("Mine")
    scene.collection.children.link(mine)
    mine.objects.link(cube)
    cube.modifiers.new("Bevel", "BEVEL")
    cube.constraints.new("COPY_LOCATION").target = rigs.empty(scene, "Aim", (0.0, -2.0, 1.0))
    rng.choice(list(obj.pose.bones)).constraints.new("LIMIT_ROTATION").name = "Mine"
    bpy.data.actions.new("Mine").use_fake_user = True
    scene.frame_set(1)
    session.begun = session.worlds()
    session.activate(obj)
    if rng.random() < 0.9:
        session.operate("build")
    bpy.ops.ed.undo_push(message="begin")


def check_shot(session: Session, rng) -> None:
    """What was simulated is what is shown, rendered and baked."""
    scene = bpy.context.scene
    for obj in session.characters():
        if obj.active_ragdoll.muted:
            session.activate(obj)
            session.operate("revert_bake")
    try:
        session.say("simulate")
        live = {f: {o.name: rigs.pose(o) for o in session.characters()} for f in simulate.frames(scene)}
    except RagdollError as error:
        session.say(f"  refused: {error}")
        return
    order = list(live)
    rng.shuffle(order)
    session.say("scrub")
    _compare_shot(session, scene, live, order, "scrubbed")
    if rng.random() < 0.2 and bpy.context.scene == scene:
        session.say("render")
        renders.prepare(scene, session.path.with_suffix(""))
        for obj in shot_run.active_ragdolls(scene)[:1]:
            for frame, pose in renders.poses(scene, obj, order[:2]).items():
                _compare_poses(live[frame][obj.name], pose, f"rendered, frame {frame}")
        rigs.set_range(scene, 1, steps.LAST)
    for obj in shot_run.active_ragdolls(scene):
        session.activate(obj)
        obj.active_ragdoll.key_tolerance = 0.0
        if session.operate("bake"):
            _compare_shot(session, scene, live, order, "baked")


def _compare_shot(session, scene, live: dict, order: list, what: str) -> None:
    for frame in order:
        session.go_to(frame)
        for obj in session.characters():
            if obj.name in live[frame]:
                _compare_poses(live[frame][obj.name], rigs.pose(obj), f"{what} frame {frame}")


def _compare_poses(wanted, found, what: str) -> None:
    places = wanted[:, :3, 3]
    size = max(np.ptp(places, axis=0).max(), np.abs(places).max())
    apart = np.abs(found[:, :3, 3] - places).max()
    if not apart <= TOLERANCE * size:
        raise Broken(f"not as simulated: {what}, {apart:.3g} of {size:.3g} m apart")


def remove_all(session: Session) -> None:
    """Take all ragdolls and motion stacks of the file away."""
    for scene in session.scenes():
        bpy.context.window.scene = scene
        for obj in session.characters(scene):
            if obj.library is None:
                session.activate(obj)
                if obj.active_ragdoll.muted:
                    session.operate("revert_bake")
                session.operate("remove")
                _remove_stack(session, obj)
        if built.orphans(scene):
            session.operate("remove", left_over=True)
    if {s for s in bpy.data.scenes if s.active_ragdoll.is_source} - {s.active_ragdoll.source for s in bpy.data.scenes}:
        steps.save_and_load(None, session)  # its scene was deleted, and nothing was left to remove


def _remove_stack(session: Session, obj) -> None:
    """Remove a character's motion stack, item by item."""
    own = obj.active_ragdoll
    if own.graph.enabled:
        session.operate("enable_graph")
    for name in steps.entries.lists():
        while len(getattr(own, name, ())) and session.operate("motion_remove", what=name):
            pass
    while len(own.layers) and session.operate("remove_layer"):
        pass


def check_left(session: Session) -> None:
    """Nothing of ours is left, and worlds are as they were."""
    for scene in session.scenes():
        for thing in (*scene.collection.all_objects, *scene.collection.children_recursive):
            if thing.library is None and built.is_ours(thing):
                raise Broken(f"left over: {thing.name!r}")
    for scene in bpy.data.scenes:
        if scene.library is None and scene.active_ragdoll.is_source:
            raise Broken(f"left over: scene {scene.name!r}")
    for obj in session.things():
        for bone in obj.pose.bones if obj.pose else ():
            if any(source.is_own(constraint) for constraint in bone.constraints):
                raise Broken(f"left over: constraint on a bone of {obj.name!r}")
    if harness.own_handlers() != session.handlers:
        raise Broken("handlers are lost or added")
    worlds = session.worlds()
    compare({key: was for key, was in session.begun.items() if key in worlds}, worlds)


# ---- a session ------------------------------------------------------------------------------------------------------
class Errors:
    """What goes to stderr, read piece by piece."""

    def __init__(self, folder: Path) -> None:
        self.path, self.seen = folder / "stderr", 0
        stream = self.path.open("wb")
        os.dup2(stream.fileno(), 2)

    def read(self) -> str:
        """What came since the last call."""
        sys.stderr.flush()
        text = self.path.read_bytes()[self.seen :]
        self.seen += len(text)
        return text.decode(errors="replace")


def run(session: Session, options) -> None:
    """All steps that are not left out, and the end."""
    seed = options.seed
    set_up(session, random.Random(f"{seed} begin"))
    before = session.users()
    for index in options.only if options.only is not None else range(options.steps):
        rng = random.Random(f"{seed} {index}")
        step = rng.choice(steps.STEPS)
        print(f"{index} {step.__name__}", flush=True)
        step(rng, session)
        session.check({} if step.edits else before)
        before = session.users()
        bpy.ops.ed.undo_push(message=step.__name__)
    rng = random.Random(f"{seed} end")
    print("end", flush=True)
    session.object_mode()
    if rng.random() < 0.25 and bpy.app.version >= (4, 3):
        damage.damage(session, rng)
        session.check({})
        return
    check_shot(session, rng)
    session.check({})
    before = session.users()
    remove_all(session)
    session.check({key: was for key, was in before.items() if key[0] != "object"})
    check_left(session)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--only", type=int, nargs="*", help="these steps; the others are left out")
    parser.add_argument("--folder", help="for its files; its caller removes it")
    options = parser.parse_args(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else None)
    folder = Path(options.folder or tempfile.mkdtemp())
    session = Session(folder, Errors(folder))
    try:
        run(session, options)
        fault = ""
    except Broken as error:
        fault = str(error)
    except BaseException:
        fault = traceback.format_exc()
    print(f"FAULT\n{fault}" if fault else "passed", flush=True)
    harness.exit_now(1 if fault else 0)


main()
