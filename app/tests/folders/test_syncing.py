"""An index that follows files: what is added, what is kept, what is deleted, and what a failure leaves."""

import copy
import json
import os
import pickle
import shutil
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.vectorstores import InMemoryVectorStore

from app.tests.files.pdf.drawing import drawn, lines
from app.tests.files.writing import docx, file, paragraph
from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError
from sentence_window.files.file_state import FileState
from sentence_window.folders import SyncProgress, SyncResult, sync_files
from sentence_window.folders import file_sync as syncing_module
from tests.properties import examples
from tests.toys import WordEmbeddings, document

LONG_AGO = 1_000_000_000


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def retriever(request: pytest.FixtureRequest, words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=request.param(words))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "docs"


def write(path: Path, data: str | bytes, *, age: int = 0) -> str:
    """Write a file that was last changed long ago, and return its name in the index."""
    os.utime(file(path, data), (LONG_AGO + age, LONG_AGO + age))
    return str(path)


def counts(result: SyncResult) -> dict[str, int]:
    names = ("added", "updated", "unchanged", "deleted", "empty", "failed")
    found = {name: len(getattr(result, name)) for name in names} | {"skipped": sum(result.skipped.values())}
    return {name: count for name, count in found.items() if count}


def held(retriever: SentenceWindowRetriever) -> dict[str, str]:
    """The texts in the index, by the paths of their files."""
    return {name: retriever.get([name])[0].page_content for name in (each.doc_id for each in retriever.documents())}


def embedder(retriever: SentenceWindowRetriever) -> WordEmbeddings:
    found: Any = retriever.vectorstore.embeddings
    assert isinstance(found, WordEmbeddings)
    return found


@pytest.mark.process
def test_files_of_all_kinds_are_added_in_folders_below_too(retriever: SentenceWindowRetriever, folder: Path) -> None:
    names = [
        write(folder / "a.md", "# A\n\nA refund is paid. A seat is not."),
        write(folder / "b" / "c.html", "<title>Cards</title><h1>Card</h1><p>A card is sent."),
        write(folder / "b" / "d" / "e.docx", docx(paragraph("An invoice is sent."), title="Invoices")),
        write(folder / "f.pdf", drawn(lines("A backup is kept."), lines("A replica is kept."))),
        write(folder / "g.TXT", "A trial ends."),
    ]
    write(folder / "b" / "picture.png", b"\x89PNG")
    result = sync_files(retriever, folder)
    assert result.added == tuple(names)
    assert counts(result) == {"added": 5, "skipped": 1}
    assert str(result) == "5 added, 1 skipped (1 .png); 9 sentences"
    assert result.sentences == 9 == sum(each.sentences for each in retriever.documents())
    assert {each.doc_id: each.title for each in retriever.documents()} == dict(
        zip(names, ["A", "Cards", "Invoices", "untitled", None], strict=True)
    )
    assert {each.doc_id: each.source for each in retriever.documents()} == {name: name for name in names}
    (window,) = retriever.invoke("replica", k=1, fetch_k=1, window=0)
    assert (window.metadata["source"], window.metadata["pages"]) == (names[3], [1])


def test_what_hasnt_changed_is_neither_read_nor_embedded(
    retriever: SentenceWindowRetriever, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [write(folder / f"{name}.md", f"A {name}.") for name in ("refund", "seat")]
    sync_files(retriever, [folder])
    embedded = embedder(retriever).calls
    monkeypatch.setattr(syncing_module, "read_file", None)
    result = sync_files(retriever, [folder])
    assert result.unchanged == tuple(names)
    assert counts(result) == {"unchanged": 2}
    assert not result.has_changes
    assert embedder(retriever).calls == embedded


def test_a_file_with_another_time_is_read_and_not_added_again(retriever: SentenceWindowRetriever, folder: Path) -> None:
    write(folder / "a.md", "A refund.")
    sync_files(retriever, folder)
    calls = embedder(retriever).calls
    os.utime(folder / "a.md")
    assert counts(sync_files(retriever, folder)) == {"unchanged": 1}
    assert embedder(retriever).calls == calls


def test_a_changed_file_replaces_its_document_even_with_the_same_size(
    retriever: SentenceWindowRetriever, folder: Path
) -> None:
    name = write(folder / "a.md", "A refund. A card.")
    other = write(folder / "b.md", "A seat.")
    sync_files(retriever, folder)
    write(folder / "a.md", "A replica, a card", age=1)
    result = sync_files(retriever, folder)
    assert (result.updated, result.unchanged, result.sentences) == ((name,), (other,), 1)
    assert held(retriever) == {name: "A replica, a card", other: "A seat."}


def test_a_file_that_was_just_written_is_compared_by_its_text(retriever: SentenceWindowRetriever, folder: Path) -> None:
    path = file(folder / "a.md", "A refund.")
    sync_files(retriever, folder)
    before = path.stat()
    path.write_text("A backup.")  # of the same size, and perhaps at the same time
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert counts(sync_files(retriever, folder)) == {"updated": 1}


def test_files_that_have_gone_are_deleted_only_if_that_is_asked(
    retriever: SentenceWindowRetriever, folder: Path, tmp_path: Path
) -> None:
    gone, stays = write(folder / "b" / "gone.md", "A refund."), write(folder / "stays.md", "A seat.")
    elsewhere = write(tmp_path / "docs2" / "a.md", "A card.")
    own = document("A trial.", str(folder / "own.md"), source=str(folder / "own.md"))
    other = document("A page.", "other")
    retriever.add_documents([own, other])
    sync_files(retriever, [folder, tmp_path / "docs2"])
    shutil.rmtree(folder / "b")
    shutil.rmtree(tmp_path / "docs2")
    assert counts(sync_files(retriever, folder)) == {"unchanged": 1}
    result = sync_files(retriever, folder, delete=True)
    assert (result.deleted, result.unchanged, result.has_changes) == ((gone,), (stays,), True)
    assert set(held(retriever)) == {stays, elsewhere, str(folder / "own.md"), "other"}


def test_a_folder_that_holds_nothing_any_more_is_emptied_and_one_that_has_gone_is_an_error(
    retriever: SentenceWindowRetriever, folder: Path
) -> None:
    name = write(folder / "a.md", "A refund.")
    sync_files(retriever, folder)
    moved = folder.rename(folder.with_name("moved"))
    with pytest.raises(DocumentReadError, match="there is no file or folder at .*docs'; check the path. Nothing was"):
        sync_files(retriever, folder, delete=True)
    assert set(held(retriever)) == {name}
    moved.rename(folder)
    Path(name).unlink()
    assert sync_files(retriever, folder, delete=True).deleted == (name,)
    assert held(retriever) == {}


def test_a_single_file_is_followed_too(retriever: SentenceWindowRetriever, folder: Path) -> None:
    name, other = write(folder / "a.md", "A refund."), write(folder / "b.md", "A seat.")
    assert sync_files(retriever, [name, Path(other)]).added == (name, other)
    Path(name).unlink()
    with pytest.raises(DocumentReadError, match="there is no file or folder"):
        sync_files(retriever, [name])
    assert sync_files(retriever, [name], delete=True).deleted == (name,)
    assert set(held(retriever)) == {other}
    with pytest.raises(DocumentReadError, match="there is no file or folder"):
        sync_files(retriever, [name], delete=True)


def test_a_renamed_file_is_embedded_no_second_time(words: WordEmbeddings, folder: Path) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    old = write(folder / "a.md", "# Fees\n\nA refund is paid. A seat is not.")
    sync_files(retriever, folder)
    embedded = len(words.embedded)
    (folder / "b").mkdir()
    new = str(Path(old).rename(folder / "b" / "c.md"))
    result = sync_files(retriever, folder, delete=True)
    assert (result.added, result.deleted) == ((new,), (old,))
    assert len(words.embedded) == embedded
    assert retriever.invoke("refund")[0].metadata["source"] == new


def test_two_files_with_the_same_text_are_two_documents(retriever: SentenceWindowRetriever, folder: Path) -> None:
    names = [write(folder / name, "A refund.") for name in ("a.md", "b.txt")]
    assert sync_files(retriever, folder).added == tuple(names)
    assert held(retriever) == dict.fromkeys(names, "A refund.")
    Path(names[0]).unlink()
    sync_files(retriever, folder, delete=True)
    assert held(retriever) == {names[1]: "A refund."}


def test_files_that_cant_be_read_are_told_of_and_what_the_index_has_stays(
    retriever: SentenceWindowRetriever, folder: Path
) -> None:
    broken, good = write(folder / "a.docx", docx(paragraph("A refund."))), write(folder / "b.md", "A seat.")
    sync_files(retriever, folder)
    write(folder / "a.docx", b"no archive", age=1)
    write(folder / "b.md", "A card.", age=1)
    strange = write(folder / "c.md", "---\nlanguage: klingonese\n---\nA trial.")
    result = sync_files(retriever, folder, delete=True)
    assert (result.updated, counts(result)) == ((good,), {"updated": 1, "failed": 2})
    assert result.failed[broken].startswith(f"{broken} can't be read as DOCX")
    assert "klingonese" in result.failed[strange]
    assert held(retriever) == {broken: "A refund.", good: "A card."}
    assert str(result).splitlines() == ["1 updated, 2 failed; 1 sentences", *result.failed.values()]


@pytest.mark.parametrize("text", ["", " \n", "---\ntitle: Fees\n---\n", "\ufeff"])
def test_a_file_that_is_empty_now_has_no_text_in_the_index(
    retriever: SentenceWindowRetriever, folder: Path, text: str
) -> None:
    name = write(folder / "a.md", "A refund.")
    sync_files(retriever, folder)
    write(folder / "a.md", text, age=1)
    result = sync_files(retriever, folder)
    assert (result.empty, result.deleted, result.has_changes) == ((name,), (name,), True)
    assert held(retriever) == {}
    again = sync_files(retriever, folder)  # an index in memory remembers no files without text
    assert (counts(again), again.empty, again.has_changes) == ({"empty": 1}, (name,), False)


def test_a_document_that_one_file_would_spoil_doesnt_keep_the_others_out(words: WordEmbeddings, folder: Path) -> None:
    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store, filter={"content_type": "text/markdown"})
    names = [write(folder / name, "A refund.") for name in ("a.md", "b.txt", "c.md")]
    result = sync_files(retriever, folder)
    assert result.added == (names[0], names[2])
    assert "the filter doesn't let through" in result.failed[names[1]]


class Stopping(WordEmbeddings):
    """Fails at its n-th call, as a service does, or as Ctrl-C does."""

    def __init__(self, at: int, error: BaseException) -> None:
        super().__init__()
        self.at, self.error = at, error

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.calls + 1 == self.at:
            self.calls += 1
            raise self.error
        return super().embed_documents(texts)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("the service is down")])
def test_what_was_added_before_a_stop_stays_and_the_next_call_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(syncing_module, "MAX_BATCH_FILES", 3)
    names = [write(folder / f"{number}.md", f"A refund of {number}.") for number in range(8)]
    embedding = Stopping(2, error)
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(embedding))
    with pytest.raises(type(error)):
        sync_files(retriever, folder)
    assert set(held(retriever)) == set(names[:3])
    result = sync_files(retriever, folder)
    assert (result.unchanged, result.added) == (tuple(names[:3]), tuple(names[3:]))
    assert len(set(embedding.embedded)) == len(embedding.embedded) == 8  # each text once


def test_a_document_that_a_store_holds_in_part_is_added_again(words: WordEmbeddings, folder: Path) -> None:
    store = InMemoryVectorStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store)
    name = write(folder / "a.md", "A refund. A seat. A card.")
    sync_files(retriever, folder)
    store.delete([next(id_ for id_, each in store.store.items() if each["text"] == "A card.")])
    assert held(retriever) == {name: "A refund. A seat."}
    assert sync_files(retriever, folder).updated == (name,)
    assert held(retriever) == {name: "A refund. A seat. A card."}


def test_a_handful_of_files_is_embedded_in_one_call(words: WordEmbeddings, folder: Path) -> None:
    for number in range(20):
        write(folder / f"{number}.md", f"A refund of {number}.")
    sync_files(SentenceWindowRetriever(vectorstore=FaissStore(words)), folder)
    assert (words.calls, len(words.embedded)) == (1, 20)


def test_batches_end_at_so_many_files_or_characters(
    words: WordEmbeddings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing_module, "MAX_BATCH_FILES", 4)
    monkeypatch.setattr(syncing_module, "MAX_BATCH_CHARS", 1000)
    added: list[int] = []
    add = SentenceWindowRetriever.add_documents

    def counted(self: SentenceWindowRetriever, documents: Iterable[Any], **settings: Any) -> list[str]:
        listed = list(documents)
        added.append(len(listed))
        return add(self, listed, **settings)

    monkeypatch.setattr(SentenceWindowRetriever, "add_documents", counted)
    for number in range(9):
        write(folder / f"{number}.md", "A refund. " * (99 if number == 5 else 1))  # 990 characters, or 10
    sync_files(SentenceWindowRetriever(vectorstore=FaissStore(words)), folder)
    assert added == [4, 2, 3]


@pytest.mark.process
def test_progress_is_told_before_each_file_while_sentences_are_embedded_and_at_the_end(
    retriever: SentenceWindowRetriever, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing_module, "MAX_BATCH_FILES", 2)
    texts = ["A refund. A seat.", "A card. A trial. A seat.", "A backup."]
    names = [write(folder / f"{number}.md", text) for number, text in enumerate(texts)]
    bad = write(folder / "4.pdf", b"no PDF")
    told: list[SyncProgress] = []
    result = sync_files(retriever, folder, on_progress=told.append)
    # Four texts are embedded, as one is in both files, of which the second has more. Other stores embed out of sight.
    embeds_here = isinstance(retriever.vectorstore, FaissStore)
    assert [(each.done, each.total, each.sentences, each.current) for each in told] == [
        (0, 4, 0, names[0]),
        (0, 4, 0, names[1]),
        *([(0, 4, 4, names[1])] if embeds_here else []),
        (2, 4, 5, names[2]),
        (2, 4, 5, bad),
        *([(3, 4, 6, names[2])] if embeds_here else []),
        (4, 4, 6, None),
    ]
    seconds = [each.seconds for each in told]
    assert seconds == sorted(seconds)
    assert 0 < told[-1].seconds <= result.seconds
    told.clear()
    sync_files(retriever, folder, on_progress=told.append)
    assert [(each.done, each.current) for each in told] == [(3, bad), (4, None)]


def test_an_error_of_the_progress_stops_between_batches(
    retriever: SentenceWindowRetriever, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing_module, "MAX_BATCH_FILES", 1)
    names = [write(folder / f"{number}.md", "A refund.") for number in range(3)]

    def stop(progress: SyncProgress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync_files(retriever, folder, on_progress=stop)
    assert set(held(retriever)) == set(names[:2])


def test_a_document_of_the_same_name_that_came_from_elsewhere_is_replaced(
    retriever: SentenceWindowRetriever, folder: Path
) -> None:
    name = write(folder / "a.md", "A refund.")
    retriever.add_documents([document("A seat.", name, source=name)])
    assert sync_files(retriever, folder).updated == (name,)
    assert held(retriever) == {name: "A refund."}


def test_the_splitter_of_the_retriever_holds(words: WordEmbeddings, folder: Path) -> None:
    write(folder / "a.md", "A refund. A seat.")
    splitter = SentenceSplitter(engine=lambda text: [(0, len(text))])
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), splitter=splitter)
    assert sync_files(retriever, folder).sentences == 1
    assert counts(sync_files(retriever, folder)) == {"unchanged": 1}


@pytest.mark.process
def test_pages_that_the_splitter_doesnt_join_are_told_of(words: WordEmbeddings, folder: Path) -> None:
    name = write(folder / "a.pdf", drawn(lines("A refund."), lines("A seat.")))
    other = write(folder / "b.md", "A card.")
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), splitter=SentenceSplitter(join_parts=False))
    result = sync_files(retriever, folder)
    assert result.added == (other,)
    assert result.failed[name].endswith("give it a splitter with join_parts=True")


@pytest.mark.process
def test_a_result_can_be_copied_pickled_and_written_as_json(retriever: SentenceWindowRetriever, folder: Path) -> None:
    write(folder / "a.pdf", b"no PDF")
    result = sync_files(retriever, folder)
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result  # noqa: S301
    assert json.loads(json.dumps(asdict(result)))["failed"] == result.failed
    assert str(SyncResult()) == "no files; 0 sentences"


def test_a_relative_path_is_the_absolute_one(
    retriever: SentenceWindowRetriever, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write(folder / "a.md", "A refund.")
    monkeypatch.chdir(folder)
    assert sync_files(retriever, ".").added == (name,)
    assert sync_files(retriever, ["a.md", "../docs", folder]).unchanged == (name,)


def test_two_threads_may_sync_the_same_folder(words: WordEmbeddings, folder: Path, tmp_path: Path) -> None:
    names = {write(folder / f"{number}.md", f"A refund of {number}.") for number in range(40)}
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words, tmp_path / "index"))
    threads = [threading.Thread(target=sync_files, args=(retriever, folder)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(held(retriever)) == names
    assert counts(sync_files(retriever, folder)) == {"unchanged": 40}


WRONG: dict[str, Callable[[Any], object]] = {
    "retriever": lambda given: sync_files(given.vectorstore, "a"),
    "no paths": lambda given: sync_files(given, []),
    "an empty path": lambda given: sync_files(given, [""]),
    "a NUL": lambda given: sync_files(given, ["a\0"]),
    "bytes": lambda given: sync_files(given, b"a"),  # type: ignore[arg-type]
    "a number": lambda given: sync_files(given, 3),  # type: ignore[arg-type]
    "numbers": lambda given: sync_files(given, [3]),  # type: ignore[list-item]
    "delete": lambda given: sync_files(given, "a", delete=1),  # type: ignore[arg-type]
    "on_progress": lambda given: sync_files(given, "a", on_progress=3),  # type: ignore[arg-type]
    "what takes nothing": lambda given: sync_files(given, "a", on_progress=lambda: None),  # type: ignore[misc, arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_told_of(retriever: SentenceWindowRetriever, name: str) -> None:
    with pytest.raises(InvalidInputError, match="give|write"):
        WRONG[name](retriever)


def test_a_store_that_cant_list_its_documents_is_told_of(words: WordEmbeddings, folder: Path) -> None:
    class Unlisted(InMemoryVectorStore):
        pass

    from langchain_sentence_window.adapters.registry import register
    from langchain_sentence_window.stores import StoreAdapter

    register(Unlisted, StoreAdapter)
    write(folder / "a.md", "A refund.")
    with pytest.raises(InvalidInputError, match="can't list what it holds"):
        sync_files(SentenceWindowRetriever(vectorstore=Unlisted(words)), folder)


# Any history

NAMES = st.sampled_from(["a.md", "b.html", "c.txt", "sub/d.md", "sub/e.docx", "sub/sub/f.md", "g.png", ".h.md"])
TEXTS = st.lists(st.sampled_from(["A refund. ", "A seat. ", "A card.\n\n", "# Fees\n\n"]), max_size=4).map("".join)
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("delete"), NAMES, st.just("")),
    st.tuples(st.just("sync"), st.just(""), st.just("")),
)


def play(root: Path, step: tuple[str, str, str], number: int) -> None:
    action, name, other = step
    path = root / name
    if action == "write":
        data: str | bytes = docx(paragraph(other)) if name.endswith(".docx") else other
        os.utime(file(path, data), (LONG_AGO + number, LONG_AGO + number))
    elif action == "rename" and path.is_file() and path.suffix == (root / other).suffix:
        (root / other).parent.mkdir(parents=True, exist_ok=True)
        path.replace(root / other)
    elif action == "delete":
        path.unlink(missing_ok=True)


def contents(retriever: SentenceWindowRetriever) -> Any:
    def own(metadata: Any) -> dict[str, Any]:
        state = FileState.read(metadata)
        return {**metadata, "file_state": state and (state.size, state.sha256, state.sentences)}

    listed = sorted((each.doc_id, each.sentences, str(own(each.metadata))) for each in retriever.documents())
    windows = [
        (each.metadata["doc_id"], each.metadata["sentences"], each.page_content)
        for each in retriever.invoke("refund", k=50)
    ]
    return listed, held(retriever), sorted(windows)


@examples(60)
@given(st.lists(STEPS, max_size=25))
def test_after_any_history_the_index_is_as_if_it_were_made_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    root = tmp_path_factory.mktemp("history") / "docs"
    root.mkdir()
    followed = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings()), ranking=None, lexical_weight=0)
    for number, step in enumerate(steps):
        if step[0] == "sync":
            sync_files(followed, root, delete=True)
        else:
            play(root, step, number)
    sync_files(followed, root, delete=True)
    fresh = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings()), ranking=None, lexical_weight=0)
    result = sync_files(fresh, root)
    assert contents(followed) == contents(fresh)
    again = sync_files(followed, root, delete=True)
    assert (set(again.unchanged), again.has_changes, again.failed) == (set(result.added), False, result.failed)
