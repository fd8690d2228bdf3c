"""What the declarations of settings share: their options, and what most edits entail."""

from . import runtime

ANIMATABLE = {"ANIMATABLE"}
FIXED: set = set()  # a shot's set-up: not animatable
OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}  # else an override forgets it when the file is loaded
GROWING = {"LIBRARY_OVERRIDABLE", "USE_INSERTION"}  # lists to which an override may add
PERCENT = {"subtype": "FACTOR", "min": 0.0, "max": 1.0}


def changed(self, _context) -> None:
    """A setting that a run reads again."""
    runtime.settings_changed(self.id_data)


def layout_changed(self, _context) -> None:
    """One that only a new build can bring into the rigid bodies and joints."""
    runtime.settings_changed(self.id_data, layout=True)
