"""Questions measured, and settings tried on them."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.tests.studio.making import call, client_of, refusal
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import Question, evaluate, write_questions
from tests.toys import BY_COSINE, WordEmbeddings, document

TEXT = "A refund is quick. It takes days. A card has a limit. Each seat has a card. A trial ends."
GOLD = {
    "Is a refund quick?": ["A refund is quick.", "It takes days."],
    "Which card has a limit?": ["A card has a limit."],
    "When does a trial end?": ["A trial ends."],
}


def retriever_of(**settings: Any) -> SentenceWindowRetriever:
    given = [document(TEXT, "terms", team="a"), document("A page. A backup.", "other", team="b")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), window=0, **BY_COSINE)
    return retriever.model_copy(update=settings)


def asked() -> list[Question]:
    spans = {
        question: tuple((TEXT.index(text), TEXT.index(text) + len(text)) for text in texts)
        for question, texts in GOLD.items()
    }
    return [Question(question, "terms", spans[question], tuple(texts)) for question, texts in GOLD.items()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "questions.jsonl"
    write_questions(found, [*asked(), Question("Gone?", "nowhere", ((0, 3),))])
    return found


def client_for(path: Path, **settings: Any) -> TestClient:
    return client_of(retriever_of(**settings), questions=path)


def test_the_page_shows_what_evaluate_measures_and_what_was_missed(path: Path) -> None:
    found = call(client_for(path), "evaluate")
    report = evaluate(retriever_of(k=40), asked())
    assert (found["count"], found["left_out"], found["budgets"]) == (3, 1, [400, 800, 1600, 3200])
    assert "fewer than 20" in found["remark"]
    assert found["rows"][0]["name"] == "recall"
    assert found["rows"][0]["means"] == [json.loads(json.dumps(asdict(each.recall))) for each in report.averages]
    assert [each["recall"] for each in found["questions"]] == [each.scores[2].recall for each in report.results]
    few = call(client_for(path, min_score=0.5, lexical_weight=0), "evaluate")["questions"][0]
    missed = [TEXT[start:end] for start, end in few["missed"]]
    assert (few["recall"], missed) == (18 / 32, ["It takes days."])


def test_progress_is_reported_in_lines(path: Path) -> None:
    lines = client_for(path).post("/api/evaluate", json={}).text.splitlines()
    progress = [json.loads(line)["progress"] for line in lines[:-1]]
    assert progress[-1] == {"done": 3, "total": 3}


def test_without_gold_in_the_index_nothing_is_measured(path: Path) -> None:
    client = client_for(path, filter={"team": "b"})
    assert "none of them is in the index" in refusal(client, "evaluate", 409)
    path.unlink()
    for name in ("evaluate", "trial"):
        assert "there are none" in refusal(client, name, 409, **({"other": {}} if name == "trial" else {}))


def test_settings_are_tried_on_all_questions_as_a_call_asks(path: Path) -> None:
    client = client_for(path, k=1)
    found = call(client, "trial", settings={}, other={"window": [0, 1]})
    assert (found["count"], found["left_out"]) == (3, 1)
    assert [each["question"] for each in found["won"]] == ["Is a refund quick?"]
    assert (found["won"][0]["before"], found["won"][0]["after"]) == (18 / 32, 1.0)
    assert found["lost"] == []
    assert found["recall"][0] < found["recall"][1]
    assert found["used"][0] < found["used"][1]
    assert found["difference"]["mean"] == pytest.approx(found["recall"][1] - found["recall"][0])
    assert [each["question"] for each in call(client, "trial", settings={"window": 1}, other={})["lost"]] == [
        "Is a refund quick?"
    ]
    assert "k is 501" in refusal(client, "trial", 400, other={"k": 501})


def test_a_filter_that_is_tried_narrows_that_of_the_retriever(path: Path) -> None:
    client = client_for(path, filter={"team": "a"})
    found = call(client, "trial", other={"filter": {"team": "b"}})
    assert found["recall"][1] == 0
    assert len(found["lost"]) == 3
    assert found["used"][1] == 0
