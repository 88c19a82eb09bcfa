"""Ingests on a real Ray into a real PostgreSQL."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.distributed import IngestSummary, ingest, store_connection
from langchain_sentence_window.errors import IngestError, InvalidInputError
from langchain_sentence_window.stores import adapter_of
from tests.ray.factories import HashEmbeddings, make_table, postgres_store
from tests.ray.kills import rows_of, stored_rows

Store = Callable[[], VectorStore]

BOOKS = ("fees", "trials", "seats", "cards", "pages")
TOLD = (
    "All {0} are listed here. Ask for them.",
    "Who pays {0} late? Nobody does.",
    "At the end {0} are no more. So it goes.",
)


@pytest.fixture
def store(ray: Any, postgres_url: str, request: pytest.FixtureRequest) -> Store:
    """A function that opens a new table."""
    return make_table(postgres_url, table_of(request))


@pytest.fixture
def rows(postgres_url: str, request: pytest.FixtureRequest) -> Callable[[], list[Any]]:
    """A function that lists the rows of the table, sorted by id, without the states."""
    return lambda: sorted(stored_rows(postgres_url, table_of(request)), key=lambda row: row[0])


def table_of(request: pytest.FixtureRequest) -> str:
    return f"t{abs(hash(request.node.nodeid))}"


def pages() -> list[dict[str, Any]]:
    return [
        {"text": text.format(book), "source": book, "page": page} for book in BOOKS for page, text in enumerate(TOLD)
    ]


def as_document(row: dict[str, Any]) -> Document:
    return Document(page_content=row["text"], metadata={key: row[key] for key in ("source", "page")})


def counts(summary: IngestSummary) -> tuple[int, int, int, int]:
    return summary.written, summary.unchanged, summary.deleted, len(summary.failures)


def test_any_workers_and_order_make_the_same_rows(ray: Any, store: Store, rows: Callable[[], list[Any]]) -> None:
    wanted = sorted((id_, *row) for id_, row in rows_of([as_document(row) for row in pages()]).items())
    mixed = random.Random(3).sample(pages(), len(pages()))
    dataset = ray.data.from_items(mixed, override_num_blocks=5)
    settings = dataset.context.target_max_block_size
    assert counts(ingest(dataset, store=store, concurrency=2)) == (5, 0, 0, 0)
    assert rows() == wanted
    assert dataset.context.target_max_block_size == settings  # arguments are not modified
    # As Documents, by one worker, and nothing is to be done.
    documents = list(map(as_document, mixed))
    assert counts(ingest(documents, store=store, embedding=HashEmbeddings, concurrency=1)) == (0, 5, 0, 0)
    again = ingest(documents, store=store, concurrency=1, namespace="again", build_workers=0)
    assert counts(again) == (5, 0, 0, 0)
    assert rows() == wanted


def read_file(path: str) -> list[Document]:
    return [Document(Path(path).read_text(encoding="utf-8"), metadata={"source": path})]


def test_files_are_kept_up_to_date(ray: Any, store: Store, rows: Callable[[], list[Any]], tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.md", "b.txt", "c.md", "broken.txt")]
    for path in paths:
        path.write_text(f"# Title\n\nThe file {path.name} has a card. A seat is free.", encoding="utf-8")
    paths[3].write_bytes(b"\xff")
    other = store()
    SentenceWindowRetriever(vectorstore=other).add_documents([Document(page_content="By hand.", id="own")])
    adapter_of(other).close()
    dry = ingest(paths, load=read_file, store=store, concurrency=1, dry_run=True)
    assert (dry.pending, dry.pending_sentences, dry.written) == (4, 9, 0)
    assert "to finish: 4 documents" in str(dry)
    run = partial(ingest, load=read_file, store=store, concurrency=1, namespace="files", cleanup="full")
    first = run(paths)
    assert counts(first) == (3, 0, 0, 1)
    assert list(first.failures) == [str(paths[3])]
    paths[0].write_text("Another text.", encoding="utf-8")
    assert counts(run([paths[0], paths[2]])) == (1, 1, 1, 0)
    assert sorted(text for _, text, *_ in rows()) == [
        *("# Title", "A seat is free.", "Another text.", "By hand.", "The file c.md has a card.")
    ]
    assert counts(run(paths[0])) == (0, 1, 1, 0)
    assert counts(run([])) == (0, 0, 0, 0)
    assert sorted(text for _, text, *_ in rows()) == ["Another text.", "By hand."]


def test_rows_that_cannot_be_documents_fail_alone(ray: Any, store: Store) -> None:
    given = [
        {"id": "a", "text": "A card.", "metadata": '{"n": 1}'},
        {"id": "b", "text": None, "metadata": None},
        {"id": "c", "text": "A seat.", "metadata": "[]"},
        {"id": "d", "text": "A NUL \0.", "metadata": None},
    ]
    summary = ingest(ray.data.from_items(given), store=store, concurrency=1, whole_documents=True)
    assert counts(summary) == (1, 0, 0, 3)
    assert sorted(summary.failures) == ["b", "c", "d"]
    assert "holds a NUL" in summary.failures["d"]
    with pytest.raises(IngestError, match="2 documents failed") as caught:
        ingest(ray.data.from_items(given), store=store, concurrency=1, whole_documents=True, max_failures=1)
    assert "call ingest again" in str(caught.value)
    twice = ingest(ray.data.from_items([given[0]] * 2), store=store, concurrency=1, whole_documents=True)
    assert twice.failures == {"a": "another document has the same name; give each its own id"}


def test_invalid_arguments_are_refused(
    ray: Any, store: Store, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_connection, "PAUSES", ())
    lock: Any = Lock()
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (ray.data.from_items([{"title": "One"}]), {}, "give one with the column text"),
        (3, {}, "give paths, a Ray Dataset, or a list of Documents"),
        (["a.md"], {}, "give a function that reads one: load="),
        ([], {"cleanup": "all"}, "must be 'full' or None"),
        ([], {"num_cpus": 0}, "num_cpus is 0"),
        ([], {"num_gpus": -1}, "num_gpus is -1"),
        ([], {"concurrency": 0}, "concurrency is 0"),
        ([], {"store": partial(postgres_store, postgres_url, lock)}, "can't be sent to workers"),
        ([], {"store": partial(postgres_store, postgres_url, "none there")}, "the store can't be opened"),
        ([], {"unknown": 1}, "unexpected keyword argument 'unknown'"),
    ]
    for given, settings, message in wrong:
        with pytest.raises((InvalidInputError, IngestError), match=message):
            ingest(given, **{"store": store, **settings})
    away = partial(postgres_store, postgres_url.replace("host=", "host=/none"), "t")
    with pytest.raises(IngestError, match="the store can't be opened"):
        ingest([], store=away)
    assert ingest([], store=store).documents == 0
