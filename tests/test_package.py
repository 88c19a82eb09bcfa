"""The package as such: what it exports, what importing it costs, what its papers say."""

import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import langchain_sentence_window
from langchain_sentence_window import errors, evaluation
from tests.house.tree import NAME, modules

ROOT = Path(__file__).parent.parent
HEAVY = (
    *("nltk", "faiss", "tantivy", "torch", "transformers", "sentence_transformers", "langchain_openai"),
    *("langchain_community", "matplotlib", "mcp", "starlette", "uvicorn"),
)


def test_all_is_sorted_and_every_name_of_it_is_there() -> None:
    names = langchain_sentence_window.__all__
    assert names == sorted(names)
    for name in names:
        assert getattr(langchain_sentence_window, name).__name__ == name
    assert set(names) < set(dir(langchain_sentence_window))
    assert evaluation.__all__ == sorted(evaluation.__all__)
    for name in evaluation.__all__:
        assert getattr(evaluation, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        langchain_sentence_window.Nothing  # noqa: B018


@pytest.mark.process
def test_importing_is_silent_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from langchain_sentence_window import *; from langchain_sentence_window import evaluation;"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.process
def test_asking_an_index_loads_nothing_that_only_writing_or_explaining_needs() -> None:
    package = "langchain_sentence_window"
    parts = (
        "retrieval.tracing.explanation",
        "retrieval.tracing.trace",
        "retrieval.ingest",
        "splitting.sentences",
        "documents.part_groups",
        "retrieval.document_index",
    )
    assert all(find_spec(f"{package}.{name}") for name in parts)
    code = (
        f"import sys, {package} as m; from langchain_core.embeddings import DeterministicFakeEmbedding as E\n"
        f"m.SentenceWindowRetriever(vectorstore=m.FaissStore(E(size=4))).invoke('What?')\n"
        f"print([name for name in {parts} if f'{package}.{{name}}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_module_imports_from_the_package_root() -> None:
    for module in modules().values():
        assert not [name for source, name in module.imported if source == NAME and name], module.path


def test_the_tree_of_exceptions_is_the_one_that_is_drawn() -> None:
    drawn = re.findall(r"^ {4}[│├└─ ]*(\w+(?:Error|Warning))", errors.__doc__ or "", re.M)
    defined = [name for name, thing in vars(errors).items() if isinstance(thing, type)]
    assert sorted(drawn) == sorted(name for name in defined if issubclass(getattr(errors, name), Exception))
    assert errors.__all__ == sorted(errors.__all__)
    assert set(errors.__all__) == set(drawn)
    for name in drawn:
        base = errors.SentenceWindowWarning if name.endswith("Warning") else errors.SentenceWindowError
        assert issubclass(getattr(errors, name), base)
    assert issubclass(errors.SentenceWindowWarning, UserWarning)


def test_a_missing_extra_says_how_to_install_it() -> None:
    error = errors.MissingExtraError("no-such-package", "local")
    assert str(error).startswith("no-such-package is not installed, or can't be imported; install it with: ")
    assert str(errors.MissingExtraError("no-such-package>=2", "local")).startswith(
        "no-such-package>=2 is not installed"
    )
    assert 'pip install "langchain-sentence-window[local]"' in str(error)
    assert isinstance(error, ImportError)


def test_the_changelog_tells_of_this_version_in_the_usual_form() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+(?:rc\d+)?)\] - \d{4}-\d\d-\d\d$", changelog, re.M)
    assert versions[0] == langchain_sentence_window.__version__
    assert "Keep a Changelog" in changelog


def test_the_doctests_hold() -> None:
    import doctest

    for name in ("documents.splitter",):
        result = doctest.testmod(import_module(f"langchain_sentence_window.{name}"))
        assert result.attempted
        assert not result.failed
