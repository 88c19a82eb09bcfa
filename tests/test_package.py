"""The package: its exports, the cost of importing it, its exceptions and its changelog."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import langchain_sentence_window
from langchain_sentence_window import errors

ROOT = Path(__file__).parent.parent
HEAVY = (
    *("faiss", "tantivy", "torch", "transformers", "sentence_transformers", "langchain_openai"),
    *("langchain_community", "matplotlib", "mcp", "starlette", "uvicorn"),
)


def test_exports_exist() -> None:
    names = langchain_sentence_window.__all__
    for name in names:
        assert getattr(langchain_sentence_window, name).__name__ == name
    assert set(names) < set(dir(langchain_sentence_window))
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


def test_the_drawn_tree_of_exceptions_is_complete() -> None:
    drawn = re.findall(r"^ {4}[│├└─ ]*(\w+(?:Error|Warning))", errors.__doc__ or "", re.M)
    defined = [name for name, thing in vars(errors).items() if isinstance(thing, type)]
    assert sorted(drawn) == sorted(name for name in defined if issubclass(getattr(errors, name), Exception))
    assert errors.__all__ == sorted(errors.__all__)
    assert set(errors.__all__) == set(drawn)
    for name in drawn:
        base = errors.SentenceWindowWarning if name.endswith("Warning") else errors.SentenceWindowError
        assert issubclass(getattr(errors, name), base)
    assert issubclass(errors.SentenceWindowWarning, UserWarning)


def test_the_error_for_a_missing_extra_contains_the_command_that_installs_it() -> None:
    error = errors.MissingExtraError("no-such-package", "local")
    assert str(error).startswith("no-such-package is not installed, or can't be imported; install it with: ")
    assert str(errors.MissingExtraError("no-such-package>=2", "local")).startswith(
        "no-such-package>=2 is not installed"
    )
    assert 'pip install "langchain-sentence-window[local]"' in str(error)
    assert isinstance(error, ImportError)


def test_the_changelog_has_a_section_for_this_version() -> None:
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
