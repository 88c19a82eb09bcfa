"""Both packages stay small enough to read, and use each other only through public names."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

from docs.public_api import MODULES, differences
from tests.house.source import APPLICATION, LIBRARY, ROOT, imported, report, tokens_by_folder

LIBRARY_TOKENS = 234_500
FILES_TOKENS, APPLICATION_TOKENS = 76_000, 43_000
"""The most tokens of code: of the library, of the application's readers, and of the rest of the application.

A commit that raises one says for which feature.
"""

SCRIPT_LINES = 4_500
"""The most lines of JavaScript."""

PUBLIC = {f"{package}.{module}".rstrip(".") for package, modules in MODULES.items() for module in modules}


def test_the_packages_keep_to_their_budgets() -> None:
    library, application = tokens_by_folder(LIBRARY), tokens_by_folder(APPLICATION)
    files = application.pop("files")
    assert library.total() <= LIBRARY_TOKENS, report(LIBRARY)
    assert files <= FILES_TOKENS, report(APPLICATION)
    assert application.total() <= APPLICATION_TOKENS, report(APPLICATION)
    scripts = (APPLICATION / "studio" / "static").glob("*.js")
    assert sum(len(each.read_text(encoding="utf-8").splitlines()) for each in scripts) <= SCRIPT_LINES


def test_the_public_interface_is_the_one_that_is_described() -> None:
    for package in MODULES:
        assert differences(package) == [], "if that is meant, run: python -m docs.public_api --write"


def test_each_public_name_exists_and_the_root_has_few() -> None:
    for module in sorted(PUBLIC):
        found = import_module(module)
        assert [name for name in found.__all__ if not hasattr(found, name)] == [], module
    assert len(import_module("langchain_sentence_window").__all__) <= 24


def test_the_import_contracts_have_no_exceptions() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    assert not [each for each in contracts if {"ignore_imports", "exhaustive_ignores"} & each.keys()]


def private_imports(path: Path) -> set[str]:
    """The names of the packages that a file imports and that aren't public."""
    found = set()
    for module, name in imported(path):
        package = module.partition(".")[0]
        if package not in MODULES:
            continue
        is_module = f"{module}.{name}" in PUBLIC or (module in MODULES and module in PUBLIC | {"sentence_window"})
        is_public = module in PUBLIC and name in ("", *import_module(module).__all__, "__version__")
        if not is_public and not (is_module and not re.match("_[^_]", name)):
            found.add(f"{module}.{name}")
    return found


def test_the_application_uses_public_names_of_the_library() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): sorted(names)
        for path in APPLICATION.rglob("*.py")
        if (names := {each for each in private_imports(path) if each.startswith("langchain_sentence_window")})
    }
    assert len(found) <= 10, found  # the number of files that still do


def test_few_tests_look_below_the_public_names() -> None:
    paths = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "app" / "tests").rglob("*.py")]
    below = {path.relative_to(ROOT).as_posix(): sorted(names) for path in paths if (names := private_imports(path))}
    assert len(below) <= 104, "\n".join(map(str, sorted(below.items())))
