"""What users call: operators that read the context, call core and report; and the command line."""

from ..core.blender.settings.declare import classes_of
from . import bones, build, effects, layers, motion, profile, shot

CLASSES = classes_of(build, shot, bones, profile, layers, motion, effects)
