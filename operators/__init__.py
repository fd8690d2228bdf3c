"""What users call: operators that read the context, call core and report; and the command line."""

from . import (
    attachments,
    bake,
    blend_spaces,
    bones,
    build,
    diagnose,
    hits,
    layers,
    limits,
    motion,
    profile,
    recovery,
    simulate,
    weights,
)

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
    *motion.CLASSES,
    *hits.CLASSES,
    *attachments.CLASSES,
    *weights.CLASSES,
    *recovery.CLASSES,
)
