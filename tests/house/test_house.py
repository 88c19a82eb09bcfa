"""Check that workflows, hooks, the citation and the guides beside the package agree with it and with each other."""

import ast
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import langchain_sentence_window
from langchain_sentence_window.documents.keys import CONTRACT_KEYS
from langchain_sentence_window.store.tables import FORMAT_VERSION
from tests.wheels import PROGRAMS, RESOLUTIONS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "langchain_sentence_window"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = ROOT / ".github" / "workflows"
ON_A_TAG = "github.event_name == 'push' && startsWith(github.ref, 'refs/tags/v')"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def parsed(name: str) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(text_of(name))
    return loaded


def workflow(name: str) -> dict[str, Any]:
    jobs: dict[str, Any] = parsed(f".github/workflows/{name}")["jobs"]
    return jobs


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def interpreter(job: dict[str, Any]) -> str:
    (version,) = [step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")]
    return str(version)


def supported() -> list[str]:
    found = [re.fullmatch(r"Programming Language :: Python :: (\d\.\d+)", each) for each in classifiers()]
    return [match[1] for match in found if match]


def classifiers() -> list[str]:
    listed: list[str] = PROJECT["project"]["classifiers"]
    return listed


def test_continuous_integration_runs_on_every_python_that_is_promised() -> None:
    jobs = workflow("ci.yml")
    assert list(jobs) == ["check", "linux", "stores", "ray", "browser", "wheels", "docs", "macos", "windows"]
    assert supported() == jobs["linux"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["project"]["requires-python"] == f">={supported()[0]}"
    systems = {name: job["runs-on"] for name, job in jobs.items()}
    assert systems["macos"] == "macos-latest"
    assert systems["windows"] == "windows-latest"
    assert {systems[name] for name in ("check", "linux", "stores", "ray", "browser", "docs")} == {"ubuntu-latest"}
    for name in ("check", "stores", "ray", "browser", "docs", "macos", "windows"):
        assert interpreter(jobs[name]) in supported()
    assert interpreter(jobs["linux"]) == "${{ matrix.python }}"


def test_continuous_integration_calls_the_make_targets() -> None:
    jobs = workflow("ci.yml")
    called = {name: commands(job) for name, job in jobs.items() if name not in ("wheels", "windows")}
    assert called == {
        "check": ["make check"],
        "linux": ["make test-all"],
        "stores": ["make test-stores"],
        "ray": ["make test-ray"],
        "browser": ["make test-browser"],
        "docs": ["make docs"],
        "macos": ["make test-all"],
    }
    by_hand = " ".join(re.findall(r"^make (.+)$", text_of(".ci/run"), re.M)).split()
    targets = {word for word in by_hand if re.fullmatch("[a-z]+(-[a-z]+)*", word)}
    assert targets == {line.removeprefix("make ") for lines in called.values() for line in lines}


def test_the_built_package_is_used_at_the_lowest_and_newest_versions_and_on_every_system() -> None:
    job = workflow("ci.yml")["wheels"]
    matrix = job["strategy"]["matrix"]
    assert matrix["resolution"] == list(RESOLUTIONS)
    assert matrix["python"] == [supported()[0], supported()[-1]]
    systems = {*matrix["system"], *(each["system"] for each in matrix["include"])}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}
    *_, run = commands(job)
    assert run == "python -m tests.wheels --python ${{ matrix.python }} --resolution ${{ matrix.resolution }}"


def test_every_extra_is_used_from_the_built_package() -> None:
    extras = PROJECT["project"]["optional-dependencies"].keys()
    assert {"", *extras} - PROGRAMS.keys() == {"demo"}  # see make demo


def test_windows_runs_what_make_test_all_runs() -> None:
    *_, install, run = commands(workflow("ci.yml")["windows"])
    makefile = text_of("Makefile")
    (test,) = re.findall(r"^TEST := \$\(RUN\) (.*)$", makefile, re.M)
    (wanted_run,) = re.findall(r"^test-all: .*\n\t(.*)$", makefile, re.M)
    assert run == wanted_run.replace("$(TEST)", f"python {test}")
    wanted = {"--constraint", "constraints.txt", "--editable", ".[demo]", "--group", "test"}
    assert wanted == set(shlex.split(install)[4:])
    for line in ("$(PIP) --editable '.[demo]'", "$(PIP) --group test", "--constraint constraints.txt"):
        assert line in makefile


def test_a_release_is_built_checked_imported_and_published_only_from_a_tag() -> None:
    jobs = workflow("release.yml")
    assert list(jobs) == ["build", "publish"]
    lines = "\n".join(commands(jobs["build"]))
    steps = ("-m build", "twine check --strict dist/*", "tests.wheels", "cyclonedx_py", "pip_audit", "$GITHUB_REF_NAME")
    assert [lines.index(step) for step in steps] == sorted(lines.index(step) for step in steps)
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["if"] == ON_A_TAG
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert parsed(".github/workflows/release.yml")[True]["push"] == {"tags": ["v*"]}  # YAML takes "on" for true
    users = [(name, step["uses"]) for name, job in jobs.items() for step in job["steps"] if "uses" in step]
    assert [name for name, used in users if "publish" in used] == ["publish"]
    assert "secrets." not in text_of(".github/workflows/release.yml")


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_workflows_may_only_read_and_their_actions_are_pinned_to_major_tags(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content["permissions"] == {"contents": "read"}
    for job in content["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert len({"run", "uses"} & step.keys()) == 1
            assert re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", step.get("uses", "a/b@v1"))


def test_the_hooks_run_what_make_check_runs_without_a_network() -> None:
    (repository,) = parsed(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert {hook["language"] for hook in hooks.values()} == {"system"}
    recipe = re.findall(r"^check:.*\n((?:\t.*\n)+)", text_of("Makefile"), re.M)[0]
    checked = re.findall(r"\t\$\((?:RUN\) -m |VENV\)/bin/)(ruff \w+|[\w-]+)", recipe)
    run = [re.match(r"\.venv/bin/(?:python -m )?(ruff \w+|[\w-]+)", hook["entry"]) for hook in hooks.values()]
    assert (
        [match[1] for match in run if match]
        == checked
        == ["ruff check", "ruff format", "mypy", "lint-imports", "pytest"]
    )
    assert not any(hooks[name]["pass_filenames"] for name in ("mypy", "import-linter", "house"))


CONTRACTS: list[dict[str, Any]] = PROJECT["tool"]["importlinter"]["contracts"]


def test_the_import_contracts_name_modules_that_exist_and_have_no_exceptions() -> None:
    layers = {name for layer in CONTRACTS[0]["layers"] for name in re.split(" [|:] ", layer)}
    named = {f"langchain_sentence_window.{name}" for name in layers}
    named |= {name for contract in CONTRACTS for name in contract.get("source_modules", contract.get("containers", []))}
    for name in named:
        path = ROOT.joinpath(*name.removesuffix(".*").split("."))
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
    exceptions = {"ignore_imports", "exhaustive_ignores", "unmatched_ignore_imports_alerting"}
    assert not any(exceptions & contract.keys() for contract in CONTRACTS)
    assert all(contract["exhaustive"] for contract in CONTRACTS if contract["type"] == "layers")


LITERAL_KEYS = {
    "splitting/engines.py": {"start_index", "end_index"},  # what sentencex returns has keys of the same names
    "splitting/blocks.py": {"heading"},  # a kind of block
    "splitting/markdown.py": {"heading"},  # a rule of the Markdown parser
    "store/": {"doc_id", "heading", "sentences"},  # tables and columns of SQL
    "retrieval/tracing/": {"hits", "relevance", "score"},  # counts and codes of a trace
    "retrieval/telemetry.py": {"score"},  # what OpenTelemetry calls it
    "evaluation/": {"doc_id", "relevance", "tokens"},  # a question and a report as JSON, and an order of windows
    "apps/mcp/mcp_passages.py": {"relevance"},  # an order of windows
    "retrieval/settings.py": {"relevance"},  # the same
    "windows/assembly.py": {"relevance"},  # the same
    "windows/geometry.py": {"score"},  # an attribute of a hit, by which hits are sorted
    "ranking/relevance.py": {"relevance"},  # a number of a trace
    "distributed/": {"sentences"},  # what the outcome of an ingest counts
    "apps/studio/": CONTRACT_KEYS,  # the JSON that the page reads
    "apps/cli/": CONTRACT_KEYS,  # the JSON that commands print
    "testing/": CONTRACT_KEYS,  # the contract as users of a store see it
    "adapters/search_engines.py": {"hits"},  # an answer of Elasticsearch
    "adapters/cloud_stores.py": {"score"},  # a field that the store adds
    "_arguments.py": {"score"},  # the method of a reranker's model
}
"""Strings outside of `documents/` that equal a metadata key, and what they are there."""


def test_only_documents_spells_the_metadata_keys() -> None:
    assert strings_of(PACKAGE / "documents" / "keys.py") >= CONTRACT_KEYS
    faults: dict[str, frozenset[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        allowed = next((keys for place, keys in LITERAL_KEYS.items() if name.startswith(place)), set())
        if not name.startswith("documents/") and (wrong := CONTRACT_KEYS & strings_of(path) - allowed):
            faults[name] = wrong
    assert faults == {}, "take these keys from documents/"


def strings_of(path: Path) -> set[str]:
    """All whole strings of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_the_citation_names_this_version_and_its_day() -> None:
    citation = parsed("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] == PROJECT["project"]["name"]
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["version"] == langchain_sentence_window.__version__
    assert {"message", "authors"} < citation.keys()
    heading = f"## [{citation['version']}] - {citation['date-released']}"
    assert heading in text_of("CHANGELOG.md").splitlines()


def test_the_changelog_names_the_format_that_is_written() -> None:
    assert re.findall(r"\bFormat (\d+) of the database", text_of("CHANGELOG.md")) == [str(FORMAT_VERSION)]


def test_the_security_policy_supports_this_version() -> None:
    minor = ".".join(langchain_sentence_window.__version__.split(".")[:2])
    assert re.search(rf"^\| {re.escape(minor)}\.x \| yes \|$", text_of("SECURITY.md"), re.M)


def test_the_contributing_guide_names_every_make_target_and_folders_that_exist() -> None:
    guide, makefile = text_of("CONTRIBUTING.md"), text_of("Makefile")
    targets = re.findall(r"^\.PHONY: (.*)$", makefile, re.M)[0].split()
    assert set(re.findall(r"^\| `make ([\w-]+)` \|", guide, re.M)) == set(targets)
    assert set(re.findall(r"\bmake ([a-z-]+)`", guide)) <= set(targets)
    folders = re.findall(r"^\| `([\w/]+/)` \|", guide, re.M)
    parts = {path.parent.name for path in (ROOT / "langchain_sentence_window").glob("*/__init__.py")}
    assert {Path(each).name for each in folders if re.match(r"langchain_sentence_window/\w", each)} == parts
    for named in [*folders, *re.findall(r"`(tests/[a-z_/]+\.py|tests/[a-z_/]+/)`", guide)]:
        assert (ROOT / named).exists(), named
    for link in re.findall(r"\]\(([\w.]+)\)", guide):
        assert (ROOT / link).is_file(), link


def test_the_source_distribution_holds_what_the_tests_and_readers_need() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for name in included:
        assert (ROOT / name).exists(), name
    wanted = {".github", ".ci", ".pre-commit-config.yaml", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"}
    wanted |= {"docs", "mkdocs.yml"}
    assert wanted < set(included)


# Words

NOT_A_VERB = frozenset({"A", "An", "The", "What", "Whatever", "Whether", "Where", "Which", "How", "Who", "Whose"}) | {
    *("Those", "These", "That", "This", "It", "Its", "They", "Of", "In", "On", "At", "As", "If", "No", "Each", "All"),
    *("Do", "Be", "One", "Two", "So", "Text", "Texts", "Document", "Documents", "Sentence", "Sentences", "Window"),
}
FIGURES = re.compile(r"\d\.\d+ (and|/|to) \.?\d|\d ?(ms|µs|milliseconds)\b|recall within|\d ?%", re.IGNORECASE)
BRITISH = re.compile(
    r"\b\w*((normal|capital|initial|serial|token|optim|minim|maxim|custom|summar|recogn|organ|categor|emphas|util)is(e|ed"
    r"|es|ing|er|ation)|neighbour|behaviour|colour|favour|honour|labell|modell|travell|catalogue|artefact|analyse)\w*\b"
    r"|\b(centre|grey|whilst|amongst|learnt|licence|judgement)s?\b",
    re.IGNORECASE,
)


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(each).endswith("property") for each in function.decorator_list)


def faults_of_words(source: str) -> list[str]:
    """Docstrings of a module that begin without a verb, measurements in its docstrings, and its British words."""
    nodes = list(ast.walk(ast.parse(source)))
    functions = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    docstrings = [text for each in functions if not is_property(each) and (text := ast.get_docstring(each))]
    no_verb = [text for text in docstrings if not text[0].isupper() or text.split()[0] in NOT_A_VERB]
    strings = [each.value for each in nodes if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)]
    figures = [match[0] for each in strings for match in FIGURES.finditer(str(each.value))]
    return [*no_verb, *figures, *(match[0] for match in BRITISH.finditer(source))]


def test_docstrings_begin_with_a_verb_and_recite_no_measurements() -> None:
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert {name: faults for name, source in sources.items() if (faults := faults_of_words(source))} == {}
    assert faults_of_words('def f():\n    """The colour takes 2 ms."""') == ["The colour takes 2 ms.", "2 ms", "colour"]
