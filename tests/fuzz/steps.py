"""What a random session may do: steps by name, each a function of a random generator and the session.

A step says what it does (`session.say`) before it does it, so that a crash is explained too. Not done, because Blender
itself crashes (docs/blender-facts.md): bones renamed and helpers deleted in mid-shot, visibility that is animated, many
joints of the user's own; before 4.3 also loading over a simulated scene, full copies of scenes, view layers removed."""

import math
from types import SimpleNamespace

import bpy

import rigs
from active_ragdoll.core.blender.physics import built
from active_ragdoll.core.blender.settings import declare
from active_ragdoll.core.blender.stack import entries

LAST = 10  # of the shots
NAMES = ("Active Ragdoll", "Böx 名", "x" * 60, "a/b.blend", "Human", "Human.001")
WORDS = ("", "nonsense", "[]", "{", '{"a": 1}', "NaN")
OFFERED = {"what": [*entries.lists()], "kind": [kind.identifier for kind in entries.kinds() if kind.movable]}
OFFERED["name"] = ["HUMAN", "ROBOT", "GENERIC"]  # of menus that are made when they are opened
# Modal ones and those that need files are not here.
LIFE = ("build", "build", "remove", "simulate", "simulate", "bake", "revert_bake", "free_cache")
# fmt: off
EFFECTS = (
    "add_hit", "remove_hit", "add_explosion", "remove_explosion", "add_attachment", "remove_attachment",
    "setup_recovery", "add_recovery_event", "remove_recovery_event",
)
MOTION = (
    "setup_look_at", "motion_add", "motion_remove", "motion_move", "motion_order", "find_look_at_axes",
    "enable_look_at", "disable_look_at", "set_look_at_weight", "clear_look_at_events", "add_layer", "remove_layer",
    "move_layer", "make_additive", "mask_from_selected", "edit_layer_list", "add_blend_space",
    "remove_blend_space", "add_sample", "remove_sample", "enable_graph", "edit_graph",
)
TOOLS = (
    "copy_to_selected", "mirror_settings", "reset_bone", "adopt_body", "weight_preset", "spread_weights",
    "check_limits", "diagnose", "apply_preset",
)
# fmt: on


def step(weight: int = 1, *, edits: bool = False, since: tuple = (4, 2)):
    """Enter a function into the table, to be drawn so often; whether it `edits` things of the user's, and since which
    version Blender does not crash."""

    def enter(function):
        function.edits = edits
        if bpy.app.version >= since:
            STEPS.extend([function] * weight)
        return function

    return enter


STEPS: list = []


# ---- settings -------------------------------------------------------------------------------------------------------
def value_of(rng, group, name: str, session):
    """A value for a property within or at its bounds."""
    prop = group.bl_rna.properties[name]
    match prop.type:
        case "BOOLEAN":
            return rng.random() < 0.5
        case "ENUM":
            return rng.choice([item.identifier for item in prop.enum_items] or OFFERED.get(name, [""]))
        case "STRING":
            return _text(rng, name, session)
        case "POINTER":
            kind = bpy.data.actions if prop.fixed_type.identifier == "Action" else session.things()
            return rng.choice([None, *kind])
    draw = (lambda: _number(rng, prop)) if prop.type == "FLOAT" else (lambda: _whole(rng, prop))
    return [draw() for _ in range(prop.array_length)] if prop.array_length else draw()


def _text(rng, name: str, session) -> str:
    obj = session.character(rng)
    if "bone" in name and obj is not None and rng.random() < 0.9:
        return rng.choice(obj.data.bones.keys())
    if name == "target":
        return rng.choice(["", *(thing.name for thing in session.things())])
    return rng.choice(["", *bpy.data.actions.keys()] if name == "action" else WORDS)


def _number(rng, prop) -> float:
    low, high = max(prop.hard_min, -1e4), min(prop.hard_max, 1e4)
    if rng.random() < 0.2:
        return rng.choice((low, high))
    if high - low <= 10.0:
        return rng.uniform(low, high)
    size = 10.0 ** rng.uniform(-2.0, 2.0 if rng.random() < 0.9 else 4.0)
    return min(max(math.copysign(size, rng.random() + min(low, 0.0) / high), low), high)


def _whole(rng, prop) -> int:
    low, high = max(prop.hard_min, -3), min(prop.hard_max, 20)
    return rng.choice((low, high)) if rng.random() < 0.1 else rng.randint(low, high)


def _some(rng, session, **wanted):
    """(owner, group, name) of a setting of a character or of one of its bones; None without a character of its own."""
    obj = session.character(rng, local=True)
    if obj is None:
        return None
    owner = obj if rng.random() < 0.6 else rng.choice(list(obj.pose.bones))
    found = [
        (group, name)
        for group, name, said in declare.walk(owner.active_ragdoll)
        if said.kind == declare.SETTING and said.holds is None
        if all(getattr(said, key) == value for key, value in wanted.items())
    ]
    return owner, *rng.choice(found)


def path_of(owner, group, name: str) -> str:
    """Of a property, from the object; Blender itself has none for groups of bones."""
    if isinstance(owner, bpy.types.PoseBone):
        return f'pose.bones["{owner.name}"].active_ragdoll.{name}'
    return group.path_from_id(name)


@step(8)
def edit(rng, session):
    """Settings at random."""
    for _ in range(rng.randint(1, 4)):
        if found := _some(rng, session):
            owner, group, name = found
            value = value_of(rng, group, name, session)
            session.say(f"{owner.id_data.name!r}: {path_of(owner, group, name)} = {value!r}")
            setattr(group, name, value)


@step(3, edits=True)
def key(rng, session):
    """Keys on a setting."""
    if found := _some(rng, session, keyed=True):
        owner, group, name = found
        path = path_of(owner, group, name)
        for frame in rng.sample(range(1, LAST + 1), 2):
            value = value_of(rng, group, name, session)
            session.say(f"{owner.id_data.name!r}: key {path} = {value!r} at {frame}")
            setattr(group, name, value)
            owner.id_data.keyframe_insert(path, frame=frame)


# ---- operators ------------------------------------------------------------------------------------------------------
def _operate(rng, session, names) -> None:
    """An operator on a character, with some of its options at random."""
    obj = session.character(rng)
    if obj is None:
        return
    session.activate(obj)
    name = rng.choice(names)
    kind = getattr(bpy.ops.active_ragdoll, name).get_rna_type()
    options = [p.identifier for p in kind.properties if p.identifier != "rna_type" and not p.is_readonly]
    chosen = [option for option in options if rng.random() < 0.6] if name not in LIFE else []
    values = {option: value_of(rng, SimpleNamespace(bl_rna=kind), option, session) for option in chosen}
    if "frame" in values:
        values["frame"] = rng.randint(0, LAST)
    session.operate(name, **values)


# How often they are drawn: build, remove, simulate, bake and back; hits, attachments, recovery;
# the motion stack; tools of bones and weights, findings, presets.
for _weight, _names in ((8, LIFE), (4, EFFECTS), (4, MOTION), (2, TOOLS)):

    @step(_weight)
    def call(rng, session, names=_names):
        _operate(rng, session, names)


# ---- time -----------------------------------------------------------------------------------------------------------
@step(8)
def play(rng, session):
    """From the first frame on, or further on from where the scene stands."""
    first = rng.choice((1, 1, bpy.context.scene.frame_current + 1))
    last = first + rng.randint(1, LAST)
    session.say(f"play {first} to {last}")
    for frame in range(first, last + 1):
        session.go_to(frame)


@step(4)
def jump(rng, session):
    """To a frame, or between two."""
    frame, between = rng.randint(-4, LAST + 4), rng.choice((0.0, 0.0, 0.5))
    session.say(f"jump to {frame + between}")
    session.go_to(frame, between)


@step(4, edits=True)
def undo(rng, session):
    """Undo some steps, and redo perhaps."""
    count, again = rng.randint(1, 3), rng.random() < 0.5
    session.say(f"undo {count} steps" + (", redo one" if again else ""))
    for operator in [bpy.ops.ed.undo] * count + [bpy.ops.ed.redo] * again:
        if operator.poll():
            session.call(operator)


# ---- files and scenes -----------------------------------------------------------------------------------------------
@step(3, since=(4, 3))
def save_and_load(rng, session):
    """The whole file."""
    session.say("save and load")
    session.save()
    bpy.ops.wm.open_mainfile(filepath=str(session.path))


@step(2, edits=True)
def bring(rng, session):
    """Append or link an object from the file saved last."""
    if session.library is None:
        session.save()
    link = rng.random() < 0.5
    with bpy.data.libraries.load(str(session.library), link=link) as (there, here):
        names = [name for name in there.objects if name in session.saved]
        here.objects = [rng.choice(names)] if names else []
        session.say(f"{'link' if link else 'append'} {here.objects}")
    for obj in here.objects:
        if obj is not None and obj.name not in bpy.context.scene.collection.objects:
            bpy.context.scene.collection.objects.link(obj)


@step(2, edits=True, since=(4, 3))
def copy_scene(rng, session):
    """Linked or full; the copy is shown."""
    if len(session.scenes()) > 2:
        return
    # Two linked scenes crash Blender itself when rigid bodies of the user's are played in both.
    own = any(thing.rigid_body for thing in bpy.context.scene.objects if not built.is_ours(thing))
    kind = "FULL_COPY" if own else rng.choice(("LINK_COPY", "FULL_COPY"))
    session.say(f"scene.new(type={kind!r})")
    session.call(bpy.ops.scene.new, type=kind)


@step(2, since=(4, 3))
def switch_scene(rng, session):
    """Show another scene."""
    scene = rng.choice(session.scenes())
    session.say(f"show scene {scene.name!r}")
    bpy.context.window.scene = scene
    bpy.context.view_layer.update()  # as a window would


@step(1, edits=True, since=(4, 3))
def delete_scene(rng, session):
    """One of several."""
    if len(session.scenes()) > 1:
        scene = rng.choice(session.scenes())
        session.say(f"delete scene {scene.name!r}")
        bpy.context.window.scene = next(other for other in session.scenes() if other != scene)
        session.begun.pop(("world", scene.name), None)  # one that is brought later may take its name
        bpy.data.scenes.remove(scene)


@step(2, edits=True)
def delete(rng, session):
    """An object of the user's, a character perhaps."""
    if (thing := rng.choice([None, *session.things()])) is not None:
        session.say(f"delete {thing.name!r}")
        bpy.data.objects.remove(thing)


@step(2, edits=True)
def duplicate(rng, session):
    """A character, as Shift D does."""
    if (obj := session.character(rng, local=True)) is not None:
        session.say(f"duplicate {obj.name!r}")
        session.activate(obj)
        session.call(bpy.ops.object.duplicate)


@step(2, edits=True)
def rename(rng, session):
    """An object, an action, a collection or a scene of the user's."""
    things = [*session.things(), *session.scenes(), *session.collections(), *bpy.data.actions]
    thing, name = rng.choice([t for t in things if t.library is None]), rng.choice(NAMES)
    session.say(f"rename {thing.name!r} to {name!r}")
    thing.name = name


@step(2, edits=True, since=(4, 3))
def view_layer(rng, session):
    """Add one, remove one, show another."""
    scene, what = bpy.context.scene, rng.choice(("add", "remove", "show"))
    layer = rng.choice(list(scene.view_layers))
    session.say(f"view layer: {what} {layer.name!r}")
    if what == "add":
        scene.view_layers.new("More")
    elif what == "show":
        bpy.context.window.view_layer = layer
    elif len(scene.view_layers) > 1:
        scene.view_layers.remove(layer)
    bpy.context.view_layer.update()  # as a window would


@step(1, edits=True)
def add_character(rng, session):
    """One more human."""
    if len(session.characters()) < 3:
        session.say("add a human")
        session.object_mode()
        obj = rigs.human(bpy.context.scene, "More")
        obj.location.x = rng.uniform(-1.0, 1.0)
        rigs.swing(obj, 1, LAST)
