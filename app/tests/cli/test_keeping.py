"""``check``, ``backup``, ``restore`` and ``config``."""

import json
from pathlib import Path

import pypdf
import pytest

from app.tests.cli.conftest import run_here

INDEX = Path(".sentence-window")
DATABASE = INDEX / "sentences.sqlite3"


def test_a_damaged_index_fails_its_check_and_is_restored(own: Path) -> None:
    good = run_here("check")
    assert (good.code, good.err) == (0, "")
    assert good.out.startswith("no problems in 4 documents, 16 sentences\n")
    assert run_here("check", "--json").json["problems"] == []
    assert run_here("backup", "copy").code == 0
    whole = DATABASE.read_bytes()
    DATABASE.write_bytes(whole.replace(b"once more than 100 bookings", b"ONCE more than 100 bookings"))
    bad = run_here("check")
    assert bad.code == 1
    assert "isn't sound" in bad.err
    DATABASE.write_bytes(whole[: len(whole) // 4] + bytes(len(whole) - len(whole) // 4))
    checked, as_json = run_here("check"), run_here("check", "--json")
    assert (checked.code, as_json.code) == (1, 1)
    for text in (checked.out, "\n".join(as_json.json["problems"]), run_here("ls").err):
        assert "FaissStore" not in text
        assert "sentence-window restore BACKUP" in text
    assert run_here("restore", "copy", "--yes").code == 0
    assert run_here("check").code == 0


def test_a_backup_contains_what_the_index_remembers(own: Path) -> None:
    assert run_here("config", "k=3", 'ranking={"coverage": 1}').code == 0
    done = run_here("backup", "copy")
    assert (done.code, done.out) == (0, "copy holds 4 documents, 16 sentences\n")
    again = run_here("backup", "copy")
    assert again.code == 4
    assert "holds an index already" in again.err
    assert run_here("rm", "policy.md").code == 0
    assert run_here("config", "--unset", "k").code == 0
    assert run_here("restore", "copy", typed="n\n").code == run_here("restore", "copy").code == 1
    assert run_here("stats", "--json").json["store"]["documents"] == 3
    assert run_here("restore", "copy", "--yes", "--json").json["documents"] == 4
    stats = run_here("stats", "--json").json
    assert stats["store"]["documents"] == 4
    assert stats["remembered"]["retriever"] == {"k": 3, "ranking": {"coverage": 1}}
    assert run_here("restore", "copy", "--index", "new").code == 0  # there is nothing to replace
    assert len(run_here("ask", "refund", "--index", "new", "--json").json["windows"]) == 3
    missing = run_here("restore", "docs", "--yes")
    assert missing.code == 4
    assert "there is no index at" in missing.err


def test_settings_are_remembered_shown_and_forgotten(own: Path) -> None:
    done = run_here("config", "k=1", "window=0,1", "order=document", "names=False", "max-tokens=none")
    assert "k           1\n" in done.out
    assert "window      0,1\n" in done.out
    remembered = run_here("config", "--json").json["remembered"]["retriever"]
    assert remembered == {"k": 1, "window": [0, 1], "order": "document", "names": False, "max_tokens": None}
    assert len(run_here("ask", "refund", "--json").json["windows"]) == 1
    assert len(run_here("ask", "refund", "-k", 2, "--json").json["windows"]) == 2
    assert run_here("config", "--unset", "k", "--unset", "window").code == 0
    assert set(run_here("config", "--json").json["remembered"]["retriever"]) == {"order", "names", "max_tokens"}


def test_invalid_settings_change_nothing(own: Path) -> None:
    before = (INDEX / "settings.json").read_text()
    for given, words in (
        (["k=0"], "k is 0"),
        (["speed=3"], "'speed'"),
        (["filter={}"], "'filter'"),
        (["sources=docs"], "sentence-window index"),
        (["embedding=nobody"], "'nobody'"),
        (["k"], "write NAME=VALUE"),
        (["--unset", "k"], "nothing to forget"),
    ):
        done = run_here("config", *given)
        assert done.code == 2, given
        assert words in done.err, given
        assert (INDEX / "settings.json").read_text() == before


def test_invalid_files_of_settings_are_refused(own: Path) -> None:
    for content in ('{"version": 0}', json.dumps({"retriever": {"filter": {}}}), "\x1b[2J"):
        (INDEX / "settings.json").write_text(content)
        done = run_here("ask", "refund")
        assert (done.code, done.out) == (4, "")
        assert "settings.json' can't be used" in done.err
        assert "\x1b" not in done.err
        assert run_here("check").code == 1


@pytest.mark.process
def test_messages_contain_no_python(own: Path) -> None:
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret")
    writer.write(own / "docs/locked.pdf")
    done = run_here("sync")
    assert "docs/locked.pdf is encrypted; save it without a password\n" in done.err
