"""The package stays small enough to read, and its imports point one way."""

import sys
import tomllib
from collections import defaultdict

from tests.house.tokens import report, tokens_by_folder
from tests.house.tree import NAME, ROOT, Module, circles, imports, modules

BUDGET = 385_000
"""The most tokens of code in the package. A commit that raises it says for which feature."""


def test_the_package_keeps_to_its_budget_of_tokens() -> None:
    assert tokens_by_folder().total() <= BUDGET, f"more than {BUDGET:,} tokens; delete some:\n{report()}"


def test_no_modules_and_no_folders_import_each_other() -> None:
    folders: dict[str, frozenset[str]] = defaultdict(frozenset)
    for name, used in imports().items():
        if own := modules()[name].folder:
            others = {modules()[each].folder for each in used} - {own, ""}
            folders[own] |= {each for each in others if not each.startswith(f"{own}/")}
    assert circles(imports()) == []
    assert circles(folders) == []


def test_the_import_contracts_leave_nothing_out() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    left_out = ("ignore_imports", "exhaustive_ignores", "skip_descendants")
    contracts = project["tool"]["importlinter"]["contracts"]
    assert [each for contract in contracts for key in left_out for each in contract.get(key, [])] == []


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


def test_circles_are_found_however_long_and_branches_are_none() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"e"}}
    assert circles({name: frozenset(used) for name, used in graph.items()}) == [["a", "b", "c"]]
