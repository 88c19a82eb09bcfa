"""The guides for contributors say what the tree shows and what runs."""

import ast
import re
import tomllib
from collections.abc import Sequence

from langchain_core.retrievers import BaseRetriever

import langchain_sentence_window
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.documents.keys import WINDOW_KEYS
from langchain_sentence_window.loaders.file_loader import SUFFIXES
from tests.house.tree import NAME, ROOT, modules

STORE = (ROOT / "docs" / "store.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
QUESTIONS = 15


def section(page: str, heading: str) -> str:
    """The text below a heading, down to the next of its level."""
    found = page.partition(f"\n{heading}")[2]
    assert found, heading
    return re.split(r"\n## ", found)[0]


def rows(text: str) -> list[list[str]]:
    """The rows of the first table of a text, without its head."""
    lines = re.findall(r"^\|(.*)\|$", text, re.M)
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


def defined(path: str) -> set[str]:
    """The names of a module's functions, classes and methods."""
    tree = ast.parse((ROOT / NAME / path).read_text(encoding="utf-8"))
    names: set[str] = set()
    todo: list[tuple[str, Sequence[ast.stmt]]] = [("", tree.body)]
    while todo:
        prefix, body = todo.pop()
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(f"{prefix}{node.name}")
                todo.append((f"{prefix}{node.name}.", node.body))
    return names


def test_every_link_into_the_package_leads_to_a_file_that_defines_what_is_named_next_to_it() -> None:
    for page in (ARCHITECTURE, STORE):
        for label, target in re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", page):
            assert target == f"../{NAME}/{label}"
            assert (ROOT / NAME / label).exists(), label
    named = re.findall(r"\| `([\w.]+)` \| \[`([^`]+)`|\[`([^`]+)`\]\([^)]+\) \| `([\w.]+)` \|", ARCHITECTURE)
    assert len(named) >= 20
    for name, path, other_path, other_name in named:
        assert (name or other_name) in defined(path or other_path), name or other_name


def test_where_do_i_change_has_one_answer_for_each_question() -> None:
    table = rows(section(ARCHITECTURE, "## Where do I change"))
    assert len(table) == QUESTIONS
    for question, answer in table:
        assert len(re.findall(r"\[`[\w/.]+\.\w+`\]", answer)) == 1, question


def test_the_layers_of_the_page_are_those_of_the_contract_and_name_every_folder() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    wanted = [set(re.split(r" [|:] ", layer)) for layer in contract["layers"]]
    layers = [set(re.findall(r"`(\w+)`", row[0])) for row in rows(section(ARCHITECTURE, "## Layers"))]
    assert layers == wanted
    folders = {each.path.partition("/")[0] for each in modules().values() if each.folder}
    assert folders <= set.union(*wanted)


def test_the_registries_say_what_there_is() -> None:
    changes = dict(rows(section(ARCHITECTURE, "## Where do I change")))
    for question, names in {
        "a field of a window": WINDOW_KEYS,
        "a setting": SentenceWindowRetriever.model_fields.keys() - BaseRetriever.model_fields.keys(),
        "a column of the database": {"documents", "sentences", "vectors"},
        "an MCP tool": {"search", "read_around", "fetch", "verify_quote"},
        "a panel of the page": {"ask", "evaluate", "documents"},
        "a file type": SUFFIXES.keys(),
    }.items():
        (file,) = re.findall(r"\[`([^`]+)`\]", changes[question])
        text = (ROOT / NAME / file).read_text(encoding="utf-8")
        assert [name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)] == [], question


def test_no_public_name_is_a_word_that_the_glossary_advises_against() -> None:
    table = rows(section(CONTRIBUTING, "## Words"))
    assert len(table) >= 18
    advised = {word for row in table for word in re.findall(r"`(\w+)`", row[2])}
    public = [*langchain_sentence_window.__all__, *(each.stem for each in modules().values())]
    parts = {each: set(re.findall(r"[A-Z]?[a-z]+", each.replace("_", " "))) for each in public}
    assert [name for name, words in parts.items() if advised & {word.lower() for word in words}] == []
