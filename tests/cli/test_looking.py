"""``ls``, ``show``, ``rm`` and ``stats``."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from langchain_sentence_window.apps.cli.opened_index import NameLookup, open_to_read
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.errors import InvalidInputError
from tests.cli.conftest import FILES, only, run_apart, run_forked, run_here


@contextmanager
def opened(index: str) -> Iterator[NameLookup]:
    """The names of the documents of an index."""
    with open_to_read(Path(index)) as retriever:
        yield NameLookup(retriever.documents())


def test_documents_are_listed(here: Path) -> None:
    done = run_here("ls")
    titles, *rows = done.out.splitlines()
    assert titles.split() == ["document", "title", "sentences", "added"]
    assert {re.split(r" {2,}", row)[0] for row in rows} == set(FILES)
    assert all(row.startswith(("docs/", "docs/東京")) for row in rows)
    assert len({cell_len(row) for row in rows}) == 1
    assert re.fullmatch(r"4 documents, \d+ sentences\n", done.err)
    listed = run_here("ls", "--json").json["documents"]
    assert {each["doc_id"] for each in listed} == {str(here / name) for name in FILES}
    assert all(datetime.fromisoformat(each["added"]).tzinfo for each in listed)
    (one,) = run_here("ls", "--filter", only(here / "docs/policy.md"), "--json").json["documents"]
    assert one["sentences"] == 9
    nothing = run_here("ls", "--filter", '{"source": "none"}')
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "No documents were found.\n")


def test_a_narrow_terminal_cuts_titles_then_names(here: Path) -> None:
    for columns in (50, 60, 80):
        done = run_here("ls", env={"FORCE_COLOR": "1", "COLUMNS": str(columns)})
        lines = re.sub(r"\x1b\[[\d;]*m", "", done.out).splitlines()
        assert all(cell_len(line) <= columns for line in lines)


def test_a_document_is_shown_as_the_index_holds_it(here: Path) -> None:
    done = run_here("show", "docs/policy.md")
    assert done.out == FILES["docs/policy.md"]
    odd = run_here("show", "docs/odd [bold] name.md").out
    assert "[bold]and bold[/bold] [2J]8;;https://evil.example\\here" in odd
    assert not {"\x1b", "\u202e"} & set(odd)
    shown = run_here("show", "docs/odd [bold] name.md", "--json")
    assert shown.json["text"] == FILES["docs/odd [bold] name.md"].rstrip("\n")
    assert shown.json["document"] == str(here / "docs/odd [bold] name.md")


def test_sentences_are_numbered_and_chosen(here: Path) -> None:
    lines = run_here("show", "docs/policy.md", "--sentences").out.splitlines()
    assert lines[2:4] == [
        "2  A customer on an annual plan may ask for a refund within 30 days.",
        "3  It is refused once more than 100 bookings have been taken.",
    ]
    assert run_here("show", "docs/policy.md", "--sentences", "--window", "3").out.splitlines() == lines[3:4]
    assert run_here("show", "docs/policy.md", "--window", "1-3").out == (
        "## Annual plans\n\nA customer on an annual plan may ask for a refund within 30 days. It is refused once more"
        " than 100 bookings have been taken.\n"
    )
    text = FILES["docs/policy.md"]
    sentences = run_here("show", "docs/policy.md", "--window", "0-99", "--json").json["sentences"]
    assert [each["number"] for each in sentences] == list(range(9))
    assert all(text[each["start"] : each["end"]] == each["text"] for each in sentences)
    beyond = run_here("show", "docs/policy.md", "--window", "9-12")
    assert (beyond.code, beyond.out, beyond.err) == (1, "", "docs/policy.md has no such sentences.\n")
    assert run_here("show", "docs/policy.md", "--window", "later").code == 2


def test_documents_are_found_by_their_id_their_path_and_its_end(own: Path) -> None:
    (own / "docs" / "old").mkdir()
    (own / "docs" / "old" / "backups.md").write_text("# Old backups\n\nThere were none.\n")
    assert run_here("index", "docs").code == 0
    for name in (
        "docs/policy.md",
        "policy.md",
        own / "docs" / "policy.md",
        "./docs/policy.md",
        "docs/old/../policy.md",
    ):
        assert run_here("show", name, "--json").json["document"] == str(own / "docs/policy.md")
    assert run_here("show", "old/backups.md", "--json").json["document"] == str(own / "docs/old/backups.md")
    several = run_here("show", "backups.md")
    assert several.code == 2
    assert "'backups.md' could be any of 2 documents, such as 'docs/backups.md', 'docs/old/backups.md'" in several.err
    none = run_here("show", "ackups.md")
    assert (none.code, none.err) == (
        2,
        "Error: the index has no document 'ackups.md'; see what it has with: sentence-window ls\n",
    )


ODD_NAMES = (
    "a very long folder name/one/file number 1 of many.md",
    "a very long folder name/two/file number 1 of many.md",
    "new\nline.md",
    "two  spaces.md",
    "\x1b[2J\u202e.md",
    "back\\nslash.md",
    "it's.md",
    "cafe\u0301.md",
    "東京の長い名前の文書です.md",
    "report.v2.md",
)


def test_every_name_that_is_shown_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ODD_NAMES:
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# A title of some length for {ODD_NAMES.index(name)}\n\nA text.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    index = str(tmp_path / "index")
    assert run_here("index", "docs", "--index", index).code == 0
    sources = {str(tmp_path / "docs" / name) for name in ODD_NAMES}
    for columns in (None, "200", "60", "40", "20"):
        for folder in (tmp_path, tmp_path / "docs", tmp_path.parent):
            monkeypatch.chdir(folder)
            env = {"FORCE_COLOR": "1", "COLUMNS": columns} if columns else {}
            listed = re.sub(r"\x1b\[[\d;]*m", "", run_here("ls", "--index", index, env=env).out).splitlines()[1:]
            shown = [re.split(r" +(A title|A t.*…)", line)[0] for line in listed]
            with opened(index) as names:
                assert {names.find(each) for each in shown} == sources


def test_names_are_found_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    ids = [*(str(tmp_path / name) for name in ODD_NAMES), "https://example.com/"]
    names = NameLookup(IndexedDocument(doc_id, None, None, 1, None, {}) for doc_id in ids)
    for given, name in (
        ("it's", "it's.md"),
        ("./it's.md/", "it's.md"),
        ("~/it's.md", "it's.md"),
        ("link/it's.md", "it's.md"),
        (tmp_path / "link" / ".." / "it's", "it's.md"),
        ("report.v2", "report.v2.md"),
        ("caf\u00e9", "cafe\u0301.md"),
        ("two spaces.md", "two  spaces.md"),
        ("new line", "new\nline.md"),
        ("new\\nline.md", "new\nline.md"),
        ("\\x1b[2J\\u202e.md", "\x1b[2J\u202e.md"),
        ("\\u001b[2J\\u202e.md", "\x1b[2J\u202e.md"),
        ("back\\\\nslash", "back\\nslash.md"),
        ("two/file number 1 of many", ODD_NAMES[1]),
        ("a very…/one/file…", ODD_NAMES[0]),
    ):
        assert names.find(str(given)) == str(tmp_path / name), given
    assert names.find("https://example.com") == "https://example.com/"
    with pytest.raises(
        InvalidInputError, match="could be any of 2 documents, such as 'a very long folder name/one/file"
    ):
        names.find("file number 1 of many")
    for unknown in ("", "/", ".md", "md", "…nothing", "eport.v2"):
        with pytest.raises(InvalidInputError, match="the index has no document"):
            names.find(unknown)


def test_documents_are_removed_and_their_files_stay(own: Path) -> None:
    done = run_here("rm", "policy.md", "docs/policy.md", "backups.md")
    assert done.out == "removed docs/policy.md\nremoved docs/backups.md\n"
    assert (own / "docs" / "policy.md").exists()
    assert len(run_here("ls", "--json").json["documents"]) == 2
    assert run_here("rm", "policy.md").code == 2
    filtered = run_here("rm", "--filter", only(own / "docs/東京.txt"), "--json")
    assert filtered.json == {"removed": [str(own / "docs/東京.txt")], "documents": 1}
    nothing = run_here("rm", "--filter", only(own / "docs/東京.txt"))
    assert (nothing.code, nothing.err) == (1, "No documents were found.\n")
    assert run_here("rm").code == 2
    assert [each["doc_id"] for each in run_here("ls", "--json").json["documents"]] == [
        str(own / "docs/odd [bold] name.md")
    ]


def test_stats_tell_what_an_index_holds_and_remembers(here: Path) -> None:
    facts = dict(re.split(r" {2,}", line, maxsplit=1) for line in run_here("stats").out.splitlines())
    assert facts["documents"] == "4"
    assert facts["embedding"] == "minilm"
    assert facts["sources"] == str(here / "docs")
    read = run_here("stats", "--json").json
    assert read["store"]["documents"] == 4
    assert read["remembered"] == {
        "embedding": "minilm",
        "sources": [str(here / "docs")],
        "retriever": {},
        "unknown": {},
    }


def test_an_index_of_an_earlier_format_is_refused_with_what_to_do(own: Path) -> None:
    with closing(sqlite3.connect(own / ".sentence-window" / "sentences.sqlite3")) as connection:
        connection.execute("PRAGMA user_version = 8")
    done = run_here("ls")
    assert (done.code, done.out) == (4, "")
    assert "has format 8, and" in done.err
    assert "index the documents again" in done.err


@pytest.mark.process
@pytest.mark.slow
def test_an_index_is_found_in_folders_above_by_an_option_and_by_a_variable(here: Path, tmp_path: Path) -> None:
    inside = run_apart("stats", "--json", cwd=here / "docs")
    assert inside.json["index"] == "../.sentence-window"
    outside = run_apart("stats", "--json", cwd=tmp_path)
    assert outside.code == 4
    assert outside.err.startswith(
        "Error: there is no index in this folder or one above; make one with: sentence-window"
    )
    folder = str(here / ".sentence-window")
    for done in (
        run_here("stats", "--json", "--index", folder),
        run_here("stats", "--json", env={"SENTENCE_WINDOW_INDEX": folder}),
    ):
        assert done.json["index"] == folder


@pytest.mark.process
@pytest.mark.slow
def test_looking_as_processes(own: Path) -> None:
    listed = run_forked("ls", cwd=own, PYTHONIOENCODING="ascii")
    assert listed.code == 0
    assert "docs/??.txt" in listed.out
    shown = run_forked("show", "policy.md", cwd=own)
    assert shown.out == FILES["docs/policy.md"]
    removed = run_forked("rm", "policy.md", "--json", cwd=own)
    assert removed.json["documents"] == 1
