"""What users call: operators that read the context, call core and report; and the command line."""

from ..core.blender.settings.declare import classes_of
from . import bones, effects, layers, motion, ragdoll, shot, story

CLASSES = classes_of(ragdoll, shot, bones, layers, motion, effects, story)
