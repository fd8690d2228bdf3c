"""Bone names of MikuMikuDance models: Japanese words, the side in front, numbers and letters at the end."""

import re
import unicodedata

from .roles import (
    CENTER,
    EYE,
    FINGER,
    FOOT,
    FOREARM,
    GENERIC,
    HAND,
    HEAD,
    HELPER,
    JAW,
    LEFT,
    NECK,
    PELVIS,
    RIGHT,
    SHANK,
    TAIL,
    THIGH,
    THUMB,
    TOE,
    TWIST,
    UPPER_ARM,
)

_JAPANESE = re.compile("[぀-ヿ一-鿿々]")
_NUMBER = re.compile(r"\d+")
_SIDES = (("左", LEFT), ("右", RIGHT), ("両", CENTER))

# The first pattern that is found speaks, so the longer words come first. Half-width forms have been widened and
# full-width digits and letters narrowed (NFKC) before.
_PATTERNS = (
    (
        HELPER,
        "IK|親$|ダミー|操作|センター|グルーブ|キャンセル|両目|先$(?<!つま先)|肩[PC]|腰$|調整|補助\\+|表情|舌|眉|まぶた",
    ),
    (TWIST, "捩|捻|補助"),
    (GENERIC, "髪|スカート|ネクタイ|袖|リボン|乳|おっぱい"),
    (THUMB, "親指"),
    (FINGER, "人指|人差|中指|薬指|小指"),
    (TOE, "つま先|爪先|足先"),
    (FOOT, "足首"),
    (SHANK, "ひざ|膝|ヒザ"),
    (HAND, "手首"),
    (FOREARM, "ひじ|肘|ヒジ"),
    (THIGH, "足|脚|太もも"),
    ("shoulder", "肩"),
    (UPPER_ARM, "腕"),
    (PELVIS, "下半身"),
    ("trunk", "上半身|胴"),
    (NECK, "首"),
    (HEAD, "頭"),
    (EYE, "目"),
    (JAW, "あご|顎"),
    (TAIL, "しっぽ|尻尾"),
    (HELPER, "胸"),
)
_PATTERNS = tuple((meaning, re.compile(pattern)) for meaning, pattern in _PATTERNS)


def read(name: str) -> tuple | None:
    """Meaning (or None), side (or None) and number (or None) of a Japanese name in NFKC; None for other names."""
    if not _JAPANESE.search(name):
        return None
    side = next((side for word, side in _SIDES if word in name), None)
    if side is None:
        # Blender rigs made from such models move the side to the end: "腕.L".
        found = re.search(r"[._]([LR])(?:[._]|$)", name)
        side = {"L": LEFT, "R": RIGHT}[found.group(1)] if found else None
    numbers = _NUMBER.findall(name)
    word = re.sub(r"^[左右]|[._][LR]$|[._]\d{3}$", "", name)
    meaning = next((meaning for meaning, pattern in _PATTERNS if pattern.search(word)), None)
    return meaning, side, int(numbers[-1]) if numbers else None


_TWIN = re.compile(r"D(?=(?:[._][LR])?$)")


def follows_twin(name: str) -> bool:
    """Whether a bone is the "D" twin of a leg bone: the twin carries the mesh's weights, the plain one the IK."""
    return _JAPANESE.search(name) is not None and _TWIN.search(_narrow(name)) is not None


def plain(name: str) -> str:
    """The name of the bone that a "D" twin follows."""
    return _TWIN.sub("", _narrow(name))


def _narrow(name: str) -> str:
    return unicodedata.normalize("NFKC", name)
