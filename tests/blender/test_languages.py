"""Messages in other languages: what they name is kept, and a damaged catalogue leaves English."""

import json
import textwrap
from types import SimpleNamespace

import bpy
import pytest

from active_ragdoll.core.blender import languages
from active_ragdoll.panels import base

CATALOGUE = {
    "Bone '{0}' of '{1}' has no body": "「{1}」「{0}」、",
    "{0} bodies, {1} joints": "{1}:{0}",
    "Head": "頭",
    "'{0}': {1}; it is left out": "{1}!'{0}'",
    "{0}: it has no bone": "{0}?",
    "Attachment {0}": "A{0}",
    "Frame {0} is gone": "{2}",
    "Nothing is baked": "",
    "{0} and {1}{2} overlap": "{0}-{1}{2}!",
    " and {0} more pairs": "+{0}",
}
SAID = [
    ("Head", "頭"),
    ("Bone 'Head' of 'A. B' has no body", "「A. B」「Head」、"),
    ("'Hero': 12 bodies, 11 joints", "'Hero': 11:12"),
    ("'Hero': Attachment 2: it has no bone; it is left out", "A2?!'Hero'"),
    ("'Hero': Attachment 2: it has no bone", "'Hero': A2?"),
    ("Frame 3 is gone", "Frame 3 is gone"),
    ("Nothing is baked", "Nothing is baked"),
    ("what nobody translated; Head", "what nobody translated; 頭"),
    ("a and b.L and 3 more pairs overlap", "a-b.L+3!"),
    ("a and b.L overlap", "a-b.L!"),
    ("", ""),
]


@pytest.fixture
def folder(tmp_path):
    """A folder of catalogues of the test's own; `again` reads it anew."""

    def again():
        for cached in (languages.catalogue, languages._patterns, languages.in_language):
            cached.cache_clear()
        bpy.app.translations.unregister(languages.__name__)
        languages.add(SimpleNamespace(callback=lambda *_undo: None))

    (tmp_path / "ja_JP.json").write_text(json.dumps(CATALOGUE), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(languages, "FOLDER", tmp_path)
        again()
        yield SimpleNamespace(path=tmp_path / "ja_JP.json", again=again)
    again()


@pytest.mark.parametrize(("english", "other"), SAID)
def test_what_a_message_names_is_kept(folder, english, other):
    assert languages.in_language(english, "ja_JP") == other


@pytest.mark.parametrize("damage", [b"[1]", b"{", b"\xff", None])
def test_a_damaged_catalogue_leaves_english(folder, damage):
    folder.path.write_bytes(damage) if damage else folder.path.unlink()
    folder.again()
    assert languages.in_language("Bone 'Head' of 'A' has no body", "ja_JP") == "Bone 'Head' of 'A' has no body"


@pytest.mark.parametrize("letters", [16, 25, 40])
def test_paragraphs_are_wrapped_in_every_language(letters):
    english = "Joints of 'Hero' give way: raise the substeps, or lower the mass of what hangs on them"
    assert base.wrapped(english, letters) == textwrap.wrap(english, letters)
    other = "每帧 10 子步即每秒 240 步。从 480 起限制才能保持。ボディが制限を超えています"
    lines = base.wrapped(other, letters)
    assert "".join(lines).replace(" ", "") == other.replace(" ", "")
    widths = [sum(1 + (letter > "\u2e80") for letter in line) for line in lines]
    assert max(widths) <= letters and min(widths[:-1]) >= letters - 4
    assert len(base.wrapped(english, letters, 2)) == 2 and base.wrapped(english, letters, 2)[-1].endswith("\u2026")


def test_blender_speaks_them(fresh_scene):
    view, locales = bpy.context.preferences.view, {"zh_HANS": "建立", "ja_JP": "作成"}
    if not set(locales) <= set(bpy.app.translations.locales):
        pytest.skip(f"this Blender has only the languages {bpy.app.translations.locales}")
    before = view.language
    try:
        for locale, build in locales.items():
            view.language = locale
            view.use_translate_interface = True
            assert bpy.app.translations.pgettext_iface("Build", languages.CONTEXT) == build
            assert languages.translated("'Hero': 12 bodies, 11 joints").startswith("'Hero': ")
            assert "bodies" not in languages.translated("'Hero': 12 bodies, 11 joints")
    finally:
        view.language = before


def test_words_are_not_taken_for_blenders_own_of_another_meaning(extension):
    """Its "Tone" is a colour's and its "Profile" an outline, so names have a context; "Name" is the same to both."""
    classes = extension.registration._classes
    assert {cls.bl_translation_context for cls in classes if getattr(cls, "bl_label", "")} == {languages.CONTEXT}
    owned = [{name for base in cls.__mro__ for name in getattr(base, "__annotations__", ())} for cls in classes]
    own = [prop for cls, some in zip(classes, owned) for prop in cls.bl_rna.properties if prop.identifier in some]
    others = {prop.identifier for prop in own if prop.translation_context != languages.CONTEXT}
    assert len(own) > 300 and others == {"name"}
