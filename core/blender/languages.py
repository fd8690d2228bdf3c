"""The interface in other languages: catalogues for Blender, and messages translated as they are shown.

A catalogue is languages/<locale>.json, from the English text to the translation. {0}, {1} ... stand in both for what a
message names. Such a part is translated too where it is a text of ours; a name, which stands in quotes, is not.
"""

import json
import re
from functools import cache, lru_cache
from pathlib import Path

import bpy

FOLDER = Path(__file__).resolve().parents[2] / "languages"
CONTEXT = "Active Ragdoll"  # of names: Blender's own catalogue goes before ours, and its "Tone" is that of a colour
CONTEXTS = "*", CONTEXT  # of tooltips and single labels, and of names
PLACE = re.compile(r"\{(\w+)\}")
JOINTS = ("; ", ". ", ": ")  # between messages that are told together
AFTER = r"((?:[ ,;(].*?)?)"  # a place right behind another: what may be said of that
NAMED = r"'[^']*': "  # what a message is about, in front of it
QUOTES = tuple("'\"(")  # before a name


def add(undo) -> None:
    """Tell Blender what the catalogues have; `undo` takes it back."""
    tables = {
        path.stem: {(context, english): text for english, text in catalogue(path.stem).items() for context in CONTEXTS}
        for path in FOLDER.glob("*.json")
    }
    bpy.app.translations.register(__name__, tables)
    undo.callback(bpy.app.translations.unregister, __name__)


@cache
def catalogue(locale: str) -> dict[str, str]:
    """English text -> translation; empty for a language without one, and where its file is damaged."""
    try:
        read = json.loads((FOLDER / f"{locale}.json").read_text(encoding="utf-8"))
        return {english: text for english, text in read.items() if text and isinstance(text, str)}
    except (OSError, ValueError, AttributeError):
        return {}


def translated(text: str) -> str:
    """A message in the language that Blender's interface has; as it is where that is none of ours."""
    wanted = text and bpy.context.preferences.view.use_translate_interface
    return in_language(text, bpy.app.translations.locale) if wanted else text


@lru_cache(4096)
def in_language(text: str, locale: str) -> str:
    if text in catalogue(locale):
        return catalogue(locale)[text]
    for pattern, places, other in _patterns(locale):
        if found := pattern.fullmatch(text):
            named = zip(places, found.groups(), strict=True)
            parts = {name: part if quoted else in_language(part, locale) for (name, quoted), part in named}
            return PLACE.sub(lambda place, parts=parts: parts[place[1]], other)
    for joint in JOINTS:
        first, found, rest = text.partition(joint)
        if found:
            return in_language(first, locale) + joint + in_language(rest, locale)
    return text


@cache
def _patterns(locale: str) -> list[tuple]:
    """(pattern, its places as (name, whether in quotes), translation) of the messages; the most explicit ones first."""
    found = []
    for english, other in catalogue(locale).items():
        pieces = PLACE.split(english)  # text, place, text, place ... text
        names = pieces[1::2]
        if names and set(PLACE.findall(other)) <= set(names):  # else English is better than a hole
            kinds = [AFTER if i > 1 and not pieces[i - 1] else "(.*?)" for i in range(1, len(pieces), 2)] + [""]
            source = "".join(re.escape(piece) + kind for piece, kind in zip(pieces[::2], kinds, strict=True))
            source = f"(?!{NAMED})" * (not pieces[0]) + source
            places = [(name, piece.endswith(QUOTES)) for name, piece in zip(names, pieces[::2])]
            found.append((sum(map(len, pieces[::2])), re.compile(source, re.DOTALL), places, other))
    return [rest for _length, *rest in sorted(found, key=lambda one: -one[0])]
