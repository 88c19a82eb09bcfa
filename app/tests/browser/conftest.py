"""These tests need Playwright and Chromium: ``make test-browser`` installs them where it can.

``PLAYWRIGHT_CHROMIUM`` names another Chromium than the system's, and ``STUDIO_SHOTS`` a folder for pictures of the
page. `wait_for_function` doesn't work here, as the page forbids `eval`; use ``expect(locator)``.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from app.tests.browser.chromium import find_chromium
from app.tests.browser.looking import Seen, watched
from app.tests.browser.serving import Serve, Served, serving
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.files import load_pdf

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    from playwright.sync_api import expect, sync_playwright

    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium: install Debian's chromium, or run `playwright install chromium`")
    expect.set_options(timeout=60_000)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if is_root else [])
        yield started
        started.close()


@pytest.fixture(scope="session")
def examples_index(minilm: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index of the documents in ``examples/``; copy it before you change it."""
    folder = tmp_path_factory.mktemp("examples") / "index"
    given = [
        Document(path.read_text(encoding="utf-8"), metadata={"source": str(path)})
        for path in sorted((EXAMPLES / "documents").glob("*.md"))
    ]
    given += load_pdf(str(EXAMPLES / "agreement.pdf"))
    SentenceWindowRetriever.from_documents(given, minilm, path=folder)
    return folder


@pytest.fixture(scope="session")
def retriever(minilm: Embeddings, examples_index: Path) -> SentenceWindowRetriever:
    """The index of the examples; don't change it."""
    return SentenceWindowRetriever.open(examples_index, minilm)


@pytest.fixture(scope="session")
def studio(retriever: SentenceWindowRetriever, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of the examples; tests that change the index serve one of their own."""
    questions = tmp_path_factory.mktemp("studio") / "questions.jsonl"
    with serving(retriever, folders=[EXAMPLES], questions=questions) as served:
        yield served


@pytest.fixture
def serve(seen: Seen, tmp_path: Path) -> Iterator[Serve]:
    """Serve another retriever until the test ends: ``serve(retriever, **settings).url``.

    Each page has questions of its own, as several tests show one index.
    """
    numbers = count(1)
    with ExitStack() as stack:

        def started(retriever: SentenceWindowRetriever, **settings: object) -> Served:
            settings = {"questions": tmp_path / f"served-{next(numbers)}.jsonl", **settings}
            served = stack.enter_context(serving(retriever, **settings))
            seen.servers.add(served.url)
            return served

        yield started


@pytest.fixture
def seen(studio: Served) -> Seen:
    """Return what the page did that it shouldn't; ``seen.allow("status of 400")`` for what a test provokes."""
    return Seen({studio.url})


@pytest.fixture
def page(browser: "Browser", studio: Served, seen: Seen, serve: Serve) -> Iterator["Page"]:
    """A page without cookies, ``page.goto("/#/ask")``. The test fails at its end if `seen` saw anything.

    It asks for `serve`, so that it is closed before the servers of the test are.
    """
    context = browser.new_context(base_url=studio.url, viewport={"width": 1280, "height": 860}, accept_downloads=True)
    with watched(context, seen):
        yield context.new_page()
    assert seen.problems == []
