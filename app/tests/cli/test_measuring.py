"""``evaluate`` and ``sweep``."""

from pathlib import Path

import pytest

from app.tests.cli.conftest import FILES, filter_of, run_here
from langchain_sentence_window.evaluation import Question, write_questions

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
    done = run_here("evaluate", asked, "--budgets", "50,400")
    assert done.out.startswith("8 questions, means in % [95% interval]\n")
    report = run_here("evaluate", asked, "--budgets", "50,400", "--json").json
    assert report["budgets"] == [50, 400]
    assert report["averages"][1]["recall"]["mean"] > 0.9
    assert [each["question"] for each in report["questions"]] == list(ASKED)
    few = run_here("evaluate", asked, "--budgets", "400", "-k", 1, "--window", 0, "--json").json
    assert {len(each["found"]) for each in few["questions"]} == {1}
    within = run_here("evaluate", asked, "--filter", filter_of(here / "docs/backups.md"), "--budgets", "400", "--json")
    assert "6 of 8 questions aren't counted" in within.err
    assert [len(within.json["questions"]), len(within.json["lost"])] == [2, 6]
    assert within.json["averages"][0]["recall"]["mean"] == 1


def test_answers_are_measured_by_the_sentences_that_contain_them(here: Path, tmp_path: Path) -> None:
    table = tmp_path / "asked.csv"
    rows = [f'"{question}","{text}"' for question, (_, text) in ASKED.items() if "|" not in text]
    rows += ["What is the price of the annual plan?,Are monthly plans refunded?", "Who?,"]
    table.write_text("question,answer\n" + "\n".join(rows), encoding="utf-8")
    done = run_here("evaluate", table, "--budgets", "50,400")
    assert done.out.startswith("6 questions, means in %")
    assert "2 of 8 questions have no gold" in done.err
    assert "What is the price of the annual plan?; Who?" in done.err
    found = run_here("evaluate", table, "--budgets", "400", "--json", "--quiet").json["questions"]
    gold = {each.question: each.spans for each in questions()}
    for each in found:
        ((start, end),), ((first, last),) = gold[each["question"]], each["spans"]
        assert first <= start < end <= last, each  # the whole sentences
    table.write_text("question,answer\nWhy?,\n", encoding="utf-8")
    none = run_here("evaluate", table)
    assert (none.code, "none of the questions has gold" in none.err) == (2, True)


def test_settings_are_swept(here: Path, asked: Path) -> None:
    tried = ("--window", "auto", "--window", "0,1", "-k", "1,3", "--set", "lexical_weight=0")
    done = run_here("sweep", asked, *tried, "--budgets", "100", "--json").json
    assert len(done) == 4
    assert "window=(0, 1), k=3, lexical_weight=0" in done
    assert "k=40" in run_here("sweep", asked, "--budgets", "100").out
    assert run_here("sweep", asked, "--set", "speed=3").code == 2


def test_invalid_questions_and_budgets_are_refused(here: Path, asked: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"question": "\x1b[2J')
    for path, words in ((tmp_path / "none.jsonl", "can't be read"), (broken, "line 1 of"), (tmp_path, "can't be read")):
        done = run_here("evaluate", path)
        assert done.code == 2
        assert words in done.err
        assert "\x1b" not in done.err
    for command, *arguments in (["evaluate", "--budgets", "0"], ["evaluate", "--budgets", "a"], ["sweep", "-k", "1,"]):
        assert run_here(command, asked, *arguments).code == 2, arguments


def test_questions_about_missing_documents_are_left_out(here: Path, tmp_path: Path) -> None:
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
