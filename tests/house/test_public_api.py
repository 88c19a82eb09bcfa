"""The public interface is what docs/public_api.txt says, and the changelog names what differs."""

import pytest

from docs.public_api import STORED, changed, description, unnamed


def test_the_public_interface_is_the_one_that_is_described() -> None:
    differences = changed(STORED.read_text(encoding="utf-8").splitlines(), description())
    assert differences == [], (
        "the public interface has changed: name what differs in the section [Unreleased] of CHANGELOG.md, then run "
        "python -m docs.public_api --write"
    )


CHANGELOG = """# Changelog

## [Unreleased]

- `FaissStore.shrink` is gone, and `k` of `evaluate` is 5.

## [1.0.0] - 2026-12-01

- `grow` is new.
"""


@pytest.mark.parametrize(
    ("line", "is_named"),
    [
        ("-FaissStore.shrink(path, *, fast=False)", True),
        ("+FaissStore.grow(path)", False),  # only an earlier version names it
        ("+evaluate(retriever, k=5)", True),
        ("+SentenceWindowRetriever.k = 5", True),
        ("+sentence-window shrink", True),
        ("+sentence-window ask --grow, -g", False),
        ("+mcp search(query, k) -> results", False),
    ],
)
def test_a_change_must_be_named_in_the_changelog(line: str, is_named: bool) -> None:
    assert unnamed([line], CHANGELOG) == ([] if is_named else [line])


def test_a_name_that_goes_and_one_that_comes_are_told_apart() -> None:
    assert changed(["a(b)", "c"], ["a(b=1)", "c", "d"]) == ["-a(b)", "+a(b=1)", "+d"]
