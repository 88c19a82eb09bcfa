"""Runs on the page: measured, swept, compared and looked into, and a ranking that is fitted; on the real examples."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.studio.question_list import MAX_RUNS, Runs
from langchain_sentence_window.evaluation import compare, evaluate, fit_ranking, read_questions, write_questions
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.studio import create_studio
from tests.toys import BY_COSINE, WordEmbeddings, document

EXAMPLES = Path(__file__).parents[2] / "examples"
ASKED = EXAMPLES / "questions.jsonl"
QUESTIONS = read_questions(ASKED)[::2] + read_questions(ASKED)[1:8:2]  # enough to fit a ranking, and quick
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


def ended(client: TestClient, path: str, given: object) -> dict[str, Any]:
    """Start a job, follow it to its end, and return what it was then."""
    job = call(client, path, given)["job"]
    answer = client.post("/api/jobs/follow", json={"number": job["number"]})
    states = [json.loads(line)["job"] for line in answer.text.splitlines()]
    return dict(states[-1])


def runs_of(client: TestClient, path: str, given: object) -> list[dict[str, Any]]:
    job = ended(client, path, given)
    assert job["status"] == "done", job
    every = {run["number"]: run for run in client.get("/api/runs").json()["runs"]}
    return [every[number] for number in job["result"]["runs"]]


@pytest.mark.slow
def test_a_run_says_what_evaluate_says(client: TestClient, retriever: SentenceWindowRetriever) -> None:
    expected = evaluate(retriever.model_copy(update={"k": 40, "window": 1}), QUESTIONS, [400, 1600])
    (run,) = runs_of(client, "/api/evaluate", {"budgets": [1600, 400], "settings": {"window": 1}, "name": " One "})
    report = expected.to_dict()
    assert run["averages"] == report["averages"]
    assert run["wrong_section"] == report["wrong_section"]
    assert (run["name"], run["budgets"], run["settings"]) == ("One", [400, 1600], {"window": 1})
    assert (run["k"], run["count"], run["left_out"]) == (40, len(QUESTIONS), 0)
    rows = client.get("/api/runs/questions", params={"run": run["number"]}).json()["questions"]
    assert [each["recall"] for each in rows] == [[round(s.recall, 4) for s in each.scores] for each in expected.results]
    assert not any(each["is_stale"] for each in rows)


@pytest.mark.slow
def test_a_sweep_compares_settings_question_by_question(client: TestClient, retriever: SentenceWindowRetriever) -> None:
    runs = runs_of(client, "/api/sweep", {"budgets": [800], "values": {"window": ["auto", [0, 2]]}})
    assert [run["name"] for run in runs] == ["as it is", "window=(0, 2)"]  # auto is what it is
    assert len({run["group"] for run in runs}) == 1
    given = {"one": runs[0]["number"], "others": [run["number"] for run in runs[1:]]}
    found = call(client, "/api/runs/compare", given)["differences"]
    windows: list[Any] = ["auto", (0, 2)]
    copies = {str(window): retriever.model_copy(update={"k": 40, "window": window}) for window in windows}
    expected = compare(copies, QUESTIONS, [800])
    for each, name in zip(found, ["(0, 2)"], strict=True):
        difference = expected.difference(name, "auto", 800)
        assert each["recall"] == [{"mean": difference.mean, "low": difference.low, "high": difference.high}]
        assert (each["budgets"], each["count"], each["other"]) == ([800], len(QUESTIONS), runs[0]["number"])


@pytest.mark.slow
def test_a_fit_says_what_fit_ranking_says(client: TestClient, retriever: SentenceWindowRetriever) -> None:
    expected = fit_ranking(retriever, QUESTIONS, [400, 1600])
    job = ended(client, "/api/fit", {"budgets": [400, 1600]})
    found = job["result"]
    assert job["status"] == "done"
    assert found["gain"] == {"mean": expected.gain.mean, "low": expected.gain.low, "high": expected.gain.high}
    assert found["is_recommended"] is expected.is_recommended
    assert Ranking(found["ranking"]).weights == expected.ranking.weights


def test_a_question_says_what_was_read_and_missed(toy: TestClient) -> None:
    (run,) = runs_of(toy, "/api/evaluate", {"budgets": [21, 200], "settings": {"window": 0}})
    assert run["left_out"] == 1  # the one whose document is gone
    rows = toy.get("/api/runs/questions", params={"run": run["number"]}).json()["questions"]
    assert [(each["question"], each["recall"][1]) for each in rows] == [("refund", 1.0), ("card", 1.0)]
    found = toy.get("/api/runs/question", params={"run": run["number"], "question": 2}).json()
    assert [each["budget"] for each in found["at"]] == [21, 200]
    assert [each["missed"] for each in found["at"]] == [[[57, 70]], []]
    assert found["read"][0] == ["a", 35, 56]
    assert sum(end - start for _, start, end in found["read"]) <= 200


def test_a_question_that_was_changed_since_is_stale(toy: TestClient) -> None:
    (run,) = runs_of(toy, "/api/evaluate", {})
    one, two, _ = [(each["number"], each["version"]) for each in toy.get("/api/questions").json()["questions"]]
    call(toy, "/api/questions/change", {"number": one[0], "version": one[1], "question": "A refund?"})
    call(toy, "/api/questions/delete", {"number": two[0], "version": two[1]})
    rows = toy.get("/api/runs/questions", params={"run": run["number"]}).json()["questions"]
    assert [(each["number"], each["is_stale"]) for each in rows] == [(1, True), (2, True)]
    call(toy, "/api/questions/undo", {})
    rows = toy.get("/api/runs/questions", params={"run": run["number"]}).json()["questions"]
    assert [each["is_stale"] for each in rows] == [True, False]


def test_every_question_can_be_asked(toy: TestClient) -> None:
    with pytest.warns(UserWarning, match="'gone'"):
        (run,) = runs_of(toy, "/api/evaluate", {"leave_out_lost": False, "budgets": [200]})
    assert (run["count"], run["left_out"]) == (3, 0)
    rows = toy.get("/api/runs/questions", params={"run": run["number"]}).json()["questions"]
    assert rows[2]["recall"] == [0.0]


@pytest.mark.parametrize(
    ("path", "given", "message"),
    [
        ("/api/evaluate", {"budgets": []}, "budgets"),
        ("/api/evaluate", {"budgets": [0]}, "budget"),
        ("/api/evaluate", {"settings": {"k": 0}}, "k is 0"),
        ("/api/evaluate", {"settings": {"ranking": "/etc/passwd"}}, "ranking is"),
        ("/api/evaluate", {"settings": {"vectorstore": 1}}, "vectorstore"),
        ("/api/evaluate", {"settings": {"splitter": 1}}, "splitter"),
        ("/api/sweep", {"values": {}}, "at least one value"),
        ("/api/sweep", {"values": {"window": []}}, "at least one value"),
        ("/api/sweep", {"values": {"filter": [{"a": 1}]}}, "at least one value"),
        ("/api/sweep", {"values": {"k": [1, "many"]}}, "k"),
        ("/api/sweep", {"values": {"k": list(range(1, 40)), "window": [0, 1]}}, "78 combinations"),
        ("/api/fit", {"budgets": [400], "settings": {}}, "settings"),
    ],
)
def test_what_cannot_be_measured_is_refused(toy: TestClient, path: str, given: object, message: str) -> None:
    answer = toy.post(path, json=given)
    if answer.status_code == 200:  # found out by the job
        states = toy.post("/api/jobs/follow", json={"number": answer.json()["job"]["number"]}).text.splitlines()
        job = json.loads(states[-1])["job"]
        assert job["status"] == "failed"
        assert message in job["error"]["message"]
    else:
        assert answer.status_code == 400
        assert message in answer.json()["error"]["message"]
    assert toy.get("/api/runs").json()["runs"] == []


def test_without_questions_nothing_is_measured() -> None:
    retriever = SentenceWindowRetriever.from_documents([document(TEXT, "a")], WordEmbeddings(), **BY_COSINE)
    client = TestClient(create_studio(retriever), base_url="http://127.0.0.1")
    for path in ("/api/evaluate", "/api/fit", "/api/trial"):
        given: dict[str, Any] = {"other": {}} if path == "/api/trial" else {}
        assert "there are none" in call(client, path, given, 409)["error"]["message"]
    lost = {"question": "Gone?", "doc_id": "gone", "spans": [[0, 5]]}
    call(client, "/api/questions/import", {"text": json.dumps(lost)})
    assert "is in the index" in call(client, "/api/evaluate", {}, 409)["error"]["message"]


def test_a_fit_with_few_questions_fails_and_says_why(toy: TestClient) -> None:
    job = ended(toy, "/api/fit", {})
    assert job["status"] == "failed"
    assert "give at least 20" in job["error"]["message"]


def test_a_filter_of_a_run_narrows_that_of_the_retriever() -> None:
    given = [document("A refund is quick.", "a", team="x"), document("A refund is slow.", "b", team="y")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)
    bound = retriever.model_copy(update={"filter": {"team": "x"}})
    with TestClient(create_studio(bound), base_url="http://127.0.0.1") as client:
        lines = [{"question": "refund", "doc_id": name, "spans": [[0, 8]]} for name in "ab"]
        call(client, "/api/questions/import", {"text": "\n".join(map(json.dumps, lines))})
        (run,) = runs_of(client, "/api/evaluate", {"settings": {"filter": {"team": {"$in": ["x", "y"]}}}})
        assert run["count"] == 1
        found = client.get("/api/runs/question", params={"run": run["number"], "question": 1}).json()
        assert [each[0] for each in found["read"]] == ["a"]


def test_a_job_that_is_stopped_leaves_no_run(retriever: SentenceWindowRetriever) -> None:
    with TestClient(create_studio(retriever), base_url="http://127.0.0.1") as client:
        call(client, "/api/questions/import", {"text": ASKED.read_text(encoding="utf-8")})
        number = call(client, "/api/sweep", {"values": {"window": [0, 1, 2, 3]}})["job"]["number"]
        call(client, "/api/jobs/stop", {"number": number})
        lines = client.post("/api/jobs/follow", json={"number": number}).text.splitlines()
        assert json.loads(lines[-1])["job"]["status"] == "stopped"
        assert client.get("/api/runs").json()["runs"] == []


def test_what_is_not_there_is_not_found(toy: TestClient) -> None:
    (run,) = runs_of(toy, "/api/evaluate", {})
    for path, given in (
        ("/api/runs/questions", {"run": 9}),
        ("/api/runs/question", {"run": run["number"], "question": 3}),
    ):
        assert toy.get(path, params=given).status_code == 404
    call(toy, "/api/runs/compare", {"one": run["number"], "others": [9]}, 404)
    assert call(toy, "/api/runs/forget", {"runs": [run["number"], 77]})["runs"] == []


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
    assert toy.get("/api/runs").json()["runs"] == []
    other_way = ended(toy, "/api/trial", {"settings": {"k": 1, "window": 1}, "other": {"k": 1, "window": 0}})
    assert [row["number"] for row in other_way["result"]["lost"]] == [2]


def test_a_trial_reads_no_more_than_a_call_does(toy: TestClient) -> None:
    (same,) = [ended(toy, "/api/trial", {"other": {"k": 10}})["result"]]
    assert (same["won"], same["lost"], same["used"][0]) == ([], [], same["used"][1])
    assert "k is 0" in call(toy, "/api/trial", {"other": {"k": 0}}, 400)["error"]["message"]


def test_the_oldest_runs_are_forgotten(toy: TestClient) -> None:
    studio = toy.app.state.studio  # type: ignore[attr-defined]
    entries = studio.question_list.all()[:1]
    report = evaluate(studio.retriever, [entries[0].question], [400])
    runs = Runs()
    for number in range(MAX_RUNS + 2):
        runs.add(report, entries, name=f"{number}", group=1, settings={}, k=1, remarks=(), left_out=0)
    assert [run.name for run in runs.all()] == [str(number) for number in reversed(range(2, MAX_RUNS + 2))]
