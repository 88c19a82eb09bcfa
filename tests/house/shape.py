"""Rules of the package's shape: names of files, circles, modules that belong into their only importer.

Each function lists what breaks a rule. How much of it is allowed stands in ``limits.json``.
"""

import ast
import re
import tomllib
from collections import defaultdict

from tests.house.tree import NAME, ROOT, Module, circles, importers, imports, imports_on_use, modules, reached

BANNED = frozenset({"asking", "looking", "keeping", "making", "told", "shown", "heard", "fate", "beside", "wanted"})
"""Words of file names that say nothing, or that the field doesn't know."""

FRAMEWORKS = ("langchain", "langchain_core", "faiss", "sqlite3", "tantivy", "torch", "transformers", "pydantic")
"""Packages that a pure module doesn't import."""

TABLES = frozenset({"adapters.registry"})
"""Modules that list implementations, one file each."""

MAX_LINES_TOGETHER = 480
"""A module stays apart from its only importer if both together would have more lines."""


def faults() -> dict[str, list[str]]:
    """Return what breaks each rule, by the rule's name."""
    return {
        "file names twice": repeated_names(),
        "file names of banned words": banned_names(),
        "circles of modules": [" <-> ".join(each) for each in circles(imports())],
        "circles of folders": [" <-> ".join(each) for each in circles(folder_imports())],
        "absolute imports in a folder": [line for each in modules().values() for line in absolute_imports(each)],
        "exceptions to the contracts": exceptions(),
        "modules with one importer": lone_modules(),
    }


def repeated_names() -> list[str]:
    """List the paths of modules that share a file name."""
    named = defaultdict(list)
    for each in modules().values():
        if not each.is_face:
            named[each.stem].append(each.path)
    return [" = ".join(paths) for paths in named.values() if len(paths) > 1]


def banned_names() -> list[str]:
    """List the paths of modules that are named by a banned word."""
    return [each.path for each in modules().values() if BANNED & set(each.stem.split("_"))]


def folder_imports() -> dict[str, frozenset[str]]:
    """Return the folders that each folder imports from; one imports from its inner folders as a face does."""
    graph: dict[str, frozenset[str]] = defaultdict(frozenset)
    for name, used in imports().items():
        own = modules()[name].folder
        if own:
            others = {modules()[each].folder for each in used} - {own, ""}
            graph[own] |= {each for each in others if not each.startswith(f"{own}/")}
    return graph


def absolute_imports(module: Module) -> list[str]:
    """List the lines of a module that import something of its own folder, or below it, by its whole name."""
    found = []
    for node in ast.walk(module.tree):
        match node:
            case ast.ImportFrom(module=str(name), level=0) | ast.Import(names=[ast.alias(name=name)]):
                if f"{name}.".startswith(f"{module.package}."):
                    found.append(f"{module.path}:{node.lineno} imports {name}")
    return found


def exceptions() -> list[str]:
    """List what the contracts of import-linter leave out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    left_out = ("ignore_imports", "exhaustive_ignores", "skip_descendants")
    return [each for contract in contracts for key in left_out for each in contract.get(key, [])]


def lone_modules() -> list[str]:
    """List modules with one importer, in which they should stand.

    A module may stay apart if it has a public path, if it is imported on use, if it is pure and its importer isn't, or
    if both together are too long.
    """
    public, found = public_modules() | imports_on_use(), []
    for name, module in modules().items():
        users = [modules()[each] for each in importers()[name] if not modules()[each].is_face]
        if module.is_face or name in public or len(users) != 1 or users[0].name in TABLES:
            continue
        (user,) = users
        if user.lines + module.lines <= MAX_LINES_TOGETHER and (is_pure(user) or not is_pure(module)):
            found.append(f"{module.path} ({module.lines} lines) -> {user.path} ({user.lines})")
    return found


def public_modules() -> set[str]:
    """Return the modules that a folder's face, a page or an example names."""
    named = {used for name, each in modules().items() if each.is_face for used in imports()[name]}
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.py"), ROOT / "pyproject.toml"]
    for path in texts:
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(rf"\b{NAME}\.([a-z_.]+[a-z_])", text))
    return named


def is_pure(module: Module) -> bool:
    """Return whether neither a module nor what it imports of the package knows a framework, a store or a model."""
    needed = reached(imports(), module.name) | {module.name}
    return not any(each.partition(".")[0] in FRAMEWORKS for name in needed for each in modules()[name].libraries)
