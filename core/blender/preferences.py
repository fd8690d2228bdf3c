"""What a user prefers in every file: kept by Blender with the add-on, defaults where it keeps none (a bpy wheel)."""

import math
import tomllib
from functools import cache
from pathlib import Path

import bpy

from ..ragdoll import overlay
from . import interface, runtime
from .languages import translated
from .settings.declare import choice, text, vector

PACKAGE = __package__.removesuffix(".core.blender")
ROOT = Path(__file__).resolve().parents[2]
BONES = (
    ("DEFORM", "Deforming", "Bones that deform the mesh; tiny ones ride on their parent's body"),
    ("MAIN", "Main", "The ten to sixteen large bodies of a human, or an animal's; the rest merges into them"),
    ("SELECTED", "Selected", "Exactly the selected bones"),
    ("ALL", "All", "All bones but the tiny ones"),
    ("KEEP", "As Chosen", "The bones whose Simulated is on: brings edited shapes, masses and limits into the bodies"),
)
_FIRST = [each for each in BONES if each[0] in ("DEFORM", "MAIN", "ALL")]
QUALITIES = (  # with steps a second and solver iterations of a new rigid body world
    ("PREVIEW", "Preview", "240 steps a second, 10 iterations: quick, enough while weights stay high", 240.0, 10),
    ("STANDARD", "Standard", "480 steps a second, 40 iterations: limits hold in a limp fall", 480.0, 40),
    ("FINE", "Fine", "960 steps a second, 80 iterations: long chains and hard blows", 960.0, 80),
)
_QUALITY = "How finely the rigid body world is stepped where a build has to make one"
_FOLDER = "Folder of self-made presets; empty for the folder that Blender keeps for this extension"
PALETTE = {  # preference -> the overlay's table of colours, and which of it
    "body_color": ("Bodies", overlay.COLORS, overlay.BODY),
    "inside_color": ("Inside Limits", overlay.LIMIT_COLORS, overlay.INSIDE),
    "near_color": ("Near a Limit", overlay.LIMIT_COLORS, overlay.NEAR),
    "beyond_color": ("Beyond Limits", overlay.LIMIT_COLORS, overlay.BEYOND),
}


def recolor(_self=None, _context=None) -> None:
    """Let the overlay draw in the preferred colours; also the callback of these."""
    for name, (_label, table, kind) in PALETTE.items():
        table[kind] = tuple(chosen(name))
    runtime.STATE.figures.clear()
    interface.redraw()


class ActiveRagdollPreferences(bpy.types.AddonPreferences):
    """Preferences of the add-on."""

    bl_idname = PACKAGE

    bones: choice("Bones", _FIRST, None, "Which bones a first build gives a body")
    quality: choice("World Quality", [each[:3] for each in QUALITIES], "STANDARD", _QUALITY)
    profile_folder: text("Own Presets", _FOLDER, subtype="DIR_PATH")

    def draw(self, context):
        interface.props(interface.rows(self.layout), self, "bones", "quality", "profile_folder")
        interface.props(interface.rows(self.layout), self, *PALETTE)
        draw_keys(self.layout, context.window_manager.keyconfigs.user)
        self.layout.operator("wm.url_open", text="Open the Manual", icon="HELP").url = manifest()["website"]


def draw_keys(layout, keys) -> None:
    """Our keys in a key configuration, with what else is on them; there is none without windows."""
    import rna_keymap_ui

    for keymap in keys.keymaps if keys else ():
        for item in (item for item in keymap.keymap_items if item.idname.startswith("active_ragdoll.")):
            layout.label(text=keymap.name)
            rna_keymap_ui.draw_kmi([], keys, keymap, item, layout, 0)
            for other in keymap.keymap_items:
                if other.active and other.id != item.id and other.to_string() == item.to_string():
                    layout.label(text=translated(f"'{other.name}' has this key too"), icon="ERROR")


ActiveRagdollPreferences.__annotations__ |= {  # not within the class: Python 3.14 has no such name there
    name: vector(label, None, table[kind], "COLOR", min=0.0, max=1.0, update=recolor)
    for name, (label, table, kind) in PALETTE.items()
}


def chosen(name: str):
    """What the user prefers; the default where Blender keeps no preferences of ours."""
    addon = bpy.context.preferences.addons.get(PACKAGE)
    if addon is not None and addon.preferences is not None:
        return getattr(addon.preferences, name)
    p = ActiveRagdollPreferences.bl_rna.properties[name]
    return tuple(p.default_array) if getattr(p, "is_array", False) else p.default


def new_world(fps: float) -> tuple[int, int]:
    """Substeps a frame and solver iterations of a rigid body world that a build makes."""
    steps, iterations = next(rest for key, _label, _text, *rest in QUALITIES if key == chosen("quality"))
    return max(10, math.ceil(steps / fps - 1e-9)), iterations


@cache
def manifest() -> dict:
    """The extension's own blender_manifest.toml."""
    with (ROOT / "blender_manifest.toml").open("rb") as stream:
        return tomllib.load(stream)
