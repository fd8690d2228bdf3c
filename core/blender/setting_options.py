"""What the declarations of settings share: kinds of properties, their options, and what most edits entail.

A linked character with a library override keeps of its settings only those that may be overridden, so all may, and
lists may grow. Declarations take the kinds of properties from here.
"""

from functools import partial

import bpy

from . import runtime

ANIMATABLE = {"ANIMATABLE"}
FIXED: set = set()  # a shot's set-up: not animatable
PERCENT = {"subtype": "FACTOR", "min": 0.0, "max": 1.0}

BoolProperty = partial(bpy.props.BoolProperty, override={"LIBRARY_OVERRIDABLE"})
CollectionProperty = partial(bpy.props.CollectionProperty, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"})
EnumProperty = partial(bpy.props.EnumProperty, override={"LIBRARY_OVERRIDABLE"})
FloatProperty = partial(bpy.props.FloatProperty, override={"LIBRARY_OVERRIDABLE"})
FloatVectorProperty = partial(bpy.props.FloatVectorProperty, override={"LIBRARY_OVERRIDABLE"})
IntProperty = partial(bpy.props.IntProperty, override={"LIBRARY_OVERRIDABLE"})
IntVectorProperty = partial(bpy.props.IntVectorProperty, override={"LIBRARY_OVERRIDABLE"})
PointerProperty = partial(bpy.props.PointerProperty, override={"LIBRARY_OVERRIDABLE"})
StringProperty = partial(bpy.props.StringProperty, override={"LIBRARY_OVERRIDABLE"})


def changed(self, _context) -> None:
    """A setting that a run reads again."""
    runtime.settings_changed(self.id_data)


def layout_changed(self, _context) -> None:
    """One that only a new build can bring into the rigid bodies and joints."""
    runtime.settings_changed(self.id_data, layout=True)
