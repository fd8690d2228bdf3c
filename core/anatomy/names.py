"""What a bone's name says: a meaning and a side; and the roles of words that mean different bones in different
conventions. `recognise` weighs them against the joints.

A name is cut into words (separators, camelCase, digits, glued words such as "lefthand"), the words are looked up in
one table for all conventions: Mixamo, Unreal, Unity, Rigify, VRM, 3ds Max Biped, MakeHuman, Quaternius, KayKit, BVH
of several makers, Source. Names in Japanese (MMD) have a table of their own.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from . import roles as r
from .structure import Structure, Tree, raised

# Words whose role depends on the bones around: a "shoulder" is a collar bone in one convention, an upper arm in
# another, a "leg" a shank below an "upleg" and a thigh elsewhere.
SHOULDER, ARM, ELBOW, WRIST, PALM = "shoulder", "arm", "elbow", "wrist", "palm"
HIP, LEG, KNEE, ANKLE, PAW = "hip", "leg", "knee", "ankle", "paw"
TRUNK = "trunk"  # some bone of the spine; the joints tell which
ROOT = "root"  # a control above the pelvis, or in a few rigs the pelvis itself
MIDDLE = (r.PELVIS, TRUNK, ROOT, r.CHEST, r.NECK, r.HEAD)


class Name(NamedTuple):
    """What a name says."""

    meaning: str | None = None  # a role, one of the weak words above, or None where it says nothing
    side: str | None = None  # LEFT, RIGHT, CENTER or None
    front: bool | None = None  # whether it speaks of a front (True) or a hind leg (False), or None
    deform: bool = False  # carries the "DEF-" of a generated Rigify rig


_TABLE = {
    r.PELVIS: "pelvis hips pelvisbone",
    TRUNK: "spine belly torso abdomen waist stomach trunk back lowerback upperback abdomenlower abdomenupper spines",
    ROOT: "root body center centre cog main rootjoint armature skeleton groot hiproot reference",
    r.CHEST: "chest upperchest lowerchest ribcage thorax chestlower chestupper",
    r.NECK: "neck lowerneck upperneck necklower neckupper necktwist",
    r.HEAD: "head",
    r.CLAVICLE: "clavicle clav collar collarbone scapula shoulderblade",
    SHOULDER: "shoulder",
    r.UPPER_ARM: "upperarm uparm shldr shldrbend humerus",
    ARM: "arm foreleg frontleg",
    r.FOREARM: "forearm lowerarm loarm lowarm forearmbend radius",
    ELBOW: "elbow",
    r.HAND: "hand middlehand forefoot frontfoot forepaw frontpaw",
    WRIST: "wrist",
    PALM: "palm",
    PAW: "paw",
    r.THUMB: "thumb",
    r.FINGER: "finger fingers index middle ring pinky pinkie little mid fingerbase digit fronttoe ringpinky",
    r.THIGH: "thigh upperleg upleg femur thighbend",
    HIP: "hip hipjoint",
    LEG: "leg hindleg rearleg",
    r.SHANK: "calf shin lowerleg loleg lowleg shank tibia",
    KNEE: "knee",
    r.FOOT: "foot feet hindfoot metatarsus metatarsals hock horselink",
    ANKLE: "ankle",
    r.TOE: "toe toes toebase ball hoof bigtoe fingertoe",
    r.TAIL: "tail",
    r.EAR: "ear",
    r.EYE: "eye eyeball",
    r.JAW: "jaw mandible lowerjaw",
    r.WING: "wing",
    r.TWIST: "twist roll ulna share split bendy shldrtwist thightwist forearmtwist",
    # Controls, targets, markers, props; bones of the face; flesh that rides on a body. None has a body of its own.
    r.HELPER: "ik fk pole target poletarget ctrl control ctl controller nub end tip effector goal socket slot handslot "
    "footslot prop weapon sword shield gun bow attach attachment camera footsteps dummy null tweak mch org vis wgt "
    "parent master handle locator marker mount item corrective driver pivot spin forward helper endsite site mechanism "
    "heel gaze lookat constraint aim anim hold grip holster backpack hat helmet "
    "nose lip lips brow lid eyelid eyebrow cheek chin forehead temple teeth tooth tongue face mouth beak skull "
    "nostril upperlip lowerlip upperjaw oris orbicularis levator risorius temporalis special mane feather "
    "breast bust boob butt glute buttock metacarpal carpal inhand pec pectoral bicep tricep quadricep trapezius latt "
    "lat latissimus deltoid muscle trap fwd bck scap",
    r.GENERIC: "sec hair skirt cloth cape coat ponytail scarf string ribbon ornament antenna fin",
}
_VOCABULARY = {word: meaning for meaning, words in _TABLE.items() for word in words.split()}
_SIDES = {"l": r.LEFT, "left": r.LEFT, "lf": r.LEFT, "lt": r.LEFT, "r": r.RIGHT, "right": r.RIGHT, "rt": r.RIGHT}
_SIDES |= {"c": r.CENTER, "center": r.CENTER, "centre": r.CENTER}
_FRONT = {"front": True, "fore": True, "back": False, "hind": False, "rear": False}
_NOISE = {  # words that say nothing: prefixes of programs, kinds of bones, parts of a chain
    *"abdefghijkmnopqstuvwxyz",
    *("bone", "bones", "jnt", "jt", "bn", "joint", "joints", "node", "object", "part", "parts", "bip", "biped", "bind"),
    *("def", "deform", "skin", "sk", "skel", "rig", "char", "character", "human", "humanoid", "female", "male", "base"),
    *("valvebiped", "mixamorig", "mixamo", "cc", "adj", "rigify", "unity", "game", "engine", "global", "org", "ex"),
    *("lo", "low", "lower", "up", "upper", "mid", "inner", "outer", "top", "bot", "bk", "bend", "first", "second"),
    *("third", "proximal", "intermediate", "distal", "medial", "phalange", "phalanx", "meta"),
}
_PREFIX = re.compile(r"^(?:.*[:|])?((?:DEF|ORG|MCH|VIS|WGT)[-_])?(.*)$", re.IGNORECASE | re.DOTALL)
_BIPED = re.compile(r"^(?:valve[ ._]*biped[ ._]*)?bip(?:ed)?[ ._]*\d*", re.IGNORECASE)
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Of several words in one name the first in this order speaks: "LeftHandIndex1" is a finger.
_PRECEDENCE = (r.EYE, r.EAR, r.JAW, r.HELPER, r.TWIST, r.GENERIC, r.THUMB, r.FINGER, r.TOE)


def read(names: list) -> list[Name]:
    """What each of a skeleton's names says; a first word that most of them share ("Hero_Hips") is left out."""
    words = (_PARTS.search(name.rsplit(":", 1)[-1]) for name in names)
    firsts = Counter(word.group().lower() if word else "" for word in words)
    common, times = next(iter(firsts.most_common(1)), ("", 0))
    shared = times > max(3, 0.5 * len(names)) and common not in _VOCABULARY and common not in _SIDES
    return [read_name(name, common if shared else "") for name in names]


@lru_cache(maxsize=4096)
def read_name(name: str, common: str = "") -> Name:
    """What one name says; a leading word `common` is left out."""
    name = unicodedata.normalize("NFKC", name).strip()
    if _JAPANESE.search(name):
        side = next((side for pattern, side in _JAPANESE_SIDES if re.search(pattern, name)), None)
        word = re.sub(r"^[左右]|[._][LR]$|[._]\d{3}$", "", name)
        return Name(next((meaning for meaning, pattern in _PATTERNS if re.search(pattern, word)), None), side)
    prefix, rest = _PREFIX.match(name).groups()
    if prefix and prefix[:3].upper() != "DEF":
        return Name(r.HELPER)
    biped = _BIPED.match(rest)
    pieces = _PARTS.findall(rest[biped.end() :] if biped else rest)
    words = [piece.lower() for piece in pieces if not piece.isdigit()]
    digits = [piece for piece in pieces if piece.isdigit()]
    if words and words[0] == common:
        words = words[1:]
    side, words = _take_side(words)
    meaning, front = _meaning(words)
    if meaning == r.PELVIS and side in (r.LEFT, r.RIGHT):
        meaning = HIP  # "LeftHips" or Rigify's "pelvis.L": the way from the pelvis to the leg
    elif meaning == HIP and side in (None, r.CENTER):
        meaning = r.PELVIS
    elif meaning == r.JAW and side in (r.LEFT, r.RIGHT):
        meaning = r.HELPER
    elif meaning == r.FINGER and biped and digits and digits[-1][0] == "0":
        meaning = r.THUMB  # Biped counts fingers from the thumb: Finger0, Finger01, Finger02
    elif meaning is None and biped and not words:
        meaning = ROOT
    return Name(meaning, side, front, prefix is not None)


def _take_side(words: list) -> tuple[str | None, list]:
    """The side among the words, and the words without it.

    Whole words come first, then the last letter ("r_toe.L"), then glued words ("lefthand", "lhand", "handl")."""
    for i, word in enumerate(words):
        if word in ("left", "right"):
            return _SIDES[word], words[:i] + words[i + 1 :]
    for i in range(len(words) - 1, -1, -1):
        if words[i] in _SIDES and (len(words) > 1 or words[i] in ("l", "r")):
            return _SIDES[words[i]], [word for word in words[:i] + words[i + 1 :] if word not in ("l", "r", "c")]
    for i, word in enumerate(words):
        if word in _VOCABULARY or word in _NOISE or word in _FRONT:
            continue
        for glue in ("left", "right", "l", "r"):
            for rest in (word.removeprefix(glue), word.removesuffix(glue)):
                if rest != word and (_VOCABULARY.get(rest) or (len(glue) > 1 and not rest)):
                    return _SIDES[glue], [*words[:i], rest, *words[i + 1 :]]
    return None, words


def _meaning(words: list) -> tuple[str | None, bool | None]:
    """The meaning of words without their side, and whether they speak of a front or hind leg."""
    found, front, unknown, i = [], None, False, 0
    while i < len(words):
        for count in (3, 2, 1):
            meaning = _VOCABULARY.get("".join(words[i : i + count])) if i + count <= len(words) else None
            if meaning is not None:
                break
        if meaning is not None and not (count == 1 and words[i] in _FRONT and len(words) > 1):
            found.append(meaning)
        elif words[i] in _FRONT:
            front = _FRONT[words[i]]
        else:
            word = words[i]
            pairs = ((_VOCABULARY.get(word[:cut]), _VOCABULARY.get(word[cut:])) for cut in range(3, len(word) - 2))
            inner = next((pair for pair in pairs if None not in pair), None)  # two known words in one: "headnub"
            if inner is not None:
                found += inner
            else:
                unknown |= word not in _NOISE
        i += count
    if front is not None and not found and not unknown and "back" in words:
        return TRUNK, None
    for meaning in _PRECEDENCE:
        if meaning in found:
            return meaning, front
    if unknown or not found:
        return None, front
    return TRUNK if found[:2] == [TRUNK, ROOT] else found[-1], front


# Homologous bones of front and hind legs.
FRONT_OF = dict(zip((*r.LEG, LEG, KNEE, ANKLE, PAW), (*r.ARM[1:], r.FINGER, ARM, ELBOW, WRIST, r.HAND), strict=True))
_ARMS, _LEGS = (*r.ARM[1:], r.FINGER, r.THUMB, SHOULDER, ARM, PAW), (*r.LEG, r.TOE, HIP, LEG, r.FOOT)
HIND_OF = dict(zip(_ARMS, _LEGS, strict=True))
assert r.SPINE not in _TABLE  # every word for the spine is weak: which bone of it is told by the joints


# ---- Japanese names of MikuMikuDance models: the side in front, numbers and letters at the end ----------------------
_JAPANESE = re.compile("[぀-ヿ一-鿿々]")
_JAPANESE_SIDES = (("左", r.LEFT), ("右", r.RIGHT), ("両", r.CENTER))
# Blender rigs made from such models move the side to the end: "腕.L".
_JAPANESE_SIDES += ((r"[._]L(?:[._]|$)", r.LEFT), (r"[._]R(?:[._]|$)", r.RIGHT))

# The first pattern that is found speaks, so the longer words come first. Half-width forms have been widened and
# full-width digits and letters narrowed (NFKC) before.
_PATTERNS = (
    (r.HELPER, "IK|親$|ダミー|操作|センター|グルーブ|キャンセル|両目|先$(?<!つま先)"),
    (r.HELPER, "肩[PC]|腰$|調整|補助\\+|表情|舌|眉|まぶた"),
    (r.TWIST, "捩|捻|補助"),
    (r.GENERIC, "髪|スカート|ネクタイ|袖|リボン|乳|おっぱい"),
    (r.THUMB, "親指"), (r.FINGER, "人指|人差|中指|薬指|小指"), (r.TOE, "つま先|爪先|足先"), (r.FOOT, "足首"),
    (r.SHANK, "ひざ|膝|ヒザ"), (r.HAND, "手首"), (r.FOREARM, "ひじ|肘|ヒジ"), (r.THIGH, "足|脚|太もも"),
    ("shoulder", "肩"), (r.UPPER_ARM, "腕"), (r.PELVIS, "下半身"), ("trunk", "上半身|胴"), (r.NECK, "首"),
    (r.HEAD, "頭"), (r.EYE, "目"), (r.JAW, "あご|顎"), (r.TAIL, "しっぽ|尻尾"), (r.HELPER, "胸"),
)  # fmt: skip
_TWIN = re.compile(r"D(?=(?:[._][LR])?$)")


def followed(name: str) -> str | None:
    """The name of the leg bone with the IK that a "D" twin, which carries the mesh's weights, follows; else None."""
    name = unicodedata.normalize("NFKC", name)
    return _TWIN.sub("", name) if _JAPANESE.search(name) and _TWIN.search(name) else None


# ---- roles of the bones of arms, legs and trunk ---------------------------------------------------------------------
# Words that mean different bones are settled by the bones above and below them, and along the trunk, where any bone may
# be called "spine", by the joints.
ARMS = (SHOULDER, r.CLAVICLE, r.UPPER_ARM, ARM, r.FOREARM, ELBOW, r.HAND, WRIST, r.FINGER, r.THUMB, r.WING)
_JOINT = {KNEE: r.SHANK, ELBOW: r.FOREARM, WRIST: r.HAND, ANKLE: r.FOOT}
STRONG = _JOINT | {LEG: r.THIGH, ARM: r.UPPER_ARM, PALM: r.HAND, HIP: r.THIGH}
_ONCE = (r.UPPER_ARM, r.FOREARM, r.THIGH, r.SHANK)
_NEXT = {None: 0, r.THIGH: 1, r.SHANK: 2, r.UPPER_ARM: 1, r.FOREARM: 2}
_OF_LIMB = (*r.ARM, *r.LEG, r.FINGER, r.THUMB, r.WING)
_OF_LEG, _OF_ARM = (r.THIGH, r.SHANK, r.FOOT), (r.UPPER_ARM, r.FOREARM, r.HAND)


def settle_limbs(tree: Tree, read: list[Name]) -> tuple[dict, dict]:
    """Role by row for the bones of limbs, HELPER or TWIST for what only belongs to them; and the rows of a leg's first
    bone below which all names are one bone off."""
    # Turned to the homologous bone where a name speaks of a front or hind leg.
    turned = {True: FRONT_OF, False: HIND_OF, None: {}}
    words = {row: turned[read[row].front].get(read[row].meaning, read[row].meaning) for row in tree.rows}
    below: dict = {row: set() for row in tree.rows}  # the words below each row
    for row in reversed(tree.rows):
        if tree.parent[row] >= 0:
            below[tree.parent[row]] |= below[row] | {words[row]}
    strong = {(words[row], read[row].side) for row in tree.rows if words[row] not in _JOINT}
    roles: dict = {}
    leg_of: dict = {}  # the nearest role of a leg or arm above each row, itself included
    shifted: dict = {}
    for row in tree.rows:
        above = leg_of.get(tree.parent[row])
        word = words[row]
        role = _role(word, above, below[row], (_JOINT.get(word), read[row].side) in strong)
        if word == LEG and role == r.THIGH and r.THIGH in below[row]:
            # A "leg" above an "upper leg": where it is long it is the thigh, and the names are one bone off.
            named = next(item for item in tree.subtree(row)[1:] if words[item] == r.THIGH)
            own, other = (tree.ends[bone] - tree.heads[bone] for bone in (row, named))
            if own @ own > 0.25 * (other @ other):
                shifted[row] = None
            else:
                role = r.HELPER
        elif any(item in shifted for item in tree.ancestors(row)):
            role = {r.THIGH: r.SHANK, r.SHANK: r.FOOT, r.FOOT: r.TOE}.get(role, role)
        elif role in _ONCE and role == above:
            role = r.TWIST  # the second half of a bone in two parts
        elif role == r.FOOT and above == r.FOOT and r.TOE not in below[row]:
            role = r.TOE
        if role is not None:
            roles[row] = role
        leg_of[row] = role if role in _OF_LIMB else above
    return roles, shifted


def _role(word, above, below: set, taken: bool) -> str | None:
    """One bone's role from its word, the limb role above it, the words below it."""
    if word in _JOINT:
        role = _JOINT[word]
        # "elbow" beside a forearm is a helper at the joint; above it, or without one, it is the bone.
        return role if not taken or role in below else r.HELPER
    if word == HIP:
        return r.HELPER if below & {HIP, r.THIGH, LEG} or not below & {KNEE, r.SHANK, r.FOOT, ANKLE} else r.THIGH
    if word in (LEG, ARM):
        return (_OF_LEG if word == LEG else _OF_ARM)[_NEXT.get(above, 0)]
    if word == SHOULDER:
        if above in _OF_ARM or below & {r.UPPER_ARM, ARM, r.WING}:
            return r.HELPER if above in (r.CLAVICLE, *_OF_ARM) else r.CLAVICLE
        return r.UPPER_ARM if above == r.CLAVICLE or below & {ELBOW, r.FOREARM} else None
    if word == PALM:
        return r.HAND if above in (r.UPPER_ARM, r.FOREARM) else r.HELPER
    if word == PAW:
        return r.HAND if above in (r.CLAVICLE, r.UPPER_ARM, r.FOREARM) else r.FOOT
    if word in (r.FINGER, r.THUMB):
        return r.TOE if above in (r.THIGH, r.SHANK, r.FOOT, r.TOE) else word
    if word == r.CLAVICLE:
        return r.CLAVICLE if below & set(ARMS) else r.HELPER
    if word == r.TOE and above in (r.CLAVICLE, r.UPPER_ARM, r.FOREARM, r.HAND, r.FINGER):
        return r.FINGER
    return word if word in _OF_LEG + _OF_ARM or word in (r.TOE, r.WING) else None


# ---- pelvis, spine, chest, neck, head and tail ----------------------------------------------------------------------
_SOFT = (TRUNK, ROOT, None)


def settle_trunk(tree: Tree, words: list, sides: list, limbs: dict, found: Structure) -> dict:
    """Role by row for the bones along the middle, of the names' meanings and sides [n], the role by row of the bones of
    arms and legs, and what the joints say."""
    legs = _first(tree, limbs, sides, (r.THIGH,))
    arms = _first(tree, limbs, sides, (r.CLAVICLE, r.UPPER_ARM, r.WING))
    carrier = tree.meeting(*arms.values()) if len(arms) == 2 else -1  # of both arms
    roles, pelvis = _pelvis(tree, words, legs, found)
    head = _head(tree, words, carrier, found)
    stop = tree.ancestors(pelvis)
    path = [row for row in takewhile(lambda row: row not in stop, tree.ancestors(head)) if row not in limbs][::-1]
    _along(tree, words, roles, path, head, arms, carrier)
    ahead = tree.heads[head] - tree.heads[path[0] if path else pelvis] if head >= 0 else np.zeros(3)
    on_path = {*path, *stop}
    for row in tree.rows:
        if row not in roles and row not in limbs and words[row] in MIDDLE:
            roles[row] = _beside(tree, words, row, ahead, roles, on_path)
    return roles


def _first(tree: Tree, limbs: dict, sides: list, kinds: tuple) -> dict:
    """The topmost row of some roles on each side."""
    result: dict = {}
    for row in tree.rows:
        if limbs.get(row) in kinds and sides[row] in (r.LEFT, r.RIGHT):
            result.setdefault(sides[row], row)
    return result


def _pelvis(tree: Tree, words: list, legs: dict, found: Structure) -> tuple[dict, int]:
    """Rows of the pelvis (several where one carries the legs and another the spine), and the one that leads."""
    named = [row for row in tree.rows if words[row] == r.PELVIS]
    meeting = tree.meeting(*legs.values()) if len(legs) == 2 else found.pelvis if not named else -1
    if meeting < 0:
        carrying = [row for row in named if len(tree.children[row]) > 0] or named
        return dict.fromkeys(carrying[:1], r.PELVIS), carrying[0] if carrying else -1
    roles = {}
    pelvis = next((row for row in tree.ancestors(meeting)[::-1] if words[row] == r.PELVIS), -1)
    if pelvis < 0:
        pelvis = raised(tree, meeting)
        while pelvis != meeting and words[pelvis] not in _SOFT:
            pelvis = next(row for row in tree.children[pelvis] if row in tree.ancestors(meeting))
    roles[pelvis] = r.PELVIS
    for row in named:
        between = meeting in tree.subtree(row) and row in tree.subtree(pelvis)
        if between or any(words[item] in (TRUNK, r.CHEST, r.NECK, r.HEAD) for item in tree.subtree(row)):
            roles[row] = r.PELVIS
    return roles, pelvis


def _head(tree: Tree, words: list, carrier: int, found: Structure) -> int:
    """The head's row: named so, else what carries jaw or eyes, else the last of neck or spine beyond the arms."""
    if named := [row for row in tree.rows if words[row] == r.HEAD]:
        # A head with bones of its own name inside: the topmost; "headgear" beside it carries nothing.
        return max(named, key=lambda row: (tree.reach[row] > 0.0, -len(tree.ancestors(row)), tree.height[row]))
    for row in tree.rows:
        if words[row] in (r.JAW, r.EYE) and tree.parent[row] >= 0:
            return int(tree.parent[row])
    start = next((row for row in reversed(tree.rows) if words[row] == r.NECK), carrier)
    if start < 0:
        return found.head
    row = start
    while rest := [child for child in tree.children[row] if words[child] in (TRUNK, r.NECK)]:
        row = max(rest, key=lambda child: tree.reach[child])
    return found.head if row == start and words[start] != r.NECK else row


def _along(tree: Tree, words: list, roles: dict, path: list, head: int, arms: dict, carrier: int) -> None:
    """Spine, chest and neck along a path; a neck begins at a bone named so or beyond the arms."""
    shoulders = np.mean([tree.heads[row] for row in arms.values()], axis=0) if arms else None
    carried = path.index(carrier) if carrier in path else -1
    trunk: list = []
    for i, row in enumerate(path):
        if row in roles:
            continue
        word, line = words[row], tree.ends[row] - tree.heads[row]
        if row == head:
            roles[row] = r.HEAD
        elif word == r.NECK or any(roles.get(item) == r.NECK for item in path[:i]):
            roles[row] = r.NECK
        elif (  # or the shoulders are beside or beyond the bone, seen along it
            word == r.CHEST or not arms or i <= carried or (shoulders - tree.heads[row]) @ line > 0.1 * (line @ line)
        ):
            roles[row] = r.CHEST if word == r.CHEST else r.SPINE
            trunk.append(row)
        else:
            roles[row] = r.NECK
    if trunk and arms:
        roles[trunk[-1]] = r.CHEST


def _beside(tree: Tree, words: list, row: int, ahead: np.ndarray, roles: dict, on_path: set) -> str:
    """A bone named as of the trunk that is not on the way from pelvis to head: a tail, or a helper."""
    if words[row] not in (TRUNK, r.CHEST, r.NECK) or row in on_path:
        return r.HELPER
    if roles.get(tree.parent[row]) == r.TAIL:
        return r.TAIL
    backwards = (tree.ends[row] - tree.heads[row]) @ ahead < 0.0 and ahead @ ahead > 0.0
    chain = len(tree.children[row]) > 0 and any(words[child] == TRUNK for child in tree.children[row])
    return r.TAIL if words[row] == TRUNK and backwards and chain else r.HELPER
