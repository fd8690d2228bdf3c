"""What users call: operators that read the context, call core and report; and the command line."""

from . import bake, blend_spaces, bones, build, diagnose, layers, limits, profile, simulate

CLASSES = (
    *build.CLASSES,
    *simulate.CLASSES,
    *bake.CLASSES,
    *limits.CLASSES,
    *bones.CLASSES,
    *profile.CLASSES,
    *diagnose.CLASSES,
    *layers.CLASSES,
    *blend_spaces.CLASSES,
)
