"""In which of its forms, sync or async, a case of a test runs.

Both forms of a method run the same flow, see `langchain_sentence_window._io`. So only tests of what users call run each
case in both. Those of what stands below it run their cases in one form each, by turns.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from zlib import crc32

import pytest

from langchain_sentence_window.testing.material import Way

Invoke = Way
"""Calls a method in its sync or its async form: the fixture ``way``."""

BELOW_THE_FACADE = (
    "tests/adapters/test_filter_roads.py",
    "tests/adapters/test_stores.py",
    "tests/documents/",
    "tests/ranking/test_fusion.py",
    "tests/retrieval/test_assembly.py",
    "tests/retrieval/test_equal_text.py",
    "tests/retrieval/test_explain.py",
    "tests/retrieval/test_explain_candidates.py",
    "tests/retrieval/test_lead_ins.py",
    "tests/retrieval/test_parts.py",
    "tests/retrieval/test_pieces.py",
    "tests/retrieval/test_relevance.py",
    "tests/retrieval/test_why.py",
    "tests/store/test_candidates.py",
)
FORMS = ("sync", "async")
MANY_CASES = 16
"""From so many cases on, `make test` runs each case of a test in one form."""


def in_forms(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the cases that run; those whose other form is enough for `make test` are marked as slow."""
    for _, cases in groupby(items, key=_test_of):
        yield from _in_forms(list(cases))


def _in_forms(cases: list[pytest.Item]) -> Iterator[pytest.Item]:
    of_each = [form for case in cases if (form := _form_of(case)) is not None]
    if len(of_each) < len(cases):
        yield from cases
        return
    is_below = cases[0].nodeid.startswith(BELOW_THE_FACADE)
    places = dict.fromkeys(FORMS, 0)
    for case, form in zip(cases, of_each, strict=True):
        place = places[form] = places[form] + 1
        is_its_turn = (place + crc32(_test_of(case).encode())) % 2 == (form == "sync")
        if not is_its_turn and is_below:
            continue
        if not is_its_turn and len(cases) >= MANY_CASES:
            case.add_marker(pytest.mark.slow)
        yield case


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _form_of(item: pytest.Item) -> str | None:
    spec = getattr(item, "callspec", None)
    form = None if spec is None else spec.params.get("way")
    return form if form in FORMS else None
