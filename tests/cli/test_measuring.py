"""``evaluate`` and ``sweep``."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from langchain_sentence_window.evaluation.questions import Question, write_questions
from tests.cli.conftest import FILES, only, run_forked, run_here

ASKED = {
    "After how many bookings is it refused?": (
        "docs/policy.md",
        "It is refused once more than 100 bookings have been taken.",
    ),
    "Within how many days may a customer ask for a refund?": (
        "docs/policy.md",
        "A customer on an annual plan may ask for a refund within 30 days.",
    ),
    "Are monthly plans refunded?": ("docs/policy.md", "Monthly plans are not refunded."),
    "What is the price of the annual plan?": ("docs/policy.md", "| annual | 96 euros |"),
    "What is the price of the monthly plan?": ("docs/policy.md", "| monthly | 9 euros |"),
    "How often is a backup made?": ("docs/backups.md", "A backup is made every night."),
    "How long is a backup kept?": ("docs/backups.md", "It is kept for 35 days."),
    "What does the cat of Tokyo eat?": ("docs/東京.txt", "The cat of Tōkyō eats fish"),
}


def questions() -> list[Question]:
    found = []
    for question, (name, text) in ASKED.items():
        start = FILES[name].index(text)
        found.append(Question(question, name, ((start, start + len(text)),)))
    return found


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    write_questions(path, questions())
    return path


def test_retrieval_is_measured(here: Path, asked: Path, tmp_path: Path) -> None:
    done = run_here("evaluate", asked, "--budgets", "50,400", "--plot", tmp_path / "plot.svg")
    assert done.out.startswith("8 questions, means in % [95% interval]\n")
    assert done.err == f"The plot is in {tmp_path / 'plot.svg'}.\n"
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    report = run_here("evaluate", asked, "--budgets", "50,400", "--json").json
    assert report["budgets"] == [50, 400]
    assert report["averages"][1]["recall"]["mean"] > 0.9
    assert [each["question"] for each in report["questions"]] == list(ASKED)
    few = run_here("evaluate", asked, "--budgets", "400", "-k", 1, "--window", 0, "--json").json
    assert {len(each["found"]) for each in few["questions"]} == {1}
    within = run_here("evaluate", asked, "--filter", only(here / "docs/backups.md"), "--budgets", "400", "--json")
    assert "6 of 8 questions aren't counted" in within.err
    assert [len(within.json["questions"]), len(within.json["lost"])] == [2, 6]
    assert within.json["averages"][0]["recall"]["mean"] == 1


def test_questions_and_answers_are_measured_by_what_says_the_answers(here: Path, asked: Path, tmp_path: Path) -> None:
    table = tmp_path / "asked.csv"
    rows = [f'"{question}","{text}"' for question, (_, text) in ASKED.items() if "|" not in text]
    rows += ["What is the price of the annual plan?,Are monthly plans refunded?", "Who?,"]
    table.write_text("question,answer\n" + "\n".join(rows), encoding="utf-8")
    done = run_here("evaluate", table, "--budgets", "50,400")
    assert done.out.startswith("6 questions, means in %")
    assert "2 of 8 questions have no gold" in done.err
    assert "'What is the price of the annual plan?', 'Who?'" in done.err
    found = run_here("evaluate", table, "--budgets", "400", "--json", "--quiet").json["questions"]
    gold = {each.question: each.spans for each in questions()}
    for each in found:
        ((start, end),), ((first, last),) = gold[each["question"]], each["spans"]
        assert first <= start < end <= last, each  # the whole sentences
    assert run_here("sweep", table, "--budgets", "50", "--window", "0").code == 0
    table.write_text("question,answer\nWhy?,\n", encoding="utf-8")
    none = run_here("evaluate", table)
    assert (none.code, "none of the questions has gold" in none.err) == (2, True)


def test_settings_are_swept(here: Path, asked: Path) -> None:
    tried = (
        "--window",
        "auto",
        "--window",
        "0,1",
        "-k",
        "1,3",
        "--set",
        "lexical_weight=0",
        "--set",
        "lexical_weight=1",
    )
    done = run_here("sweep", asked, *tried, "--budgets", "100", "--json").json
    assert len(done) == 8
    assert "window=(0, 1), k=3, lexical_weight=1" in done
    table = run_here("sweep", asked, "--budgets", "100").out
    assert "k=40" in table
    assert run_here("sweep", asked, "--set", "speed=3").code == 2


def test_questions_that_cannot_be_read_are_refused(here: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"question": "\x1b[2J')
    for path, words in ((tmp_path / "none.jsonl", "can't be read"), (broken, "line 1 of"), (tmp_path, "can't be read")):
        done = run_here("evaluate", path)
        assert done.code == 2
        assert words in done.err
        assert "\x1b" not in done.err
    write_questions(tmp_path / "one.jsonl", questions()[:1])
    for arguments in (["evaluate", "--budgets", "0"], ["evaluate", "--budgets", "a"], ["sweep", "-k", ""]):
        assert run_here(arguments[0], tmp_path / "one.jsonl", *arguments[1:]).code == 2, arguments


@pytest.mark.process
@pytest.mark.slow
def test_measuring_as_processes(here: Path, asked: Path, tmp_path: Path) -> None:
    measured = run_forked("evaluate", asked, "--budgets", "400", cwd=here)
    assert (measured.code, measured.out.partition(",")[0]) == (0, "8 questions")
    assert len(run_forked("sweep", asked, "-k", "1,3", "--budgets", "100", "--json", cwd=here).json) == 2


def test_questions_about_documents_that_are_not_there_are_told(here: Path, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    write_questions(path, [*questions()[:1], Question("Who?", "none.md", ((0, 3),))])
    done = run_here("evaluate", path)
    assert done.code == 0
    why = "'Who?': 'none.md' isn't among the documents, or the filter hides its gold; name the document as the index "
    (warned,) = done.err.splitlines()
    assert warned.startswith(f"Warning: 1 of 2 questions aren't counted, because their gold isn't found: {why}")
    assert done.out.startswith("1 questions, means in %")
    assert why in done.out
    (lost,) = run_here("evaluate", path, "--json").json["lost"]
    assert (lost["question"], lost["doc_id"], lost["spans"], lost["reason"]) == ("Who?", "none.md", [[0, 3]], "missing")
    write_questions(path, [Question("Who?", "none.md", ((0, 3),))])
    nothing = run_here("evaluate", path)
    assert (nothing.code, nothing.out) == (2, "")
    assert f"there is nothing to measure: {why}" in nothing.err
    missing = run_here("evaluate", tmp_path / "none.jsonl")
    assert missing.code == 2
    assert "none.jsonl can't be read (No such file or directory)" in missing.err
    plotted = run_here("evaluate", path, "--plot", "plot.bmp")
    assert (plotted.code, plotted.out) == (2, "")
    assert "neither .svg nor .png" in plotted.err


def test_questions_are_found_after_edits_and_in_a_renamed_folder(own: Path, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    with_text = [
        replace(each, doc_id=str(own / each.doc_id), texts=(FILES[each.doc_id][slice(*each.spans[0])],))
        for each in questions()
    ]
    write_questions(path, with_text)
    before = run_here("evaluate", path, "--budgets", "400", "--json")
    policy = own / "docs" / "policy.md"
    policy.write_text(policy.read_text().replace("\n\n", "\n\n\n\n\n", 1))  # the vectors of other text aren't recorded
    (own / "docs").rename(own / "papers")
    shutil.rmtree(own / ".sentence-window")
    assert run_here("index", "papers").code == 0
    after = run_here("evaluate", path, "--budgets", "400", "--json")
    assert (before.err, after.err, after.json["lost"]) == ("", "", [])
    assert [each["doc_id"] for each in after.json["questions"]] == [
        each["doc_id"].replace("/docs/", "/papers/") for each in before.json["questions"]
    ]
    assert any(
        was["spans"] != now["spans"] for was, now in zip(before.json["questions"], after.json["questions"], strict=True)
    )
    assert [each["texts"] for each in after.json["questions"]] == [list(each.texts) for each in with_text]
    assert after.json["averages"][0]["recall"]["mean"] > 0.9
