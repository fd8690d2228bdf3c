"""Everything that is said stands in every catalogue, with the same places for what is named, and nothing else."""

import ast
import json
import sys
from pathlib import Path

import bpy
import pytest

from active_ragdoll.core.blender import languages

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import words  # noqa: E402


@pytest.mark.parametrize("path", sorted((ROOT / "languages").glob("*.json")), ids=lambda path: path.stem)
def test_everything_that_is_said_is_translated(extension, path):
    """`python3.11 dev.py languages` puts what is new into the catalogues and takes out what is gone."""
    said, known = words.words(extension), json.loads(path.read_text(encoding="utf-8"))
    assert sorted(text for text in said if not known.get(text)) == [], "without a translation"
    assert sorted(set(known) - said) == [], "said no more"
    places = languages.PLACE.findall
    assert [english for english, other in known.items() if sorted(places(english)) != sorted(places(other))] == []


def _calls():
    for room in ("operators", "panels"):
        for path in sorted((ROOT / room).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    yield f"{path.name}:{node.lineno}", node


def test_what_is_put_together_is_told_in_the_users_language():
    """Blender itself translates whole texts only: a message with names in it goes through `translated`."""
    reported = [where for where, call in _calls() if ast.unparse(call.func) == "self.report"]
    assert len(reported) == 1 and reported[0].startswith("base.py"), "use `tell`"
    texts = [(where, keyword.value) for where, call in _calls() for keyword in call.keywords if keyword.arg == "text"]
    assert [where for where, text in texts if isinstance(text, ast.JoinedStr) and any(words._of(text))] == []


def test_every_operator_says_what_it_does(extension):
    for name in dir(bpy.ops.active_ragdoll):
        rna = getattr(bpy.ops.active_ragdoll, name).get_rna_type()
        assert rna.name and rna.description.strip() and "\n" not in rna.description, name
        assert not rna.description.endswith("."), name  # Blender puts it there
        cls = getattr(bpy.types, f"ACTIVE_RAGDOLL_OT_{name}")
        assert {"REGISTER"} <= set(cls.bl_options) or {"INTERNAL"} <= set(cls.bl_options), name
