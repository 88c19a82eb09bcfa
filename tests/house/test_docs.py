"""The documentation as a contract: every public name and setting is told of, and every command exists."""

import inspect
import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import langchain_sentence_window
from docs.public_api import MODULES, SINGLE
from langchain_sentence_window import (
    BM25Index,
    CrossEncoderReranker,
    FaissStore,
    LateInteractionReranker,
    NeighborMixedEmbeddings,
    Ranking,
    SentenceSplitter,
    SentenceTransformerCrossEncoder,
    SentenceWindowRetriever,
    create_mcp_server,
    create_rag_chain,
    create_tools,
    errors,
    evaluation,
    folders,
    serve_mcp,
    studio,
)
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.ranking.signals import SIGNALS
from tests.pages import DOCS, PAGES, ROOT, RUNNABLE, blocks_of, page_name, read

GUIDES = [path for path in PAGES if "reference" not in path.parts]
"""Pages that people write; the reference is made of docstrings."""

README_LINES = 150


def test_every_block_of_code_says_its_language_and_every_python_block_is_found() -> None:
    for path in PAGES:
        page = read(path)
        found = blocks_of(page)
        shown = [block.shown for block in found if block.shown]
        assert len(re.findall(r"^ *```", page, re.M)) == 2 * (len(found) + len(shown)), path
        assert {block.language for block in found} <= {"python", "sh", "text"}, path
    assert len(RUNNABLE) >= 10


def test_every_shell_command_names_something_that_exists() -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))
    targets = re.findall(r"^\.PHONY: (.*)$", read(ROOT / "Makefile"), re.M)[0].split()
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    text = "\n".join(code_of(read(path)) for path in PAGES)
    for target in re.findall(r"^make ([a-z-]+)", text, re.M):
        assert target in targets
    for module in re.findall(r"python -m ((?:docs|tests|benchmarks)(?:\.[a-z_]+)+)\b", text):
        assert find_spec(module), module
    for program in re.findall(r"python (examples/\w+\.py|docs/\w+\.py)", text):
        assert (ROOT / program).is_file(), program
    for named in re.findall(r"langchain-sentence-window\[([\w,]+)\]", text):
        assert set(named.split(",")) <= set(extras), named
    for group in re.findall(r"--group (\w+)", text):
        assert group in groups


PARAMETERS: dict[str, Callable[..., Any]] = {
    "FaissStore": FaissStore,
    "SentenceSplitter": SentenceSplitter,
    "NeighborMixedEmbeddings": NeighborMixedEmbeddings,
    "BM25Index": BM25Index,
    "SentenceTransformerCrossEncoder": SentenceTransformerCrossEncoder,
    "create_rag_chain": create_rag_chain,
    "create_tools": create_tools,
    "create_mcp_server": create_mcp_server,
    "serve_mcp": serve_mcp,
    "serve_studio": studio.serve_studio,
    "create_studio": studio.create_studio,
    "sync_files": folders.sync_files,
    "watch_files": folders.watch_files,
    "evaluate": evaluation.evaluate,
    "Ranking": Ranking,
    "SentenceWindowRetriever.from_documents": SentenceWindowRetriever.from_documents,
}
FIELDS: list[type[BaseModel]] = [SentenceWindowRetriever, CrossEncoderReranker, LateInteractionReranker]
INHERITED = {"name", "tags", "metadata", "callbacks"}


def settings() -> list[tuple[str, str]]:
    """All that users may set, each with what it belongs to."""
    given = [
        (owner, name)
        for owner, maker in PARAMETERS.items()
        for name, parameter in inspect.signature(maker).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    fields = [(owner.__name__, name) for owner in FIELDS for name in owner.model_fields if name not in INHERITED]
    return [*given, *fields]


def test_every_setting_is_told_of() -> None:
    code = "\n".join(code_of(read(path)) for path in GUIDES)
    assert [f"{setting} of {owner}" for owner, setting in settings() if not has_word(code, setting)] == []


PUBLIC = [
    f"{module}.{name}" if module else name
    for module in MODULES
    for name in import_module(f"langchain_sentence_window.{module}".rstrip(".")).__all__
]


def test_every_name_of_the_package_is_in_a_guide() -> None:
    code = "\n".join(code_of(read(path)) for path in GUIDES if path.name != "README.md")
    assert [name for name in langchain_sentence_window.__all__ if not has_word(code, name)] == []


def test_the_reference_documents_every_public_name_and_nothing_else() -> None:
    text = "\n".join(read(path) for path in sorted((DOCS / "reference").glob("*.md")))
    listed = re.findall(r"^::: langchain_sentence_window\.(\S+)$", text, re.M)
    assert sorted(listed) == sorted({*PUBLIC, *SINGLE})


def test_every_page_is_in_the_navigation_and_links_lead_somewhere() -> None:
    navigation = read(ROOT / "mkdocs.yml").partition("\nnav:\n")[2]
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert set(re.findall(r": (\S+\.md)$", navigation, re.M)) == pages
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", read(path)):
            if not target.startswith("https://"):
                assert (path.parent / target).exists(), f"{page_name(path)}: {target}"


def test_the_documentation_lists_every_extra() -> None:
    extras = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    page = read(DOCS / "install.md")
    assert [name for name in extras if f"`{name}`" not in page] == []


def test_the_documentation_lists_every_signal_with_its_meaning_and_default_weight() -> None:
    table = read(DOCS / "how-to" / "rank.md").partition("| signal | meaning | in deviations | default weight |")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (yes|) \| (\S*) \|$", table, re.M)
    assert rows == [
        (name, signal.meaning, "yes" if signal.is_standardized else "", f"{DEFAULT_RANKING.weights[name]}")
        for name, signal in SIGNALS.items()
    ]


def test_the_tree_of_errors_is_the_one_in_the_module() -> None:
    (tree,) = [block.code for block in blocks_of(read(DOCS / "reference" / "errors.md")) if block.language == "text"]
    assert re.findall(r"^[│├└─ ]*\w+", tree, re.M) == re.findall(r"^ {4}((?:[│├└─ ]*)\w+)", errors.__doc__ or "", re.M)


def test_a_site_that_needs_others_or_has_dead_ends_is_refused(tmp_path: Path) -> None:
    from docs.check_site import faults_of

    page = '<p id="here">Good <a href="#here">link</a>, <code>[a][b]</code></p><img src="dot.svg">'
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    (tmp_path / "dot.svg").write_text("<svg/>", encoding="utf-8")
    assert faults_of(tmp_path) == []
    script = '<script src="https://cdn.example/x.js"></script>'
    links = '<a href="no.html">a</a><a href="index.html#x">b</a>[<code>c</code>][d.e]'
    unclear = "<p>In the order::</p>\n<code>evaluate(*<span>given</span>: Any)</code>"
    (tmp_path / "bad.html").write_text(script + links + unclear, encoding="utf-8")
    assert len(faults_of(tmp_path)) == 6
    assert faults_of(tmp_path / "nothing") == [f"{tmp_path / 'nothing'} holds no pages"]


def test_a_reference_that_differs_from_the_public_interface_is_refused() -> None:
    from docs.check_site import Page, faults_of_reference

    page = Page("".join(f'<h2 id="langchain_sentence_window.{each}">' for each in ("Store", "Store.read", "read")))
    described = (
        "Store(path): Base\nread(path)\nmcp search(query)\nsentence-window ask -k, --k\nretriever.explain: Trace\n"
    )
    assert faults_of_reference([page], described) == ["the reference shows Store.read, which isn't public"]
    described += "Store.read: property\nwrite\n"
    assert faults_of_reference([page], described) == ["the reference lacks write, which is public"]


def test_the_readme_stays_short() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= README_LINES


def has_word(code: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code) is not None


def code_of(page: str) -> str:
    """All code of a page, in blocks and between backticks."""
    return "\n".join([*re.findall(r"`([^`\n]+)`", page), *(block.code for block in blocks_of(page))])
