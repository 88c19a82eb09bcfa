"""Questions measured on the page and settings tried on them; on the real examples."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import evaluate, read_questions, write_questions
from langchain_sentence_window.studio import create_studio
from tests.toys import BY_COSINE, WordEmbeddings, document

EXAMPLES = Path(__file__).parents[2] / "examples"
ASKED = EXAMPLES / "questions.jsonl"
QUESTIONS = read_questions(ASKED)[::2]
TEXT = "A refund is quick. It takes days.\n\nEach seat has a card. A trial ends."


@pytest.fixture(scope="module")
def retriever(recorded: Embeddings) -> SentenceWindowRetriever:
    given = [
        Document(path.read_text(encoding="utf-8"), metadata={"source": f"documents/{path.name}"})
        for path in sorted((EXAMPLES / "documents").glob("*.md"))
    ]
    return SentenceWindowRetriever.from_documents(given, recorded)


@pytest.fixture(scope="module")
def client(retriever: SentenceWindowRetriever, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    path = tmp_path_factory.mktemp("questions") / "questions.jsonl"
    write_questions(path, QUESTIONS)
    with TestClient(create_studio(retriever, questions=path), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def toy() -> Iterator[TestClient]:
    with toy_client() as client:
        yield client


def toy_client(path: Path | None = None, **settings: Any) -> TestClient:
    given = [document(TEXT, "a"), document("A backup of a replica. A page.", "b")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), path=path, **BY_COSINE)
    client = TestClient(create_studio(retriever, **settings), base_url="http://127.0.0.1")
    lines = [
        {"question": "refund", "doc_id": "a", "spans": [[0, 18]]},
        {"question": "card", "doc_id": "a", "spans": [[35, 56], [57, 70]]},
        {"question": "Gone?", "doc_id": "gone", "spans": [[0, 5]]},
    ]
    if not settings.get("read_only"):
        answer = client.post("/api/questions/import", json={"text": "\n".join(map(json.dumps, lines))})
        assert answer.status_code == 200, answer.text
    return client


def call(client: TestClient, path: str, given: object, status: int = 200) -> Any:
    answer = client.post(path, json=given)
    assert answer.status_code == status, answer.text
    return answer.json()


def ended(client: TestClient, path: str, given: object | None = None) -> dict[str, Any]:
    """Start a job, follow it to its end, and return what it was then."""
    job = call(client, path, given or {})["job"]
    answer = client.post("/api/jobs/follow", json={"number": job["number"]})
    states = [json.loads(line)["job"] for line in answer.text.splitlines()]
    return dict(states[-1])


@pytest.mark.slow
def test_the_page_says_what_evaluate_says(client: TestClient, retriever: SentenceWindowRetriever) -> None:
    expected = evaluate(retriever.model_copy(update={"k": 40}), QUESTIONS)
    found = ended(client, "/api/evaluate")["result"]
    report = expected.to_dict()
    recalls = [each["recall"] for each in report["averages"]]
    assert (found["rows"][0]["name"], found["rows"][0]["means"]) == ("recall", recalls)
    assert found["wrong_section"] == report["wrong_section"]
    assert (found["budgets"], found["count"], found["left_out"]) == ([400, 800, 1600, 3200], len(QUESTIONS), 0)
    assert [each["recall"] for each in found["questions"]] == expected.values("recall", 1600)


def test_a_question_says_what_was_missed(toy: TestClient) -> None:
    lines = [{"question": "refund", "doc_id": "b", "spans": [[0, 22], [23, 30]]}]  # which words don't lead to
    call(toy, "/api/questions/import", {"text": "\n".join(map(json.dumps, lines))})
    job = ended(toy, "/api/evaluate")
    found = job["result"]
    assert found["left_out"] == 1  # the one whose document is gone
    assert "3 questions" in found["remarks"][0]
    listed = toy.get("/api/questions").json()["questions"]
    assert [(each["number"], each["version"]) for each in found["questions"]] == [
        (each["number"], each["version"]) for each in listed if each["state"] == "ok"
    ]
    assert [each["missed"] for each in found["questions"][:2]] == [[], []]
    (last,) = found["questions"][2:]
    assert last["recall"] == 1 - sum(end - start for start, end in last["missed"]) / 29
    assert job == toy.get("/api/jobs").json()["jobs"][0]  # which the page shows when it is opened again


@pytest.mark.parametrize(
    ("path", "given", "message"),
    [
        ("/api/trial", {"other": {"k": 0}}, "k is 0"),
        ("/api/trial", {"other": {"ranking": "/etc/passwd"}}, "ranking is"),
        ("/api/trial", {"other": {"vectorstore": 1}}, "vectorstore"),
        ("/api/trial", {"settings": {"splitter": 1}, "other": {}}, "splitter"),
    ],
)
def test_what_cannot_be_measured_is_refused(toy: TestClient, path: str, given: object, message: str) -> None:
    assert message in call(toy, path, given, 400)["error"]["message"]
    assert toy.get("/api/jobs").json()["jobs"] == []


def test_without_questions_nothing_is_measured() -> None:
    retriever = SentenceWindowRetriever.from_documents([document(TEXT, "a")], WordEmbeddings(), **BY_COSINE)
    client = TestClient(create_studio(retriever), base_url="http://127.0.0.1")
    for path in ("/api/evaluate", "/api/trial"):
        given: dict[str, Any] = {"other": {}} if path == "/api/trial" else {}
        assert "there are none" in call(client, path, given, 409)["error"]["message"]
    lost = {"question": "Gone?", "doc_id": "gone", "spans": [[0, 5]]}
    call(client, "/api/questions/import", {"text": json.dumps(lost)})
    assert "is in the index" in call(client, "/api/evaluate", {}, 409)["error"]["message"]


def test_a_filter_that_is_tried_narrows_that_of_the_retriever() -> None:
    given = [document("A refund is quick.", "a", team="x"), document("A refund is slow.", "b", team="y")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)
    bound = retriever.model_copy(update={"filter": {"team": "x"}})
    with TestClient(create_studio(bound), base_url="http://127.0.0.1") as client:
        lines = [{"question": "refund", "doc_id": name, "spans": [[0, 8]]} for name in "ab"]
        call(client, "/api/questions/import", {"text": "\n".join(map(json.dumps, lines))})
        found = ended(client, "/api/trial", {"other": {"filter": {"team": {"$in": ["x", "y"]}}}})["result"]
        assert (found["count"], found["used"]) == (1, [18, 18])


def test_a_job_that_is_stopped_says_nothing(retriever: SentenceWindowRetriever) -> None:
    with TestClient(create_studio(retriever), base_url="http://127.0.0.1") as client:
        call(client, "/api/questions/import", {"text": ASKED.read_text(encoding="utf-8")})
        number = call(client, "/api/evaluate", {})["job"]["number"]
        call(client, "/api/jobs/stop", {"number": number})
        lines = client.post("/api/jobs/follow", json={"number": number}).text.splitlines()
        job = json.loads(lines[-1])["job"]
        assert (job["status"], job["result"]) == ("stopped", None)


def test_settings_are_tried_on_all_questions(toy: TestClient) -> None:
    job = ended(toy, "/api/trial", {"settings": {"k": 1, "window": 0}, "other": {"k": 1, "window": 1}})
    assert job["status"] == "done", job
    found = job["result"]
    assert (found["count"], found["left_out"]) == (2, 1)
    # Of the question on cards, a window of one sentence has one of two that are gold, and a wider one both.
    (row,) = found["won"]
    assert (row["number"], row["question"], row["after"]) == (2, "card", 1.0)
    assert row["before"] == pytest.approx(21 / 34)
    assert found["lost"] == []
    assert found["difference"]["mean"] == pytest.approx((1 - 21 / 34) / 2)
    assert found["used"][0] < found["used"][1]
    assert "2 questions" in found["remark"]
    other_way = ended(toy, "/api/trial", {"settings": {"k": 1, "window": 1}, "other": {"k": 1, "window": 0}})
    assert [row["number"] for row in other_way["result"]["lost"]] == [2]


def test_a_trial_reads_no_more_than_a_call_does(toy: TestClient) -> None:
    (same,) = [ended(toy, "/api/trial", {"other": {"k": 10}})["result"]]
    assert (same["won"], same["lost"], same["used"][0]) == ([], [], same["used"][1])
