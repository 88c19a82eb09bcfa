"""The documentation names what there is: commands, links, extras, public names, files and folders."""

import re
import tomllib
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import langchain_sentence_window
from docs.public_api import MODULES
from langchain_sentence_window import CrossEncoderReranker, LateInteractionReranker, SentenceWindowRetriever, errors
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.ranking.signals import SIGNALS
from tests.pages import DOCS, PAGES, ROOT, RUNNABLE, blocks_of, page_name, read

GUIDES = [path for path in PAGES if "reference" not in path.parts]
"""Pages that people write; the reference is made of docstrings."""

README_LINES = 150
PROJECTS: list[dict[str, Any]] = [tomllib.loads(read(ROOT / name)) for name in ("pyproject.toml", "app/pyproject.toml")]


def test_every_block_of_code_says_its_language_and_every_python_block_is_found() -> None:
    for path in PAGES:
        page = read(path)
        found = blocks_of(page)
        shown = [block.shown for block in found if block.shown]
        assert len(re.findall(r"^ *```", page, re.M)) == 2 * (len(found) + len(shown)), path
        assert {block.language for block in found} <= {"python", "sh", "text", "toml"}, path
    assert len(RUNNABLE) >= 10


def test_every_shell_command_names_something_that_exists() -> None:
    targets = re.findall(r"^\.PHONY: (.*)$", read(ROOT / "Makefile"), re.M)[0].split()
    text = "\n".join(code_of(read(path)) for path in PAGES)
    for target in re.findall(r"^make ([a-z-]+)", text, re.M):
        assert target in targets
    for module in re.findall(r"python -m ((?:docs|tests|benchmarks)(?:\.[a-z_]+)+)\b", text):
        assert find_spec(module), module
    for program in re.findall(r"python (examples/\w+\.py|docs/\w+\.py)", text):
        assert (ROOT / program).is_file(), program
    for project in PROJECTS:
        name, extras = project["project"]["name"], project["project"]["optional-dependencies"]
        for named in re.findall(rf"(?<![\w-]){name}\[([\w,]+)\]", text):
            assert set(named.split(",")) <= set(extras), named
        assert [each for each in extras if f"`{each}`" not in read(DOCS / "install.md")] == []


def test_every_name_of_the_package_and_every_setting_is_in_a_guide() -> None:
    code = "\n".join(code_of(read(path)) for path in GUIDES if path.name != "README.md")
    inherited = {"name", "tags", "metadata", "callbacks"}
    models = (SentenceWindowRetriever, CrossEncoderReranker, LateInteractionReranker)
    settings = {name for model in models for name in model.model_fields} - inherited
    words = set(re.findall(r"\w+", code))
    assert {*langchain_sentence_window.__all__, *settings} - words == set()


def test_the_reference_has_every_public_module_and_root_name() -> None:
    text = "\n".join(read(path) for path in sorted((DOCS / "reference").glob("*.md")))
    listed = set(re.findall(r"^::: (\S+)$", text, re.M))
    modules = {f"{package}.{module}" for package, modules in MODULES.items() for module in modules if module}
    root = import_module("langchain_sentence_window").__all__
    assert listed == modules | {f"langchain_sentence_window.{name}" for name in root}


def test_every_page_is_in_the_navigation_and_links_lead_somewhere() -> None:
    navigation = read(ROOT / "mkdocs.yml").partition("\nnav:\n")[2]
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert set(re.findall(r": (\S+\.md)$", navigation, re.M)) == pages
    for path in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", read(path)):
            if not target.startswith("https://"):
                assert (path.parent / target).exists(), f"{page_name(path)}: {target}"


def test_the_contributing_guide_names_every_make_target_and_existing_folders() -> None:
    guide = read(ROOT / "CONTRIBUTING.md")
    targets = re.findall(r"^\.PHONY: (.*)$", read(ROOT / "Makefile"), re.M)[0].split()
    assert set(re.findall(r"^\| `make ([\w-]+)` \|", guide, re.M)) == set(targets)
    for named in re.findall(r"`((?:tests|app|docs|langchain_sentence_window)/[a-z_/.]*)`", guide):
        assert (ROOT / named).exists(), named


def test_the_architecture_names_every_folder() -> None:
    page = read(DOCS / "architecture.md")
    for package in ("langchain_sentence_window", "app/sentence_window"):
        folders = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
        assert [name for name in folders if f"`{name}`" not in page and f"`{name}/`" not in page] == []


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


def test_the_readme_stays_short() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= README_LINES


def code_of(page: str) -> str:
    """All code of a page, in blocks and between backticks."""
    return "\n".join([*re.findall(r"`([^`\n]+)`", page), *(block.code for block in blocks_of(page))])
