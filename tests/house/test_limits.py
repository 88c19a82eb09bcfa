"""The package keeps to its limits: it grows nowhere unseen, and what was gained stays gained."""

import sys

from tests.house.figures import MEDIAN, measure, measured_walks, median_lines, read_limits
from tests.house.shape import absolute_imports, faults
from tests.house.tree import NAME, Module, circles, modules

LOWER = ".venv/bin/python -m tests.house.figures --lower"
SLACK = 0.02
"""The share by which a figure may stand below its limit."""


def test_figures_keep_to_their_limits_and_limits_to_the_figures() -> None:
    walks = measured_walks()
    found, limits = faults(), read_limits()
    figures = measure(walks, found)
    assert list(figures) == list(limits)
    above = [
        "\n  ".join([f"{name}: {value:,}; the limit is {limits[name]:,}", *found.get(name, [])])
        for name, value in figures.items()
        if value > limits[name]
    ]
    assert not above, "\n".join(["make it smaller, or say in the commit why a limit must rise:", *above])
    below = [
        f"{name}: {value:,}; the limit is {limits[name]:,}"
        for name, value in figures.items()
        if value < limits[name] - max(2, SLACK * limits[name])
    ]
    assert not below, "\n".join([f"run {LOWER}, so that it stays as small:", *below])
    assert median_lines() in MEDIAN
    named = {function.partition(":")[0] for each in walks.values() for function in each.functions}
    assert named <= {each.path for each in modules().values()}


def test_every_module_begins_with_a_docstring_and_no_check_loads_a_model() -> None:
    assert [each.path for each in modules().values() if not each.source.startswith(('"""', 'r"""'))] == []
    assert "torch" not in sys.modules


def test_relative_imports_are_read_as_absolute_ones() -> None:
    code = "from . import b\nfrom .b import C\nfrom langchain_sentence_window.x.b import C\nfrom .. import y"
    b, c, y = ("langchain_sentence_window.x", "b"), ("langchain_sentence_window.x.b", "C"), (NAME, "y")
    for path in ("x/a.py", "x/__init__.py"):
        assert sorted(Module(path, code).imported) == sorted([b, c, c, y])
    for path in ("a.py", "__init__.py"):
        assert Module(path, "from ._io import IO").imported == [("langchain_sentence_window._io", "IO")]


def test_absolute_imports_in_a_folder_are_found_wherever_they_stand() -> None:
    b, x = "langchain_sentence_window.x.b", "langchain_sentence_window.x"
    code = f"def f():\n    from {b} import C\nimport {b} as d\nfrom {x} import b\nfrom {x}y import z\nfrom .b import C"
    for path in ("x/a.py", "x/__init__.py"):
        found = [f"{path}:2 imports {b}", f"{path}:3 imports {b}", f"{path}:4 imports {x}"]
        assert sorted(absolute_imports(Module(path, code))) == found
    assert absolute_imports(Module("y/a.py", code)) == []
    assert len(absolute_imports(Module("a.py", code))) == 4


def test_circles_are_found_however_long_and_branches_are_none() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"e"}}
    assert circles({name: frozenset(used) for name, used in graph.items()}) == [["a", "b", "c"]]
