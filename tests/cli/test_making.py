"""``index`` and ``sync``."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from langchain_sentence_window import SentenceWindowRetriever
from tests.cli.conftest import FILES, ROOT, environment, run_forked, run_here, write_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with `FILES` in it."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def counts(folder: Path, *arguments: object, code: int = 0) -> dict[str, int]:
    """Count what a command did, by the number of files."""
    done = run_here(*arguments, "--json")
    assert done.code == code, done.err
    return {
        name: len(done.json[name]) for name in ("added", "updated", "unchanged", "deleted", "failed") if done.json[name]
    }


def test_an_index_follows_its_files(folder: Path) -> None:
    done = run_here("index", "docs")
    assert (done.code, done.out) == (0, "4 added; 16 sentences\n")
    assert done.err.startswith("The index is in .sentence-window; ")
    assert run_here("index", "docs").out == "4 unchanged\n"
    (folder / "docs/policy.md").write_text("# Refunds\n\nAll plans are refunded.\n")
    (folder / "docs/new.md").write_text("# New\n\nIt is new.\n")
    (folder / "docs/backups.md").unlink()
    assert counts(folder, "index", "docs") == {"added": 1, "updated": 1, "unchanged": 2}
    assert counts(folder, "sync") == {"unchanged": 4, "deleted": 1}
    assert counts(folder, "sync") == {"unchanged": 4}
    assert "All plans are refunded" in run_here("ask", "Are plans refunded?", "-k", 1).out
    os.utime(folder / "docs/new.md", (1, 1))  # another time, and the same bytes
    assert counts(folder, "sync") == {"unchanged": 4}


def test_sync_takes_folders_or_the_index_itself(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more/one.txt").write_text("One is here.")
    assert counts(folder, "index", "docs", "more", "--index", "mine") == {"added": 5}
    (folder / "more/one.txt").unlink()
    (folder / "docs/policy.md").unlink()
    assert counts(folder, "sync", "more", "--index", "mine") == {"deleted": 1}
    assert counts(folder, "sync", "mine") == {"unchanged": 3, "deleted": 1}
    assert run_here("sync", "docs").code == 4  # there is no index here
    assert run_here("config", "--index", "mine", "--json").json["remembered"] == {
        "embedding": "minilm",
        "sources": [str(folder / "docs"), str(folder / "more")],
        "retriever": {},
        "unknown": {},
    }


def test_sources_are_remembered_once(folder: Path) -> None:
    assert run_here("index", "docs/policy.md").code == 0
    assert counts(folder, "index", folder / "docs") == {"added": 3, "unchanged": 1}
    assert counts(folder, "index", "./docs/../docs/policy.md") == {"unchanged": 1}
    assert run_here("config", "--json").json["remembered"]["sources"] == [str(folder / "docs")]


def test_names_of_files_are_never_interpreted(folder: Path) -> None:
    names = ("a b.md", "[bold].md", "東京 \u202e.md", "semi;colon$(x)`.md", "new\nline.md", "\x1b[2J.md")
    for number, name in enumerate(names):
        (folder / "docs" / name).write_text(f"# Odd\n\nNumber {number} is odd.\n")
    assert counts(folder, "index", "docs")["added"] == 10
    for number, name in enumerate(names):
        assert f"Number {number}" in run_here("show", f"docs/{name}").out
    listed = run_here("ls").out
    assert len(listed.splitlines()) == 11
    assert not {"\x1b", "\u202e"} & set(listed)
    (folder / "-k").mkdir()
    (folder / "-k" / "dash.md").write_text("# Dash\n\nA dash.\n")
    assert run_here("index", "--json", "--", "-k").json["added"] == [str(folder / "-k" / "dash.md")]


@pytest.mark.process
def test_files_that_cannot_be_read_are_told_and_the_others_are_added(folder: Path) -> None:
    (folder / "docs/broken.pdf").write_bytes(b"\x1b[2J no PDF")
    (folder / "docs/broken.docx").write_bytes(b"no Word file")
    done = run_here("index", "docs")
    assert done.code == 4
    assert done.out == "4 added, 2 failed; 16 sentences\n"
    failed = [line for line in done.err.splitlines() if line.startswith("Failed: ")]
    assert len(failed) == 2
    assert any("broken.pdf" in line for line in failed)
    assert "\x1b" not in done.err
    assert set(run_here("sync", "--json").json["known_failed"]) == {
        str(folder / "docs/broken.pdf"),
        str(folder / "docs/broken.docx"),
    }
    assert run_here("index", "docs/policy.md", "--quiet").code == 0


@pytest.mark.process
@pytest.mark.slow
def test_files_that_failed_before_are_known_and_decide_nothing(folder: Path) -> None:
    (folder / "docs/broken.pdf").write_bytes(b"no PDF")
    first = run_here("index", "docs")
    assert (first.code, first.out) == (4, "4 added, 1 failed; 16 sentences\n")
    for command in (("sync",), ("index", "docs")):
        again = run_here(*command)
        assert (again.code, again.out) == (0, "4 unchanged, 1 known to fail\n")
        assert re.match(r"Known to fail: \S+/docs/broken\.pdf .*\n", again.err)
        assert run_here(*command, "--strict").code == 4
    assert run_here("sync", "--quiet").err == ""
    assert list(run_here("sync", "--json").json["known_failed"]) == [str(folder / "docs/broken.pdf")]
    (folder / "docs/broken.pdf").write_bytes(b"another that is none")
    assert run_here("sync").code == 4
    (folder / "docs/broken.pdf").unlink()
    assert run_here("sync", "--strict").out == "4 unchanged\n"
    (folder / "bad").mkdir()
    (folder / "bad/broken.pdf").write_bytes(b"no PDF")
    assert [run_here("index", "bad", "--index", "bad-index").code for _ in range(2)] == [4, 0]


def test_files_without_text_are_no_failure_and_are_named_once(folder: Path) -> None:
    names = ["empty.md", "moved.md", "page.html", "space.txt"]
    for name, text in zip(names, ("", "---\nredirect_to: /seats\n---\n", "<title>Moved</title>", " \n"), strict=True):
        (folder / "docs" / name).write_text(text)
    first = run_here("index", "docs")
    assert (first.code, first.out) == (0, "4 added, 4 empty; 16 sentences\n")
    assert first.err.startswith(
        "4 files without text: docs/empty.md, docs/moved.md, docs/page.html and 1 more; if they show pictures of text, "
        "recognize it first (OCR)\n"
    )
    for command in (("sync",), ("index", "docs")):
        again = run_here(*command, "--strict")
        assert (again.code, again.out) == (0, "8 unchanged\n")
        assert "empty.md" not in again.err
    policy = (folder / "docs/policy.md").read_text()
    (folder / "docs/policy.md").write_text("")
    emptied = run_here("sync")
    assert (emptied.code, emptied.out) == (0, "7 unchanged, 1 deleted, 1 empty\n")
    assert "1 file without text: docs/policy.md" in emptied.err
    (folder / "docs/empty.md").write_text(policy)
    assert run_here("sync", "--json").json["added"] == [str(folder / "docs/empty.md")]
    (folder / "stubs").mkdir()
    (folder / "stubs/moved.md").write_text("---\nredirect_to: /seats\n---\n")
    only = run_here("index", "stubs", "--index", "stub-index", "--json")
    assert (only.code, only.json["empty"]) == (0, [str(folder / "stubs/moved.md")])
    assert run_here("index", "stubs", "--index", "stub-index").code == 0


def test_files_that_are_skipped_are_told_by_kind(folder: Path) -> None:
    for name in ("a.pages", "b.PAGES", "c.zip", "Makefile", "LICENSE", "d.\x1b[2J", "e.py", "f.js", "g.ts"):
        (folder / "docs" / name).write_text("x")
    done = run_here("index", "docs")
    assert done.code == 0
    assert done.out == (
        "4 added, 9 skipped (2 without a suffix, 2 .pages, 1 .\\x1b[2j, 1 .js, 1 .py, 2 of other kinds); 16 sentences\n"
    )


@pytest.mark.process
@pytest.mark.slow
def test_files_that_need_an_extra_are_told_in_one_line(folder: Path) -> None:
    names = ["a.pdf", "b.pdf", f"{'c' * 90}.pdf", "d.pdf", "e.pdf"]
    for name in names:
        (folder / "docs" / name).write_bytes(b"%PDF-1.4")
    (folder / "hidden").mkdir()
    (folder / "hidden/pypdfium2.py").write_text("raise ModuleNotFoundError(name='pypdfium2')")
    path = os.pathsep.join([str(folder / "hidden"), str(ROOT)])
    done = run_forked("index", "docs", cwd=folder, PYTHONPATH=path)
    assert done.code == 3
    assert done.out == "4 added, 5 in need of an extra; 16 sentences\n"
    assert done.err == (
        f"5 files can't be read without an extra: docs/a.pdf, docs/b.pdf, …{'c' * 25}.pdf and 2 more; install it with: "
        'pip install "langchain-sentence-window[files]"\n'
    )
    read = run_forked("sync", "--json", cwd=folder, PYTHONPATH=path)
    assert (read.code, read.json["missing_extras"]) == (3, {"files": [str(folder / "docs" / each) for each in names]})
    (folder / "docs/broken.docx").write_bytes(b"no Word file")
    assert run_forked("sync", cwd=folder, PYTHONPATH=path).code == 4  # a file that is broken counts more


AS_NOBODY = """
import json, os, sys, tempfile
from tests.cli.conftest import run_here
import encodings.ascii
commands = json.loads(sys.argv[1])
for each in commands:  # all that a command imports is there before this user may read it no more
    run_here(*each, "--index", "warm")
tempfile.tempdir = "/tmp"
os.setgroups([]); os.setgid(65534); os.setuid(65534)
done = [run_here(*each) for each in commands]
print(json.dumps([(each.code, each.err) for each in done]))
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_an_index_that_may_not_be_written_is_told_and_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    try:
        write_files(folder)
        monkeypatch.chdir(folder)
        assert run_here("index", "docs").code == run_here("index", "docs", "--index", "warm").code == 0
        (folder / "docs/new.md").write_text("It is new.")
        writing = [["index", "docs"], ["sync"], ["rm", "policy.md"], ["config", "k=3"]]
        commands = [["ls"], ["ask", "refund"], *writing, ["serve", "--host", "::"]]
        command = [sys.executable, "-c", AS_NOBODY, json.dumps(commands)]
        told = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
        (listed, asked, *others, served) = json.loads(told.stdout.splitlines()[-1])
        assert listed[0] == asked[0] == 0, (listed, asked)
        for code, error in others:
            assert code == 4
            assert re.fullmatch(r"Error: you may not write to \S+, so the index can't be made or changed; .*\n", error)
        assert served == [4, others[0][1].partition("; ")[0] + "; serve it with --read-only\n"]
    finally:
        shutil.rmtree(folder)


def test_nothing_to_index(folder: Path) -> None:
    (folder / "empty").mkdir()
    done = run_here("index", "empty")
    assert (done.code, done.err) == (1, "No files were found.\n")
    for path in ("missing", "docs/missing.md"):
        done = run_here("index", path, "--index", "new")
        assert done.code == 4
        assert f"there is no file or folder at '{path}'" in done.err
    assert not (folder / "new").exists()
    for path in ("docs/policy.md", "docs/policy.md/index"):
        done = run_here("index", "docs", "--index", path)
        assert done.code == 2
        assert "file" in done.err
        assert "Errno" not in done.err
    assert run_here("index").code == 2
    assert run_here("index", "docs", "--embedding", "nobody", "--index", "new").code == 2
    assert not (folder / "new").exists()


@pytest.mark.model
def test_an_index_that_was_made_in_python_is_followed_too(folder: Path) -> None:
    from langchain_core.documents import Document

    from langchain_sentence_window.embedding.named_embedders import load_embedding

    given = Document(page_content="It came from elsewhere.", metadata={"source": "https://example.com/"})
    made = SentenceWindowRetriever.from_documents([given], load_embedding(), path=folder / ".sentence-window")
    made.close()
    nothing = run_here("sync")
    assert nothing.code == 2
    assert "remembers no files" in nothing.err
    assert counts(folder, "sync", "docs") == {"added": 4}
    assert counts(folder, "sync") == {"unchanged": 4}
    assert len(run_here("ls", "--json").json["documents"]) == 5
    assert "example.com" in run_here("ask", "What came from elsewhere?", "-k", 1).out


@pytest.mark.slow
def test_another_embedder_is_refused(folder: Path, tmp_path: Path) -> None:
    assert run_here("index", "docs").code == 0
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    vocabulary = sorted({word for text in FILES.values() for word in text.lower().split()})
    model = tmp_path / "model"
    SentenceTransformer(modules=[BoW(vocabulary)], device="cpu").save(str(model))
    for arguments in (("index", "docs"), ("sync",), ("ask", "refund")):
        done = run_here(*arguments, "--embedding", model)
        assert done.code == 4, arguments
        assert f"made with minilm and can't be searched with {model}; leave out --embedding" in done.err
    assert run_here("config", "--json").json["remembered"]["embedding"] == "minilm"
    assert run_here("index", "docs", "--embedding", model, "--index", "bag").code == 0
    assert run_here("config", "--json", "--index", "bag").json["remembered"]["embedding"] == str(model)
    assert "100 bookings" in run_here("ask", "bookings", "-k", 1, "--index", "bag").out


@pytest.mark.process
@pytest.mark.slow
def test_sync_as_a_process(own: Path) -> None:
    (own / "docs/backups.md").unlink()
    assert run_forked("sync", "--json", cwd=own).json["deleted"] == [str(own / "docs/backups.md")]
    assert run_forked("sync", cwd=own).out == "3 unchanged\n"
