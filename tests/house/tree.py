"""The package as a tree of modules, and who imports whom."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import resolve_name
from pathlib import Path

NAME = "langchain_sentence_window"
ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / NAME


@dataclass(frozen=True)
class Module:
    """A module of the package.

    Attributes:
        path: Its path in the package, such as ``store/faiss_store.py``.
        source: Its text.
    """

    path: str
    source: str

    @property
    def stem(self) -> str:
        return Path(self.path).stem

    @property
    def folder(self) -> str:
        """The path of its folder; empty for the package's own."""
        return self.path.rpartition("/")[0]

    @property
    def package(self) -> str:
        """The dotted name of its folder, from which its relative imports start."""
        return f"{NAME}/{self.folder}".rstrip("/").replace("/", ".")

    @property
    def is_face(self) -> bool:
        """Whether it only stands for others: the package itself, or what runs it."""
        return self.stem in ("__init__", "__main__")

    @property
    def name(self) -> str:
        """Its dotted name, without the package's."""
        return self.path.removesuffix(".py").removesuffix("__init__").rstrip("/").replace("/", ".")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def imported(self) -> Sequence[tuple[str, str]]:
        """The absolute module and the name of each import, those in functions and for types too."""
        return list(_imported(self))


def _imported(module: Module) -> Iterator[tuple[str, str]]:
    todo: list[ast.AST] = [module.tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), module.package)
            yield from ((source, each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)
        else:
            todo += [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt | ast.ExceptHandler)]


@cache
def modules() -> Mapping[str, Module]:
    """All modules of the package by their dotted names."""
    paths = sorted(PACKAGE.rglob("*.py"))
    found = [Module(path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    return {each.name: each for each in found}


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """The modules of the package that each of them imports."""
    return {name: _used(each, each.imported) for name, each in modules().items()}


def _used(module: Module, imported: Sequence[tuple[str, str]]) -> frozenset[str]:
    inside = [(each, name) for each, name in imported if f"{each}.".startswith(f"{NAME}.")]
    return frozenset(_target(each.removeprefix(NAME).lstrip("."), name) for each, name in inside) - {module.name}


def _target(module: str, name: str) -> str:
    inner = f"{module}.{name}".lstrip(".")
    return inner if inner in modules() else module


def circles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Return the groups of nodes of which each reaches each other, sorted; nodes alone aren't among them."""
    found = {node: reached(graph, node) for node in graph}
    groups = {frozenset(each for each in found[node] if node in found[each]) for node in graph}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def reached(graph: Mapping[str, frozenset[str]], start: str) -> set[str]:
    """Return the nodes that one leads to, by any number of steps."""
    seen, todo = set[str](), [start]
    while todo:
        new = graph.get(todo.pop(), frozenset()) - seen
        seen |= new
        todo += new
    return seen
