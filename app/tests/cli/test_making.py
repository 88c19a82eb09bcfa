"""``index`` and ``sync``."""

import os
import re
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from app.tests.cli.conftest import run_here, write_files
from langchain_sentence_window import SentenceWindowRetriever


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with `FILES` in it."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def counts(*arguments: object) -> dict[str, int]:
    """Run a command, and return how many files were added, updated and so on."""
    done = run_here(*arguments, "--json")
    assert done.code == 0, done.err
    return {name: len(done.json[name]) for name in ("added", "updated", "unchanged", "deleted") if done.json[name]}


def test_an_index_follows_its_files(folder: Path) -> None:
    done = run_here("index", "docs")
    assert (done.code, done.out) == (0, "4 added; 16 sentences\n")
    assert done.err.startswith("The index is in .sentence-window; ")
    assert run_here("index", "docs").out == "4 unchanged\n"
    (folder / "docs/policy.md").write_text("# Refunds\n\nAll plans are refunded.\n")
    (folder / "docs/new.md").write_text("# New\n\nIt is new.\n")
    (folder / "docs/backups.md").unlink()
    assert counts("index", "docs") == {"added": 1, "updated": 1, "unchanged": 2}
    assert counts("sync") == {"unchanged": 4, "deleted": 1}
    assert counts("sync") == {"unchanged": 4}
    assert "All plans are refunded" in run_here("ask", "Are plans refunded?", "-k", 1).out
    os.utime(folder / "docs/new.md", (1, 1))  # another time, and the same bytes
    assert counts("sync") == {"unchanged": 4}


def test_sync_takes_folders_or_the_index_itself(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more/one.txt").write_text("One is here.")
    assert counts("index", "docs", "more", "--index", "mine") == {"added": 5}
    (folder / "more/one.txt").unlink()
    (folder / "docs/policy.md").unlink()
    assert counts("sync", "more", "--index", "mine") == {"deleted": 1}
    assert counts("sync", "mine") == {"unchanged": 3, "deleted": 1}
    assert run_here("sync", "docs").code == 4  # there is no index here
    remembered = run_here("config", "--index", "mine", "--json").json["remembered"]
    assert remembered["sources"] == [str(folder / "docs"), str(folder / "more")]


def test_sources_are_remembered_once(folder: Path) -> None:
    assert run_here("index", "docs/policy.md").code == 0
    assert counts("index", folder / "docs") == {"added": 3, "unchanged": 1}
    assert counts("index", "./docs/../docs/policy.md") == {"unchanged": 1}
    assert run_here("config", "--json").json["remembered"]["sources"] == [str(folder / "docs")]


@pytest.mark.process
def test_files_that_cannot_be_read_are_named_and_affect_the_exit_code_once(folder: Path) -> None:
    broken = folder / "docs/broken.pdf"
    broken.write_bytes(b"\x1b[2J no PDF")
    first = run_here("index", "docs")
    assert (first.code, first.out) == (4, "4 added, 1 failed; 16 sentences\n")
    assert re.fullmatch(r"Failed: \S+/docs/broken\.pdf .*\n", first.err)
    assert "\x1b" not in first.err
    for command in (("sync",), ("index", "docs")):
        again = run_here(*command)
        assert (again.code, again.out) == (0, "4 unchanged, 1 known to fail\n")
        assert re.match(r"Known to fail: \S+/docs/broken\.pdf .*\n", again.err)
    assert run_here("sync", "--strict").code == 4
    assert run_here("sync", "--quiet").err == ""
    assert list(run_here("sync", "--json").json["known_failed"]) == [str(broken)]
    broken.unlink()
    assert run_here("sync", "--strict").out == "4 unchanged\n"


def test_files_without_text_are_named_once_and_are_not_failures(folder: Path) -> None:
    names = ["empty.md", "moved.md", "page.html", "space.txt"]
    for name, text in zip(names, ("", "---\nredirect_to: /seats\n---\n", "<title>Moved</title>", " \n"), strict=True):
        (folder / "docs" / name).write_text(text)
    first = run_here("index", "docs")
    assert (first.code, first.out) == (0, "4 added, 4 empty; 16 sentences\n")
    assert first.err.startswith(
        "4 files without text: docs/empty.md, docs/moved.md, docs/page.html and 1 more; if they show pictures of text, "
        "recognize it first (OCR)\n"
    )
    again = run_here("sync", "--strict")
    assert (again.code, again.out) == (0, "8 unchanged\n")
    assert "empty.md" not in again.err
    (folder / "docs/policy.md").write_text("")
    emptied = run_here("sync")
    assert (emptied.code, emptied.out) == (0, "7 unchanged, 1 deleted, 1 empty\n")
    assert "1 file without text: docs/policy.md; if" in emptied.err
    alone = run_here("index", "docs/moved.md", "--index", "other", "--json")
    assert (alone.code, alone.json["empty"]) == (0, [str(folder / "docs/moved.md")])


def test_paths_without_files_are_refused(folder: Path) -> None:
    (folder / "empty").mkdir()
    done = run_here("index", "empty")
    assert (done.code, done.err) == (1, "No files were found.\n")
    missing = run_here("index", "docs", "missing", "--index", "new")
    assert missing.code == 4
    assert "there is no file or folder at 'missing'" in missing.err
    for index, code in (("docs/policy.md", 2), ("docs/policy.md/index", 4)):
        done = run_here("index", "docs", "--index", index)
        assert done.code == code
        assert "docs/policy.md" in done.err
    assert run_here("index").code == run_here("index", "docs", "--embedding", "nobody", "--index", "new").code == 2
    assert not (folder / "new").exists()


def test_an_index_that_was_made_in_python_is_synced(folder: Path, recorded: Embeddings) -> None:
    made = Document(page_content="It came from elsewhere.", metadata={"source": "https://example.com/"})
    retriever = SentenceWindowRetriever.from_documents([made], recorded, path=folder / ".sentence-window")
    retriever.close()
    nothing = run_here("sync")
    assert nothing.code == 2
    assert "remembers no files" in nothing.err
    assert counts("sync", "docs") == {"added": 4}
    assert counts("sync") == {"unchanged": 4}
    assert len(run_here("ls", "--json").json["documents"]) == 5


@pytest.mark.slow
def test_an_index_remembers_its_embedder(folder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    model = tmp_path / "model"
    SentenceTransformer(modules=[BoW(sorted(["bookings", "once", "refund", "taken"]))], device="cpu").save(str(model))
    assert run_here("index", "docs", "--embedding", model, "--index", "bag").code == 0
    assert run_here("config", "--json", "--index", "bag").json["remembered"]["embedding"] == str(model)
    assert "100 bookings" in run_here("ask", "bookings", "-k", 1, "--index", "bag").out
    other = run_here("ask", "refund", "--embedding", "minilm", "--index", "bag")
    assert other.code == 4
    assert "holds vectors of" in other.err
