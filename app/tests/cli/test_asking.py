"""``ask``, ``explain`` and ``why``."""

import re
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from app.tests.cli.conftest import filter_of, run_here
from tests.openai_server import openai_server

QUESTION = "After how many bookings is it refused?"
ANSWER = 'It is refused "once more than 100 bookings have been taken" [1], and never "on Sundays" [1].'
MODEL = ("--model", "openai:gpt-5-mini")


def unstyled(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_windows_are_shown_with_their_place_and_marked_hits(here: Path) -> None:
    done = run_here("ask", QUESTION, "-k", 1)
    place, text = done.out.splitlines()
    assert re.fullmatch(r"1   docs/policy.md, line 5 \(Refunds > Annual plans\) · sentences 2–3 · score \d\.\d+", place)
    assert text == (
        "    «A customer on an annual plan may ask for a refund within 30 days.» «It is refused once more than 100 "
        "bookings have been taken.»"
    )
    assert re.fullmatch(r"1 window, about \d+ tokens, \d\.\d\d s\n", done.err)
    assert done.code == 0
    as_json = run_here("ask", QUESTION, "-k", 1, "--json", "--quiet")
    (window,) = as_json.json["windows"]
    assert as_json.err == ""
    assert window["number"] == 1
    assert window["text"] == text.strip().replace("«", "").replace("»", "")
    assert window["location"].startswith(f"{here}/docs/policy.md, line 5 (")
    assert window["metadata"]["heading"] == "Refunds > Annual plans"


def test_a_question_needs_no_quotes_and_settings_are_obeyed(here: Path) -> None:
    quoted = run_here("ask", QUESTION, "-k", 2, "--window", 0, "--json").json
    unquoted = run_here("ask", *QUESTION.split(), "-k", 2, "-w", "0,0", "--json").json
    assert quoted == unquoted
    assert len(quoted["windows"]) == 2
    assert quoted != run_here("ask", QUESTION, "-k", 2, "--window", 2, "--json").json
    filtered = run_here("ask", QUESTION, "--filter", filter_of(here / "docs/backups.md"), "--json")
    assert {each["metadata"]["doc_id"] for each in filtered.json["windows"]} == {str(here / "docs/backups.md")}
    short = run_here("ask", QUESTION, "--max-tokens", 12, "--json").json["windows"]
    assert sum(len(each["text"]) for each in short) < 80
    ordered = run_here("ask", QUESTION, "--set", "order=edges", "--json").json["windows"]
    assert ordered != run_here("ask", QUESTION, "--json").json["windows"]


def test_an_empty_result_exits_with_1(here: Path) -> None:
    for output in ([], ["--json"]):
        done = run_here("ask", "Who?", "--filter", '{"source": "none"}', *output)
        assert (done.code, done.err) == (1, "Nothing was found.\n")
        assert done.out == "" or done.json["windows"] == []
    assert run_here("explain", "Who?", "--filter", '{"source": "none"}').code == 1


def test_a_doubt_and_other_places_of_a_text_are_shown(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_here("ask", "When did the Roman empire fall?", "-k", 1)
    doubt, empty, place, *_ = done.out.splitlines()
    assert (doubt, empty, done.code) == ("These passages may not answer the question.", "", 0)
    assert place.startswith("1   docs/")
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        Path(f"{number}.md").write_text("Backups are kept for thirty-five days in a locked room.", encoding="utf-8")
    run_here("index", ".")
    shown = run_here("ask", "How long are backups kept?").out
    assert shown.endswith("    the same text is in 2 other places\n")


def test_text_of_documents_and_answers_is_never_interpreted(here: Path) -> None:
    for env in ({}, {"FORCE_COLOR": "1", "COLUMNS": "100"}):
        bare = unstyled(run_here("ask", "Is a zebra striped?", "-k", 1, env=env).out)
        for text in ("[bold]and bold[/bold] [2J", "docs/odd [bold] name.md", "(Odd [red]heading[/red])"):
            assert text in bare
        assert not {"\x1b", "\u202e", "\x07"} & set(bare)
    as_json = run_here("ask", "Is a zebra striped?", "-k", 1, "--json")
    assert "\x1b[2J" in as_json.json["windows"][0]["text"]
    assert not {"\x1b", "\u202e"} & set(as_json.out)
    odd = run_here("why", QUESTION, "odd [bold] name.md", 1).out
    assert "[bold]and bold[/bold] [2J" in odd
    assert "\x1b" not in odd
    with openai_server(lambda messages: "\x1b[2J[bold]no[/bold] \u202eno") as server:
        env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        assert run_here("ask", QUESTION, *MODEL, env=env).out == "[2J[bold]no[/bold] no\n"


def test_a_terminal_gets_bold_hits_in_lines_that_fit_it(here: Path) -> None:
    for columns in (25, 100):
        env = {"FORCE_COLOR": "1", "COLUMNS": str(columns)}
        done = run_here("ask", "What do cats eat?", "-k", 3, env=env)
        assert "\x1b[1;4m" in done.out
        assert "«" not in done.out
        lines = unstyled(done.out + run_here("explain", QUESTION, env=env).out).splitlines()
        assert all(cell_len(line) <= columns for line in lines)
        assert "東京の猫は魚を食べる。" in "".join(unstyled(done.out).split())
    plain = run_here("ask", QUESTION, "-k", 1, env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert not re.search(r"\x1b\[(?!0m)(?![124](;[124])*m)", plain.out)


def test_explain_shows_what_happened_to_hits_and_windows(here: Path) -> None:
    windows, _, hits = run_here("explain", QUESTION, "-k", 1).out.partition("\nhits\n")
    assert "\nwindows\n" in windows
    assert "policy.md" in windows
    assert "policy.md" in hits
    trace = run_here("explain", QUESTION, "-k", 1, "--json").json
    assert (trace["query"], trace["windows"][0]["returned"]) == (QUESTION, 1)


def test_why_shows_what_happened_to_a_sentence(here: Path) -> None:
    found = run_here("why", QUESTION, "policy.md", 3, "-k", 1)
    assert found.code == 0
    assert "It is refused once more than 100 bookings have been taken." in found.out
    assert run_here("why", QUESTION, "policy.md", 3, "-k", 1, "--json").json["outcome"] == "returned"
    left_out = run_here("why", QUESTION, "backups.md", 2, "-k", 1, "--json")
    assert left_out.code == 0
    assert left_out.json["outcome"] != "returned"
    assert left_out.json["text"] == "It is kept for 35 days."
    missing = run_here("why", QUESTION, "policy.md", 9)
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == (
        "There is no sentence 9, or the filter excludes it: docs/policy.md has 9 sentences, numbered from 0.\n"
    )
    assert run_here("why", QUESTION, "policy.md", 10**30, "--json").json["outcome"] == "missing"


def test_a_chat_model_answers_with_citations_and_verdicts(here: Path) -> None:
    with openai_server(lambda messages: ANSWER) as server:
        env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        done = run_here("ask", QUESTION, "-k", 2, *MODEL, env=env)
        read = run_here("ask", QUESTION, "-k", 2, *MODEL, "--json", env=env).json
    answer, citation, verdicts = done.out.split("\n\n")
    assert answer == ANSWER
    assert citation == "[1] docs/policy.md, line 5 (Refunds > Annual plans)"
    first, place, second = verdicts.splitlines()
    assert first == "verbatim: once more than 100 bookings have been taken"
    assert place.strip().startswith("docs/policy.md, line 5 (")
    assert second == "not found: on Sundays"
    assert read["answer"] == ANSWER
    assert [each["number"] for each in read["citations"]] == [1]
    assert [each["verdict"] for each in read["quotes"]] == ["verbatim", "not_found"]
    assert "document" not in read["citations"][0]
    assert len(read["windows"]) == 2


def test_a_missing_library_exits_with_3(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    done = run_here("ask", QUESTION, *MODEL)
    assert done.code == 3
    assert "langchain is not installed" in done.err
    assert "pip install" in done.err


def test_an_invalid_command_is_answered_by_a_line(here: Path) -> None:
    for arguments, code, words in (
        (("ask", "q", "-k", 0), 2, "Error: k is 0; it must be a whole number, 1 or more"),
        (("ask", " "), 2, "ask with at least one word"),
        (("why", "q", "policy.md", -1), 2, "-1"),
        (("why", "q", "nobody.md", 1), 2, "the index has no document 'nobody.md'"),
        (("ask", "q", "--filter", "{}"), 2, "--filter is {}"),
        (("ask", "q", "--filter", "[" * 100_000), 2, "isn't a JSON object"),
        (("ask", "q", "--set", "order"), 2, "write NAME=VALUE"),
        (("ask", "q", "--set", "vectorstore=3"), 2, "can't set 'vectorstore'"),
        (("ask", "q", "--set", "fetchk=3"), 2, "Did you mean fetch_k?"),
        (("ask", "q", "--index", here / "docs/policy.md"), 2, "is a file"),
        (("ask", "q", "--embedding", "nobody"), 2, "'nobody'"),
        (("ask", "q", "--model", "nobody:nothing"), 4, "nobody"),
        (("ask", "q", "--index", "elsewhere"), 4, "there is no index in 'elsewhere'"),
        (("aks", "q"), 2, "Did you mean 'ask'"),
        (("ask", "\x1b[2J[bold]", "--wrong\x1b[2J"), 2, "No such option"),
    ):
        done = run_here(*arguments)
        assert (done.code, done.out) == (code, ""), arguments
        assert words in done.err, arguments
        assert "\x1b" not in done.err
        assert not any(python in done.err for python in ("filter=", "None", "add_documents", "SentenceWindowRetriever"))
