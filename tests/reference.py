"""Writes the manual's reference: every operator and every setting, as Blender has them registered.

Each has an anchor to which `registration.manual_map` leads. Inside a Blender: python reference.py FILE."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parent / "blender"))

import harness

HEAD = """# Reference

Every button and every setting. *Online Manual* in a button's or a field's right-click menu leads here.
Python finds settings at the places that are named, and operators in `bpy.ops.active_ragdoll`.
"""
OWNERS = {
    "ActiveRagdollObject": "`Object.active_ragdoll` of the character's armature",
    "ActiveRagdollBone": "`PoseBone.active_ragdoll`",
    "ActiveRagdollScene": "`Scene.active_ragdoll`",
    "ActiveRagdollOverlay": "`Scene.active_ragdoll_overlay`",
}


def lines(classes) -> Iterator[str]:
    """The page, line by line."""
    yield HEAD
    yield "## Operators\n"
    for name in sorted(cls.bl_idname for cls in classes if issubclass(cls, bpy.types.Operator)):
        rna = getattr(bpy.ops.active_ragdoll, name.partition(".")[2]).get_rna_type()
        yield f"### {rna.name} {{ #{name} }}\n\n{rna.description}.\n"
        yield from table(rna)
    yield "## Settings\n"
    for cls in classes:
        rna = cls.bl_rna
        if issubclass(cls, bpy.types.PropertyGroup | bpy.types.AddonPreferences):
            title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__.removeprefix("ActiveRagdoll"))
            yield f"### {title}\n\n{OWNERS.get(cls.__name__, rna.description)}\n"
            yield from table(rna, f"{cls.__name__.lower()}.")


def table(rna, owner: str = "") -> Iterator[str]:
    """Rows of the properties that are shown; with anchors of all of them where an owner is stated."""
    own = [p for p in rna.properties if p.is_runtime]
    shown = [p for p in own if p.name != p.identifier and not p.is_hidden]
    if owner:
        yield "".join(f'<span id="{owner}{p.identifier}"></span>' for p in own if p not in shown) + "\n"
    if not shown:
        return
    yield "| | |\n|---|---|"
    for p in shown:
        anchor = f'<span id="{owner}{p.identifier}"></span>' if owner else ""
        yield f"| {anchor}**{p.name}**<br>`{p.identifier}` | {_cell(p, bool(owner))} |"
    yield ""


def _cell(p, of_data: bool) -> str:
    texts = [f"{p.description}." if p.description else ""]
    items = list(getattr(p, "enum_items_static", ()))
    texts += [f"<br>*{item.name}*: {item.description}" for item in items if item.name]
    if p.type in ("FLOAT", "INT") and not p.is_array:
        bounds = [f"{value:.6g}" for value in (p.hard_min, p.hard_max)]
        most = 1.0e6 if p.type == "FLOAT" else 1e9
        if abs(p.hard_min) <= most and abs(p.hard_max) <= most:
            texts.append(f"{bounds[0]} to {bounds[1]},")
        texts.append(f"usually {p.default:.6g}.")
    if p.is_animatable and of_data:
        texts.append("Can be keyed.")
    return " ".join(filter(None, texts)).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    package, _registered = harness.load_extension()
    classes = sys.modules[f"{package.__name__}.registration"]._classes
    Path(sys.argv[1]).write_text("\n".join(lines(classes)), encoding="utf-8")
    harness.exit_now(0)
