"""``ls``, ``show``, ``rm`` and ``stats``."""

import re
from datetime import datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from app.tests.cli.conftest import FILES, filter_of, run_here


def test_documents_are_listed(here: Path) -> None:
    done = run_here("ls")
    titles, *rows = done.out.splitlines()
    assert titles.split() == ["document", "title", "sentences", "added"]
    assert {re.split(r" {2,}", row)[0] for row in rows} == set(FILES)
    assert len({cell_len(row) for row in rows}) == 1
    assert re.fullmatch(r"4 documents, \d+ sentences\n", done.err)
    listed = run_here("ls", "--json").json["documents"]
    assert {each["doc_id"] for each in listed} == {str(here / name) for name in FILES}
    assert all(datetime.fromisoformat(each["added"]).tzinfo for each in listed)
    (one,) = run_here("ls", "--filter", filter_of(here / "docs/policy.md"), "--json").json["documents"]
    assert one["sentences"] == 9
    nothing = run_here("ls", "--filter", '{"source": "none"}')
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "No documents were found.\n")


def test_a_narrow_terminal_cuts_titles(here: Path) -> None:
    for columns in (60, 80):
        done = run_here("ls", env={"FORCE_COLOR": "1", "COLUMNS": str(columns)})
        lines = re.sub(r"\x1b\[[\d;]*m", "", done.out).splitlines()
        assert all(cell_len(line) <= columns for line in lines)
        assert all(any(line.startswith(name) for line in lines) for name in FILES)
        assert any("…" in line for line in lines) == (columns == 60)


def test_a_document_is_shown_as_the_index_holds_it(here: Path) -> None:
    assert run_here("show", "docs/policy.md").out == FILES["docs/policy.md"]
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
    for window in ("2-3", "2–3"):  # also as windows show them
        assert run_here("show", "docs/policy.md", "--window", window).out.splitlines() == lines[2:4]
    assert run_here("show", "docs/policy.md", "--window", "3").out.splitlines() == lines[3:4]
    text = FILES["docs/policy.md"]
    sentences = run_here("show", "docs/policy.md", "--window", "0-99", "--json").json["sentences"]
    assert [each["number"] for each in sentences] == list(range(9))
    assert all(text[each["start"] : each["end"]] == each["text"] for each in sentences)
    beyond = run_here("show", "docs/policy.md", "--window", "9-12")
    assert (beyond.code, beyond.out, beyond.err) == (1, "", "docs/policy.md has no such sentences.\n")
    for invalid in ("later", "5-3", "-1", "9" * 5_000):
        done = run_here("show", "docs/policy.md", f"--window={invalid}")
        assert done.code == 2
        assert "such as 12-15" in done.err


def test_documents_are_found_by_id_path_and_end_of_path(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(own))
    (own / "link").symlink_to(own / "docs", target_is_directory=True)
    (own / "docs" / "old").mkdir()
    (own / "docs" / "old" / "backups.md").write_text("# Old backups\n\nThere were none.\n")
    assert run_here("index", "docs").code == 0
    for name in (
        *("docs/policy.md", "policy.md", "policy", "./docs/policy.md/", "docs/old/../policy.md"),
        *(own / "docs" / "policy.md", "~/docs/policy", "link/policy.md"),
    ):
        assert run_here("show", name, "--json").json["document"] == str(own / "docs/policy.md"), name
    assert run_here("show", "old/backups", "--json").json["document"] == str(own / "docs/old/backups.md")
    several = run_here("show", "backups.md")
    assert several.code == 2
    assert "'backups.md' could be any of 2 documents, such as 'docs/backups.md', 'docs/old/backups.md'" in several.err
    monkeypatch.chdir(own / "docs")
    index = ("--index", own / ".sentence-window")
    assert run_here("show", "backups.md", *index, "--json").json["document"] == str(own / "docs/backups.md")
    for unknown in ("ackups.md", "", "/", ".md", "md"):
        done = run_here("show", unknown, *index)
        assert done.code == 2
        assert f"the index has no document {unknown!r}; see what it has with: sentence-window ls" in done.err


def test_every_name_that_is_printed_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        *("one/a very long name of a file.md", "two/a very long name of a file.md", "new\nline.md", "two  spaces.md"),
        *(
            "\x1b[2J\u202e.md",
            "back\\nslash.md",
            "it's.md",
            "cafe\u0301.md",
            "東京の長い名前の文書です.md",
            "report.v2.md",
        ),
    ]
    for number, name in enumerate(names):
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Odd\n\nNumber {number % 6} is odd.\n")
    monkeypatch.chdir(tmp_path)
    assert run_here("index", "docs").code == 0
    for columns in ({}, {"FORCE_COLOR": "1", "COLUMNS": "40"}):
        listed = run_here("ls", env=columns).out
        assert "\u202e" not in listed
        assert "\x1b[2J" not in listed
        printed = [re.split(r" +Odd", line)[0] for line in re.sub(r"\x1b\[[\d;]*m", "", listed).splitlines()[1:]]
        documents = [run_here("show", name, "--json").json["document"] for name in printed]
        assert sorted(documents) == sorted(str(tmp_path / "docs" / name) for name in names)
    assert run_here("show", "caf\u00e9", "--json").json["document"] == str(tmp_path / "docs" / "cafe\u0301.md")


def test_documents_are_removed_and_their_files_stay(own: Path) -> None:
    done = run_here("rm", "policy.md", "docs/policy.md", "backups.md")
    assert done.out == "removed docs/policy.md\nremoved docs/backups.md\n"
    assert (own / "docs" / "policy.md").exists()
    assert run_here("rm", "policy.md").code == run_here("rm").code == 2
    filtered = run_here("rm", "--filter", filter_of(own / "docs/東京.txt"), "--json")
    assert filtered.json == {"removed": [str(own / "docs/東京.txt")], "documents": 1}
    nothing = run_here("rm", "--filter", filter_of(own / "docs/東京.txt"))
    assert (nothing.code, nothing.err) == (1, "No documents were found.\n")
    assert [each["doc_id"] for each in run_here("ls", "--json").json["documents"]] == [
        str(own / "docs/odd [bold] name.md")
    ]


def test_stats_show_what_an_index_holds_and_remembers(here: Path) -> None:
    facts = dict(re.split(r" {2,}", line, maxsplit=1) for line in run_here("stats").out.splitlines())
    assert (facts["documents"], facts["sentences"], facts["deleted vectors"]) == ("4", "16", "0")
    assert re.search(r"\d+(\.\d+)?kB", facts["size"])
    assert (facts["embedding"], facts["sources"]) == ("minilm", str(here / "docs"))
    stats = run_here("stats", "--json").json
    assert stats["store"]["documents"] == 4
    remembered = {"embedding": "minilm", "sources": [str(here / "docs")], "retriever": {}}
    assert stats["remembered"] == remembered


def test_an_index_is_found_in_folders_above_by_an_option_and_by_a_variable(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here / "docs")
    assert run_here("stats", "--json").json["index"] == "../.sentence-window"
    monkeypatch.chdir(tmp_path)
    outside = run_here("stats", "--json")
    assert outside.code == 4
    assert outside.err.startswith(
        "Error: there is no index in this folder or one above; make one with: sentence-window"
    )
    folder = str(here / ".sentence-window")
    assert run_here("stats", "--json", "--index", folder).json["index"] == folder
    assert run_here("stats", "--json", env={"SENTENCE_WINDOW_INDEX": folder}).json["index"] == folder
