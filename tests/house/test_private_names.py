"""Tests use what is public; one that looks behind it says why."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "langchain_sentence_window"

FOREIGN = {"_exit", "_get_ls_params", "_repr_html_", "_run_exitfuncs"}
"""Names of Python, of notebooks and of LangChain."""

REASONS = {
    "tests/adapters/test_stores.py": "ids that are computed fast are those of uuid5",
    "tests/embedding/test_embedder.py": "which vectors are kept shows nowhere else",
    "tests/folders/test_syncing.py": "a reader is looked for once in a process, and must be missing in one test",
    "tests/folders/test_watching.py": "which events of the file system count, without waiting for them",
    "tests/loaders/files/test_loading.py": "a reader is looked for once in a process, and must be missing in one test",
    "tests/live_stores/": "the stores of others are reached as this package reaches them",
    "tests/ranking/test_bm25_index.py": "what tantivy holds shows that deleted texts are gone",
    "tests/retrieval/test_logs.py": "a score of any kind is logged without an error",
    "tests/retrieval/test_query.py": "the steps of a query are read one by one",
    "tests/store/test_backup.py": "the record of a write is written as a crash leaves it",
    "tests/store/test_words.py": "an index whose fields have other names is made as another version would",
    "tests/studio/test_library.py": "what is kept of an index that changed shows nowhere else",
    "tests/torture/": "a process is ended at a point within a call",
}
"""Tests that use private names of the package, files or folders, and why."""


def test_private_names_are_used_for_a_reason() -> None:
    defined = {name for path in (ROOT / PACKAGE).rglob("*.py") for name in names_defined(parsed(path))}
    used = {
        path.relative_to(ROOT).as_posix(): names
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (names := sorted(set(private_names_used(parsed(path))) & defined))
    }
    without = {name: names for name, names in used.items() if not name.startswith(tuple(REASONS))}
    assert without == {}, "test what is public, or give a reason in REASONS"
    assert [each for each in REASONS if not any(name.startswith(each) for name in used)] == [], "no longer needed"


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_private(name: str) -> bool:
    return re.match("_[^_]", name) is not None and name not in FOREIGN


def names_defined(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                yield name


def private_names_used(module: ast.Module) -> Iterator[str]:
    """Names imported from the package, and attributes of anything that the module doesn't define itself."""
    own = set(names_defined(module))
    for node in ast.walk(module):
        match node:
            case ast.ImportFrom(module=str(source), names=names, level=0) if source.startswith(PACKAGE):
                yield from (each.name for each in names if is_private(each.name))
            case ast.Attribute(attr=name) if is_private(name) and name not in own:
                yield name
