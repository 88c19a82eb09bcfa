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
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.distributed import DocumentRows, IngestSummary, ingest, store_connection
from langchain_sentence_window.errors import IngestError, InvalidInputError
from tests.ray.factories import HashEmbeddings, make_table, postgres_store
from tests.ray.kills import stored_rows

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
    sentences, vectors = DocumentRows(HashEmbeddings())(list(map(as_document, pages())))
    wanted = sorted(
        (str(each.id), each.page_content, each.metadata, vector.tobytes())
        for each, vector in zip(sentences, vectors, strict=True)
    )
    mixed = random.Random(3).sample(pages(), len(pages()))
    dataset = ray.data.from_items(mixed, override_num_blocks=5)
    settings = dataset.context.target_max_block_size
    assert counts(ingest(dataset, store=store, concurrency=2)) == (5, 0, 0, 0)
    assert rows() == wanted
    assert dataset.context.target_max_block_size == settings  # what was handed in is as it was
    # As Documents, by one worker, and nothing is to be done.
    documents = list(map(as_document, mixed))
    assert counts(ingest(documents, store=store, embedding=HashEmbeddings, concurrency=1)) == (0, 5, 0, 0)
    anew = ingest(documents, store=store, concurrency=1, namespace="again", rebuild_indexes=True, build_workers=0)
    assert counts(anew) == (5, 0, 0, 0)
    assert rows() == wanted


def test_files_are_kept_up_to_date(ray: Any, store: Store, rows: Callable[[], list[Any]], tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("a.md", "b.txt", "inner/c.md"):
        (tmp_path / name).write_text(f"# Title\n\nThe file {name} has a card. A seat is free.", encoding="utf-8")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    other = store()
    SentenceWindowRetriever(vectorstore=other).add_documents([Document(page_content="By hand.", id="own")])
    adapter_of(other).release()
    dry = ingest(tmp_path, store=store, concurrency=1, dry_run=True)
    assert (dry.pending, dry.pending_sentences, dry.written) == (4, 9, 0)
    assert "to finish: 4 documents" in str(dry)
    run = partial(ingest, store=store, concurrency=1, namespace="files", cleanup="full")
    first = run(tmp_path)
    assert counts(first) == (3, 0, 0, 1)
    assert list(first.failures) == [str(tmp_path / "broken.pdf")]
    (tmp_path / "broken.pdf").unlink()
    (tmp_path / "a.md").write_text("Another text.", encoding="utf-8")
    (tmp_path / "b.txt").unlink()
    remote = ray.data.read_binary_files(str(tmp_path), include_paths=True)
    assert counts(run(remote)) == (1, 1, 1, 0)
    assert sorted(text for _, text, *_ in rows()) == [
        *("# Title", "A seat is free.", "Another text.", "By hand.", "The file inner/c.md has a card.")
    ]
    assert counts(run([f"file://{tmp_path}/a.md"]))[2] == 2  # under another name
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


def test_what_cannot_be_used_is_refused(
    ray: Any, store: Store, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_connection, "PAUSES", ())
    lock: Any = Lock()
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (ray.data.from_items([{"title": "One"}]), {}, "give one with the column text"),
        (3, {}, "give paths, a Ray Dataset, or a list of Documents"),
        ([], {"cleanup": "all"}, "must be 'full' or None"),
        ([], {"num_cpus": 0}, "num_cpus is 0"),
        ([], {"num_gpus": -1}, "num_gpus is -1"),
        ([], {"concurrency": (3, 2)}, r"concurrency is \(3, 2\)"),
        ([], {"store": partial(postgres_store, postgres_url, lock)}, "can't be sent to workers"),
        ([], {"store": partial(postgres_store, postgres_url, "none there")}, "the store can't be opened"),
        ([], {"unknown": 1}, "unexpected keyword argument 'unknown'"),
    ]
    for given, settings, told in wrong:
        with pytest.raises((InvalidInputError, IngestError), match=told):
            ingest(given, **{"store": store, **settings})
    away = partial(postgres_store, postgres_url.replace("host=", "host=/none"), "t")
    with pytest.raises(IngestError, match="the store can't be opened"):
        ingest([], store=away)
    assert ingest([], store=store).documents == 0
