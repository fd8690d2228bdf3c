"""What users call: operators that read the context, call core and report; and the command line."""

from . import bake, build, simulate

CLASSES = (*build.CLASSES, *simulate.CLASSES, *bake.CLASSES)
