"""What is stored of us damaged at random, as values or bytes: the file must load, play, simulate and let remove."""

import math

import blend_bytes
import bpy
import steps

from active_ragdoll.core.blender.settings import declare
from active_ragdoll.core.blender.settings import object as settings

HOSTILE = (0.0, -1.0, 1e30, -1e30, math.nan, math.inf, 2**31 - 1, -(2**31))


def damage(session, rng) -> None:
    """Damage some properties or bytes of the saved file, load it, and do what users do then."""
    by_bytes = rng.random() < 0.5
    if not by_bytes:
        _damage_values(session, rng)
    session.save()
    for text in blend_bytes.damage(session.path, rng) if by_bytes else ():
        session.say(f"bytes of {text}")
    bpy.ops.wm.open_mainfile(filepath=str(session.path))
    for obj in session.characters():
        session.activate(obj)
        session.say("play")
        for frame in range(1, 8):
            bpy.context.scene.frame_set(frame)
        for name in ("simulate", "build", "simulate", "revert_bake", "remove"):
            session.operate(name)


def _damage_values(session, rng) -> None:
    """Values beyond their bounds, and texts that are none of ours."""
    kinds = {bpy.types.Object: bpy.data.objects, bpy.types.Scene: bpy.data.scenes}
    kinds[bpy.types.Collection] = bpy.data.collections
    owners = [thing for kind in settings.OWNERS for thing in kinds.get(kind, ()) if thing.library is None]
    owners += [bone for thing in session.things() if thing.pose for bone in thing.pose.bones]
    found = [
        (owner, group, name)
        for owner in owners
        for group, name, said in declare.walk(owner.active_ragdoll)
        if said.holds is None and not said.points and name in _stored(group)
    ]
    for _ in range(min(rng.randint(1, 12), len(found))):
        # Records are few among many settings.
        records = [row for row in found if isinstance(_stored(row[1])[row[2]], str)]
        owner, group, name = rng.choice(records if records and rng.random() < 0.6 else found)
        stored = _stored(group)
        stored[name] = _damaged(rng, stored[name])
        session.say(f"{owner.id_data.name!r}: {steps.path_of(owner, group, name)} stored as {stored[name]!r:.80}")


def _stored(group):
    """The raw values of a group, which are not held to bounds."""
    return group.bl_system_properties_get(do_create=True) if hasattr(group, "bl_system_properties_get") else group


def _damaged(rng, value):
    """A value of the same type: another one would have Blender itself read what is not there."""
    if isinstance(value, str):
        data = list(value or "{}")
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.choice((0, 1, 1, 9, 999))] = rng.choice(
                ("", "0", "-", "[", "}", '"', "é", "null", "1e999")
            )
        return "".join(data)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return int(rng.choice([number for number in HOSTILE if math.isfinite(number) and abs(number) < 2**32]))
    if isinstance(value, float):
        return float(rng.choice(HOSTILE))
    return [type(part)(_damaged(rng, part)) for part in value]
