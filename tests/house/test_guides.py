"""The guides for contributors say what the tree shows and what runs."""

import ast
import re
import tomllib
from collections.abc import Sequence

import pytest
from langchain_core.retrievers import BaseRetriever

import langchain_sentence_window
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.documents.keys import WINDOW_KEYS
from langchain_sentence_window.loaders.file_loader import SUFFIXES
from tests.house.tree import NAME, ROOT, modules
from tests.house.walks import measured_walks

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
QUESTIONS = 16
STEPS = {"## A document": "add_documents", "## A question": "invoke"}
"""Sections of the architecture page, and the walks that they follow."""


def section(page: str, heading: str) -> str:
    """The text below a heading, down to the next of its level."""
    found = page.partition(f"\n{heading}")[2]
    assert found, heading
    return re.split(r"\n## ", found)[0]


def rows(text: str) -> list[list[str]]:
    """The rows of the first table of a text, without its head."""
    lines = re.findall(r"^\|(.*)\|$", text, re.M)
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


def steps(heading: str) -> list[str]:
    """The functions that a section names, as ``path.py:name``."""
    named = []
    for *_, file, functions in rows(section(ARCHITECTURE, heading)):
        path = re.findall(r"\[`([^`]+)`\]", file)[0]
        named += [f"{path}:{each}" for each in re.findall(r"`([\w.]+)`", functions)]
    return named


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


@pytest.mark.parametrize(("heading", "walk"), STEPS.items())
def test_the_steps_of_the_architecture_page_run_in_its_order(heading: str, walk: str) -> None:
    named, run = steps(heading), measured_walks()[walk]
    assert len(named) >= 8
    assert [each for each in named if each not in run] == [], f"not run by {walk}"
    assert named == sorted(named, key=run.index)


def test_every_link_into_the_package_leads_to_a_file_that_defines_what_is_named_beside_it() -> None:
    for label, target in re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", ARCHITECTURE):
        assert target == f"../{NAME}/{label}"
        assert (ROOT / NAME / label).exists(), label
    for each in steps("## An answer"):
        path, _, function = each.partition(":")
        assert function in defined(path), each


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
