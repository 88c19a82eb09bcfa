"""``check``, ``backup``, ``restore`` and ``config``."""

import json
from pathlib import Path

import pypdf
import pytest

from tests.cli.conftest import run_forked, run_here


def test_a_sound_index_passes_its_check_and_a_damaged_one_fails(own: Path) -> None:
    good = run_here("check")
    assert (good.code, good.err) == (0, "")
    assert good.out.startswith("no problems in 4 documents, 16 sentences\n")
    assert run_here("check", "--json").json["problems"] == []
    database = own / ".sentence-window" / "sentences.sqlite3"
    content = bytearray(database.read_bytes())
    place = content.rindex(b"once more than 100 bookings")
    content[place : place + 4] = b"ONCE"
    database.write_bytes(content)
    bad = run_here("check")
    assert bad.code == 1
    assert "isn't sound" in bad.err
    read = run_here("check", "--json")
    assert read.code == 1
    assert read.json["problems"]


def test_a_backup_takes_along_what_the_index_remembers_and_restores_it(own: Path) -> None:
    assert run_here("config", "k=3", 'ranking={"coverage": 1}').code == 0
    done = run_here("backup", "copy")
    assert done.code == 0
    assert done.out == "copy holds 4 documents, 16 sentences\n"
    again = run_here("backup", "copy")
    assert again.code == 4
    assert "holds an index already" in again.err
    assert run_here("rm", "policy.md").code == 0
    assert run_here("config", "--unset", "k").code == 0
    refused = run_here("restore", "copy", typed="n\n")
    assert refused.code == 1
    assert run_here("stats", "--json").json["store"]["documents"] == 3
    assert run_here("restore", "copy", "--yes", "--json").json["documents"] == 4
    read = run_here("stats", "--json").json
    assert read["store"]["documents"] == 4
    assert read["remembered"]["retriever"] == {"k": 3, "ranking": {"coverage": 1}}
    elsewhere = run_here("restore", "copy", "--index", "new")  # there is nothing to ask about
    assert elsewhere.code == 0
    assert len(run_here("ask", "refund", "--index", "new", "--json").json["windows"]) == 3
    missing = run_here("restore", "docs", "--yes")
    assert missing.code == 4
    assert "there is no index in 'docs'" in missing.err


def test_settings_are_remembered_shown_and_forgotten(own: Path) -> None:
    assert run_here("config", "--json").json["remembered"]["retriever"] == {}
    done = run_here("config", "k=1", "window=0,1", "order=document", "names=false", "max-tokens=none")
    assert "k           1\n" in done.out
    assert "window      0,1\n" in done.out
    remembered = run_here("config", "--json").json["remembered"]["retriever"]
    assert remembered == {"k": 1, "window": [0, 1], "order": "document", "names": False, "max_tokens": None}
    assert len(run_here("ask", "refund", "--json").json["windows"]) == 1
    assert len(run_here("ask", "refund", "-k", 2, "--json").json["windows"]) == 2
    assert run_here("config", "--unset", "k", "--unset", "window").code == 0
    assert set(run_here("config", "--json").json["remembered"]["retriever"]) == {"order", "names", "max_tokens"}


def test_settings_that_cannot_be_used_change_nothing(own: Path) -> None:
    before = (own / ".sentence-window" / "settings.json").read_text()
    for given, words in (
        (["k=0"], "k is 0"),
        (["speed=3"], "'speed'"),
        (["filter={}"], "'filter'"),
        (["window=wide"], "window"),
        (['ranking={"cosine": 1}'], "ranking: 'cosine' isn't the name of a signal; give names of dense_rank"),
        (["ranking=3"], "ranking is 3"),
        (["sources=docs"], "sentence-window index"),
        (["embedding=nobody"], "'nobody'"),
        (["k"], "write NAME=VALUE"),
        (["--unset", "k"], "nothing to forget"),
    ):
        done = run_here("config", *given)
        assert done.code == 2, given
        assert words in done.err, given
        assert (own / ".sentence-window" / "settings.json").read_text() == before


def test_settings_of_a_stranger_are_refused(own: Path) -> None:
    path = own / ".sentence-window" / "settings.json"
    for content in ("{", '{"version": 0}', json.dumps({"retriever": {"filter": {}}}), "\x1b[2J"):
        path.write_text(content)
        done = run_here("ask", "refund")
        assert (done.code, done.out) == (4, "")
        assert "settings.json' can't be used" in done.err
        assert "\x1b" not in done.err
        assert run_here("check").code == 1


def test_of_a_damaged_index_it_names_the_command_that_restores_it(own: Path) -> None:
    assert run_here("backup", "copy").code == 0
    database = own / ".sentence-window" / "sentences.sqlite3"
    data = bytearray(database.read_bytes())
    data[len(data) // 4 :] = bytes(len(data) - len(data) // 4)
    database.write_bytes(data)
    checked, read = run_here("check"), run_here("check", "--json")
    assert (checked.code, read.code) == (1, 1)
    for text in (checked.out, "\n".join(read.json["problems"]), run_here("ls").err):
        assert "FaissStore" not in text
        assert "sentence-window restore BACKUP" in text
    assert run_here("restore", "copy", "--yes").code == 0
    assert run_here("check").code == 0


@pytest.mark.process
def test_no_message_of_a_command_names_an_argument_of_python(own: Path) -> None:
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret")
    writer.write(own / "docs/locked.pdf")
    done = run_here("sync")
    assert "docs/locked.pdf is encrypted; save it without a password\n" in done.err


@pytest.mark.process
@pytest.mark.slow
def test_keeping_as_processes(own: Path) -> None:
    assert run_forked("config", "k=2", "--quiet", cwd=own).code == 0
    assert run_forked("check", cwd=own).code == 0
    assert run_forked("backup", "copy", cwd=own).code == 0
    unasked = run_forked("restore", "copy", cwd=own)  # and there is nobody to answer
    assert unasked.code == 1
    restored = run_forked("restore", "copy", "--yes", "--json", cwd=own)
    assert restored.json["documents"] == 4
