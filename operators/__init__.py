"""What users call: operators that read the context, call core and report; and the command line."""

from . import bake, bones, build, diagnose, limits, profile, recovery, simulate

CLASSES = (
    *build.CLASSES,
    *simulate.CLASSES,
    *bake.CLASSES,
    *limits.CLASSES,
    *bones.CLASSES,
    *profile.CLASSES,
    *diagnose.CLASSES,
    *recovery.CLASSES,
)
