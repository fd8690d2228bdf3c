"""The figures of the code count what they say."""

import ast

import figures
from figures import cycles, functions, import_graph


def test_a_function_is_counted_without_decorators_and_docstring():
    text = '@decorated\ndef f(a):\n    """One\n\n    two."""\n    def g():\n        pass\n    return g\n'
    assert sorted(functions(ast.parse(text))) == [("f", 4), ("g", 2)]


def test_imports_lead_to_modules_and_packages_wherever_they_stand():
    sources = {
        ("core",): "",
        ("core", "a"): "from .sub import f\nimport numpy",
        ("core", "sub"): "from . import deep",
        ("core", "sub", "deep"): "def f():\n    from ..b import g",
        ("core", "b"): "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import T",
    }
    graph = import_graph({name: ast.parse(text) for name, text in sources.items()})
    assert graph == {
        ("core",): set(),
        ("core", "a"): {("core", "sub")},
        ("core", "sub"): {("core", "sub", "deep")},
        ("core", "sub", "deep"): {("core", "b")},
        ("core", "b"): {("core", "a")},
    }
    assert cycles(graph) == [[("core", "a"), ("core", "b"), ("core", "sub"), ("core", "sub", "deep")]]


def test_a_tree_without_circles_has_none():
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert cycles({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c", "a"}}) == [["a", "b"], ["c", "d"]]


def test_only_strict_turns_a_bound_into_a_failure(monkeypatch, capsys):
    found = [figures.Figure("modules", 166, 165), figures.Figure("import cycles", 0, 0)]
    monkeypatch.setattr(figures, "figures", lambda _root: found)
    assert figures.main(strict=False) == 0 and figures.main(strict=True) == 1
    assert [line.rstrip().endswith("over") for line in capsys.readouterr().out.splitlines()[1:3]] == [True, False]
    found.pop(0)
    assert figures.main(strict=True) == 0
