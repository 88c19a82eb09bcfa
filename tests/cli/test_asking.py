"""``ask``, ``explain`` and ``why``."""

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.conftest import only, run_apart, run_forked, run_here
from tests.openai_server import openai_server

QUESTION = "After how many bookings is it refused?"
ANSWER = 'It is refused "once more than 100 bookings have been taken" [1], and never "on Sundays" [1].'


def test_windows_are_shown_with_their_place_and_marked_hits(here: Path) -> None:
    done = run_here("ask", QUESTION, "-k", 1)
    place, text, *rest = done.out.splitlines()
    assert re.fullmatch(
        r"1   docs/policy.md, line 5 \(Refunds > Annual plans\) · sentences 2–3 · score \d\.\d\d", place
    )
    assert "«It is refused once more than 100 bookings have been taken.»" in text
    assert rest == []
    assert re.fullmatch(r"1 window, about \d+ tokens, .* m?s\n", done.err)
    assert done.code == 0


def test_a_question_needs_no_quotes_and_settings_are_obeyed(here: Path) -> None:
    quoted = run_here("ask", QUESTION, "-k", 2, "--window", 0, "--json").json
    unquoted = run_here("ask", *QUESTION.split(), "-k", 2, "-w", "0,0", "--json").json
    assert quoted == unquoted
    assert len(quoted["windows"]) == 2
    assert quoted != run_here("ask", QUESTION, "-k", 2, "--window", 2, "--json").json
    filtered = run_here("ask", QUESTION, "--filter", only(here / "docs/backups.md"), "--json")
    assert {each["metadata"]["doc_id"] for each in filtered.json["windows"]} == {str(here / "docs/backups.md")}
    short = run_here("ask", QUESTION, "--max-tokens", 12, "--json").json["windows"]
    assert sum(len(each["text"]) for each in short) < 80
    ordered = run_here("ask", QUESTION, "--set", "order=edges", "--json").json["windows"]
    assert ordered != run_here("ask", QUESTION, "--json").json["windows"]


def test_json_is_all_that_stdout_holds(here: Path) -> None:
    done = run_here("ask", QUESTION, "-k", 1, "--json", "--quiet")
    (window,) = done.json["windows"]
    assert done.err == ""
    assert window["number"] == 1
    assert window["text"] == (
        "A customer on an annual plan may ask for a refund within 30 days. It is refused once more than 100 bookings "
        "have been taken."
    )
    assert window["location"].startswith(f"{here}/docs/policy.md, line 5 (")
    assert window["metadata"]["heading"] == "Refunds > Annual plans"


def test_nothing_that_is_found_is_said_and_exits_with_1(here: Path) -> None:
    for output in ([], ["--json"]):
        done = run_here("ask", "Who?", "--filter", '{"source": "none"}', *output)
        assert (done.code, done.err) == (1, "Nothing was found.\n")
        assert done.out == "" or done.json["windows"] == []
    assert run_here("explain", "Who?", "--filter", '{"source": "none"}').code == 1


@pytest.mark.parametrize(("copies", "places"), [(2, "1 other place"), (3, "2 other places")])
def test_the_other_places_of_a_text_are_counted(
    copies: int, places: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(copies):
        Path(f"{number}.md").write_text("Backups are kept for thirty-five days in a locked room.", encoding="utf-8")
    run_here("index", ".")
    shown = run_here("ask", "How long are backups kept?").out
    assert shown.endswith(f"    the same text stands in {places}\n")


def test_text_of_documents_is_shown_and_never_interpreted(here: Path) -> None:
    for env in ({}, {"FORCE_COLOR": "1", "COLUMNS": "100"}):
        done = run_here("ask", "Is a zebra striped?", "-k", 1, env=env)
        bare = re.sub(r"\x1b\[[\d;]*m", "", done.out)
        assert "[bold]and bold[/bold] [2J" in bare
        assert "docs/odd [bold] name.md" in bare
        assert "(Odd [red]heading[/red])" in bare
        assert not {"\x1b", "\u202e", "\x07"} & set(bare)
    written = run_here("ask", "Is a zebra striped?", "-k", 1, "--json")
    assert "\x1b[2J" in written.json["windows"][0]["text"]
    assert not {"\x1b", "\u202e"} & set(written.out)


def test_a_terminal_gets_bold_hits_in_lines_that_fit_it(here: Path) -> None:
    for columns in (25, 40, 100):
        done = run_here("ask", "What do cats eat?", "-k", 3, env={"FORCE_COLOR": "1", "COLUMNS": str(columns)})
        assert "\x1b[1;4m" in done.out
        assert "«" not in done.out
        lines = re.sub(r"\x1b\[[\d;]*m", "", done.out).splitlines()
        assert all(cell_len(line) <= columns for line in lines)
        assert "".join(["東京の猫は魚を食べる。"]) in "".join(done.out.split()).replace("\x1b[0m\x1b[1;4m", "")
    plain = run_here("ask", QUESTION, "-k", 1, env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert not re.search(r"\x1b\[(?!0m)(?![124](;[124])*m)", plain.out)


def test_explain_tells_what_became_of_hits_and_windows(here: Path) -> None:
    done = run_here("explain", QUESTION, "-k", 1)
    assert re.search(r"^Windows\n +1 docs/policy.md 3 · score .* · returned as 1", done.out, re.M)
    assert re.search(r"^Hits\n +1 docs/policy.md [23] · score .*\n +(A customer|It is refused)", done.out, re.M)
    trace = run_here("explain", QUESTION, "-k", 1, "--json").json
    assert trace["query"] == QUESTION
    assert trace["windows"][0]["returned"] == 1
    narrow = run_here("explain", QUESTION, env={"FORCE_COLOR": "1", "COLUMNS": "30"})
    assert all(cell_len(line) <= 30 for line in re.sub(r"\x1b\[[\d;]*m", "", narrow.out).splitlines())


def test_why_tells_what_became_of_a_sentence(here: Path) -> None:
    found = run_here("why", QUESTION, "policy.md", 3, "-k", 1)
    assert found.code == 0
    assert "It is refused once more than 100 bookings have been taken." in found.out
    assert run_here("why", QUESTION, "policy.md", 3, "-k", 1, "--json").json["outcome"] == "returned"
    left_out = run_here("why", QUESTION, "backups.md", 2, "-k", 1, "--json")
    assert left_out.code == 0
    assert left_out.json["outcome"] != "returned"
    assert left_out.json["text"] == "It is kept for 35 days."
    odd = run_here("why", QUESTION, "odd [bold] name.md", 1).out
    assert "[bold]and bold[/bold] [2J" in odd
    assert "\x1b" not in odd
    for number in (9, 99, 10**30, -1, -12):
        missing = run_here("why", QUESTION, "policy.md", number)
        assert (missing.code, missing.out) == (1, "")
        assert missing.err == f"There is no sentence {number}: docs/policy.md has 9 sentences, numbered from 0.\n"
    assert run_here("why", QUESTION, "policy.md", 99, "--json").json["outcome"] == "missing"
    assert run_here("why", QUESTION, "nobody.md", 1).code == 2


def test_a_chat_model_answers_with_citations_and_verdicts(here: Path) -> None:
    with openai_server(lambda messages: ANSWER) as server:
        env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        done = run_here("ask", QUESTION, "-k", 2, "--model", "openai:gpt-5-mini", env=env)
        read = run_here("ask", QUESTION, "-k", 2, "--model", "openai:gpt-5-mini", "--json", env=env).json
    answer, citation, verdicts = done.out.split("\n\n")
    assert answer == ANSWER
    assert re.fullmatch(r"\[1\] docs/policy.md, line 5 \(Refunds > Annual plans\)", citation)
    first, place, second = verdicts.splitlines()
    assert first == "verbatim: once more than 100 bookings have been taken"
    assert place.strip().startswith("docs/policy.md, line 5 (")
    assert second == "not found: on Sundays"
    assert read["answer"] == ANSWER
    assert [each["number"] for each in read["citations"]] == [1]
    assert [each["verdict"] for each in read["quotes"]] == ["verbatim", "not_found"]
    assert len(read["windows"]) == 2


def test_an_answer_is_shown_and_never_interpreted(here: Path) -> None:
    with openai_server(lambda messages: "\x1b[2J[bold]no[/bold] \u202eno") as server:
        env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        done = run_here("ask", QUESTION, "--model", "openai:gpt-5-mini", env=env)
    assert done.out == "[2J[bold]no[/bold] no\n"


def test_mistakes_are_told_in_a_line(here: Path) -> None:
    for arguments, code, words in (
        (("ask", "q", "-k", 0), 2, "Error: k is 0; -k takes a whole number, 1 or more"),
        (("ask", "q", "--max-tokens", 0), 2, "--max-tokens takes a whole number"),
        (("ask", " "), 2, "there is no question"),
        (("explain", ""), 2, "there is no question"),
        (("why", "", "policy.md", 1), 2, "there is no question"),
        (("why", "q", "policy.md", 1, "--wrong"), 2, "--wrong"),
        (("ask", "q", "--filter", "{}"), 2, "--filter is {}"),
        (("ask", "q", "--set", "filter=3"), 2, "give it with --filter"),
        (("ask", "q", "--set", "vectorstore=3"), 2, "--set has no setting 'vectorstore'"),
        (("ask", "q", "--set", "top_k=3"), 2, "did you mean k?"),
        (("ask", "q", "--set", "order=best"), 2, "order is 'best'; --set order takes relevance, document or edges"),
        (("ask", "q", "--set", 'ranking={"cosine": 1}'), 2, "--set ranking: 'cosine' isn't the name of a signal"),
        (("ask", "q", "--set", "ranking=none.json"), 2, "'none.json'; --set ranking takes weights by signal as JSON"),
        (("ask", "q", "--index", here / "docs/policy.md"), 2, "is a file"),
        (("ask", "q", "-k", "many"), 2, "a valid integer"),
        (("ask", "q", "--filter", "{"), 2, "isn't a JSON object"),
        (("ask", "q", "--filter", '{"year": {"$never": 1}}'), 2, "$never"),
        (("ask", "q", "--window", "wide"), 2, "window is 'wide'; --window takes auto, a number of sentences such as 2"),
        (("ask", "q", "--set", "speed=3"), 2, "speed"),
        (("ask", "q", "--embedding", "nobody"), 2, "'nobody'"),
        (("ask", "q", "--model", "nobody:nothing"), 4, "nobody"),
        (("ask", "q", "--index", "elsewhere"), 4, "there is no index in 'elsewhere'"),
        (("ask",), 2, "Missing argument"),
        (("aks", "q"), 2, "Did you mean 'ask'"),
        (("ask", "\x1b[2J[bold]", "--wrong\x1b[2J"), 2, "No such option"),
    ):
        done = run_here(*arguments)
        assert done.code == code, arguments
        assert words in done.err
        assert done.out == ""
        assert "\x1b" not in done.err
        assert not any(words in done.err for words in ("filter=", "None", "add_documents", "SentenceWindowRetriever"))


@pytest.mark.process
@pytest.mark.slow
def test_asking_as_processes(here: Path) -> None:
    explained = run_forked("explain", QUESTION, "-k", 1, cwd=here)
    assert explained.code == 0
    assert "returned as 1" in explained.out
    assert run_forked("why", QUESTION, "policy.md", 3, "-k", 1, "--json", cwd=here).json["outcome"] == "returned"
    done = run_apart("ask", QUESTION, "-k", 1, cwd=here)
    assert done.code == 0
    assert "«It is refused once more than 100 bookings have been taken.»" in done.out
    assert re.fullmatch(r"1 window, .*\n", done.err)  # and no word of the libraries


def test_passages_that_may_not_answer_are_shown_below_a_sentence(here: Path) -> None:
    done = run_here("ask", "When did the Roman empire fall?", "-k", 1)
    doubt, empty, place, *_ = done.out.splitlines()
    assert (doubt, empty) == ("These passages may not answer the question.", "")
    assert place.startswith("1   docs/")
    assert done.code == 0
