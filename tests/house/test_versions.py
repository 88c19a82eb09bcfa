"""Versions, workflows and hooks agree with the projects and with each other."""

import re
import tomllib
from typing import Any

import yaml

import langchain_sentence_window
import sentence_window
from langchain_sentence_window.store.tables import FORMAT_VERSION
from tests.house.source import ROOT
from tests.wheels import RESOLUTIONS

LIBRARY: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
APPLICATION: dict[str, Any] = tomllib.loads((ROOT / "app/pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = langchain_sentence_window.__version__


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def workflow(name: str) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(text_of(f".github/workflows/{name}"))
    return loaded


def test_both_packages_have_one_version() -> None:
    assert sentence_window.__version__ == VERSION
    extras = [each for extra in APPLICATION["optional-dependencies"].values() for each in extra]
    of_library = [each for each in [*APPLICATION["dependencies"], *extras] if each.startswith(LIBRARY["name"])]
    assert of_library
    assert {each.partition("==")[2] for each in of_library} == {VERSION}


def test_the_changelog_the_citation_and_the_security_policy_name_this_version() -> None:
    citation = yaml.safe_load(text_of("CITATION.cff"))
    changelog = text_of("CHANGELOG.md")
    assert citation["version"] == VERSION
    first = re.search(r"^## \[.*", changelog, re.M)
    assert first is not None
    assert first[0] == f"## [{VERSION}] - {citation['date-released']}"
    assert re.findall(r"\bFormat (\d+) of the database", changelog) == [str(FORMAT_VERSION)]
    minor = ".".join(VERSION.split(".")[:2])
    assert re.search(rf"^\| {re.escape(minor)}\.x \| yes \|$", text_of("SECURITY.md"), re.M)


def test_continuous_integration_runs_every_check_on_every_python() -> None:
    jobs = workflow("ci.yml")["jobs"]
    promised = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(LIBRARY["classifiers"]))
    assert promised == re.findall(r"Python :: (3\.\d+)", "\n".join(APPLICATION["classifiers"]))
    assert jobs["linux"]["strategy"]["matrix"]["python"] == promised
    assert LIBRARY["requires-python"] == APPLICATION["requires-python"] == f">={promised[0]}"
    assert jobs["wheels"]["strategy"]["matrix"]["resolution"] == list(RESOLUTIONS)
    called = set(re.findall(r"run: make ([\w-]+)", text_of(".github/workflows/ci.yml")))
    assert called == {"check", "test-all", "docs", "test-stores", "test-ray", "test-browser"}
    assert called <= set(re.findall(r"[\w-]+", text_of(".ci/run")))


def test_workflows_may_only_read_and_publishing_needs_a_tag() -> None:
    for name in ("ci.yml", "release.yml"):
        assert workflow(name)["permissions"] == {"contents": "read"}
    assert "startsWith(github.ref, 'refs/tags/v')" in workflow("release.yml")["jobs"]["publish"]["if"]
    assert "secrets." not in text_of(".github/workflows/release.yml")


def test_the_hooks_run_what_make_check_runs() -> None:
    (hooks,) = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    run = [each["entry"] for each in hooks["hooks"]]
    recipe = re.findall(r"^check:.*\n((?:\t.*\n)+)", text_of("Makefile"), re.M)[0]
    for tool in ("ruff check", "ruff format", "mypy", "mypy --package sentence_window", "lint-imports", "pytest"):
        assert any(tool in line for line in run), tool
        assert tool in recipe, tool
