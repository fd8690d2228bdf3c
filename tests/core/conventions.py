"""Bone lists of the usual conventions for humans, written out by hand, with what each bone is.

A line of the text beside this file is a chain: ``bone | ROLE > bone, bone | ROLE > ...``, each bone hanging on the one
before; bones with commas between them share a role. A chain that begins with a bone without a role goes on from that
bone, named before. Bones of the left side are written once: the pairs of a convention say how their names turn into
those of the right side, and every subtree that begins with such a name comes twice."""

from pathlib import Path

_DAZ_WORDS = ("Thigh", "Shin", "Foot", "Toe", "Collar", "Shldr", "Forearm", "Hand", "Thumb", "Index")
_PAIRS = {
    "Mixamo": (("Left", "Right"),),
    "Unreal": (("_l", "_r"),),
    "Unity": (("Left", "Right"),),
    "VRoid": (("_L_", "_R_"),),
    "Biped": ((" L ", " R "), (" LUp", " RUp"), (" LFore", " RFore")),
    "Source": (("_L_", "_R_"), ("_LH", "_RH")),
    "MakeHuman default": ((".L", ".R"),),
    "Quaternius": ((".L", ".R"),),
    "KayKit": ((".l", ".r"),),
    "CMU": (("Left", "Right"), ("LThumb", "RThumb")),
    "CMU joints": (("Left", "Right"), ("LHip", "RHip"), ("lhand", "rhand"), ("LFing", "RFing"), ("LThumb", "RThumb")),
    "Bandai-Namco": (("_L", "_R"),),
    "MMD": (("左", "右"),),
    "MMD with twins": (("左", "右"),),
    "HumanIK": (("Left", "Right"),),
    "Daz": tuple((f"l{word}", f"r{word}") for word in _DAZ_WORDS),
}
_BLOCKS = Path(__file__).with_suffix(".txt").read_text("utf-8").removeprefix("[").split("\n[")
_TEXTS = dict(block.split("]\n") for block in _BLOCKS)
ALL = {name: (pairs, _TEXTS[name]) for name, pairs in _PAIRS.items()}
