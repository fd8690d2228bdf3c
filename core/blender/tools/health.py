"""What the sidebar says of a character at all times, the worst first, each with what helps: asked at every redraw."""

import numpy as np
from mathutils import Vector

from ...anatomy.roles import GENERIC
from ...errors import RagdollError
from ...ragdoll.diagnosis import ERROR, INFO, NO_WAY_UP, REBUILD, WARNING, Finding, left_over, refusal
from .. import interface, preferences, runtime
from ..physics import built, ground, world
from ..run import get_up
from . import diagnose

RANK = (ERROR, WARNING, INFO)
SIMULATE = "simulate", {}, "Simulate"
STATES = {
    "READY": ("Ready: play from frame {first}, or simulate", *SIMULATE),
    "LIVE": ("Simulated as it plays", *SIMULATE),
    "CACHED": ("Simulated: scrub the timeline, or bake", "bake", {}, "Bake"),
    "BAKED": ("Baked to keyframes: revert the bake to change the ragdoll", "revert_bake", {}, "Revert Bake"),
    "ELSEWHERE": ("Its ragdoll is in another scene: Rebuild makes it here", *REBUILD),
    "BROKEN": ("Interrupted: starts again from frame {first}", *SIMULATE),
}


def notices(obj, scene) -> list[Finding]:
    """What there is to say of a character (None: none is chosen) and of the scene that is shown, the worst first."""
    first, last = world.shot_range(scene)
    found = left_over(built.left_over(scene))
    if last <= first:
        found.append(Finding("", ERROR, f"The range {first} to {last} has no frame to simulate", ""))
    if obj is None:
        found.append(Finding("", INFO, interface.why_not(None), ""))
    else:
        found += _of_character(obj, obj.active_ragdoll.scene or scene)
    told = {finding.text for finding in found if finding.kind}  # the run warns of some of these, too
    found = [finding for finding in found if finding.kind or finding.text not in told]
    return sorted(found, key=lambda finding: RANK.index(finding.severity))


def _of_character(obj, scene):
    settings, stack = obj.active_ragdoll, runtime.STATE.motions.get(obj.name)
    state = settings.run_state
    for text in dict.fromkeys(filter(None, map(runtime.STATE.messages.get, (obj.name, scene.name)))):
        yield Finding("", ERROR, text, "")
    for name, text in stack.messages.items() if stack is not None else ():
        yield Finding("", ERROR, text if text.startswith(name) else f"{name}: {text}", "")
    for text in runtime.STATE.warnings.get(obj.name, ()):  # what the run goes on without
        if text != _no_way_up(obj):  # which has a button, or it was told to blend
            yield Finding("", WARNING, text, "")
    if state == "NONE":
        build = "build", {"bones": preferences.chosen("bones")}, "Build"
        yield Finding("", INFO, "Build gives it bodies and joints", "", (), *build)
        return
    if state not in ("BAKED", "ELSEWHERE"):
        yield from _of_ragdoll(obj, scene)
    if state == "CACHED" and (settings.cache_outdated or not world.cache_covers_shot(scene)):
        yield Finding("", WARNING, "The simulated frames are out of date or incomplete", "", (), *SIMULATE)
        return
    text, *button = STATES[state]
    yield Finding("", INFO, text.format(first=world.shot_range(scene)[0]), "", (), *button)


def _of_ragdoll(obj, scene):
    settings = obj.active_ragdoll
    try:
        yield from diagnose.quick(obj, scene)
    except RagdollError as error:
        yield Finding("", ERROR, str(error), "", (), *REBUILD)
    build, found = runtime.STATE.diagnoses.get(obj.name, (None, ()))
    if build == diagnose.identity(obj):
        yield from (finding for finding in found if finding.kind not in diagnose.QUICK)
    report = runtime.STATE.limits.get(obj.name)
    if report is not None and report.found and not report.widened:
        yield Finding("", WARNING, report.text(), "", (), "check_limits", {"widen": True}, "Widen to Fit")
    bones = {part.bone for part in settings.parts}
    for title, items in (("Hit on", settings.hits), ("Attachment of", settings.attachments)):
        for item in items:
            if item.enabled and item.bone not in bones:
                yield Finding("", WARNING, f"{title} '{item.bone}': that bone has no body", "")
    if all(obj.pose.bones[bone].active_ragdoll.role == GENERIC for bone in bones if bone in obj.pose.bones):
        text = "No bone was recognised: ranges are generic. Give bones their roles in Setup > Active Bone > Body"
        yield Finding("", INFO, text, "", (), *REBUILD)
    if settings.recovery.enabled and get_up.is_planned(settings.recovery) and (text := _no_way_up(obj)):
        yield refusal(NO_WAY_UP, text)
    if not has_floor(obj, scene):
        yield Finding("", INFO, "No floor below: limp, it falls without end", "", (), "add_floor", {}, "Add Floor")


def _no_way_up(obj) -> str:
    """Why a character cannot get up over hands and feet; looked for once in each build."""
    build = diagnose.identity(obj)
    if runtime.STATE.upright.get(obj.name, ("",))[0] != build:
        reason = ""
        try:
            get_up.biped(obj)
        except RagdollError as error:
            reason = f"'{obj.name}' gets up by a blend: {error}"
        runtime.STATE.upright[obj.name] = build, reason
    return runtime.STATE.upright[obj.name][1]


def has_floor(obj, scene) -> bool:
    """Whether something solid that physics does not move lies under a character, or nothing pulls it down."""
    if not world.pull(scene):
        return True
    size, place = obj.active_ragdoll.height, np.array(obj.matrix_world.translation)
    for solid in ground.still(scene):
        corners = np.array([solid.matrix_world @ Vector(corner) for corner in solid.bound_box])
        low, high = corners.min(axis=0), corners.max(axis=0)
        if (low[:2] < place[:2] + size).all() and (high[:2] > place[:2] - size).all() and low[2] < place[2] + size:
            return True
    return False
