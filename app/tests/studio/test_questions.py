"""The questions of the page: made, changed, imported, exported; in a file that other programs write too."""

import asyncio
import json
import warnings
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.documents import Document
from starlette.testclient import TestClient

from app.tests.studio.making import call, client_of, read, refusal
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import Question, read_questions, write_questions
from sentence_window.studio import create_studio
from tests.toys import BY_COSINE, WordEmbeddings, document

REFUNDS = "# Refunds 😀\n\nA refund is quick. It takes days.\n\nEach seat has a card."
START = REFUNDS.index("It takes")  # code points, as Python counts
GOLD = [START, START + len("It takes days.")]
QUICK = [START - 19, START - 1]


def retriever_of(**settings: Any) -> SentenceWindowRetriever:
    given = [
        document(REFUNDS, "refunds", source="files/refunds.md", team="money"),
        document("A trial ends.", "trial", team="sales"),
    ]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)
    return retriever.model_copy(update=settings)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "questions.jsonl"


@pytest.fixture
def client(path: Path) -> TestClient:
    return client_of(retriever_of(), questions=path)


def listed(client: TestClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read(client, "questions")["questions"]
    return found


def questions(client: TestClient) -> list[str]:
    return [each["question"] for each in listed(client)]


def mark(client: TestClient, *spans: list[int], question: str = "How long?", doc_id: str = "refunds") -> Any:
    return call(client, "questions/mark", question=question, doc_id=doc_id, spans=spans)


def test_marked_text_is_kept_in_the_file_as_gold_and_is_no_gold_when_marked_again(
    client: TestClient, path: Path
) -> None:
    made = mark(client, GOLD, question="  How long? ")
    assert made["is_gold"]
    assert made["question"] == {
        "id": made["question"]["id"],
        "question": "How long?",
        "answer": "",
        "doc_id": "refunds",
        "spans": [GOLD],
        "texts": ["It takes days."],
        "name": "refunds",
        "state": "ok",
        "problem": "",
    }
    assert read_questions(path) == [Question("How long?", "refunds", ((GOLD[0], GOLD[1]),))]
    assert read_questions(path)[0].texts == ("It takes days.",)
    assert read(client, "questions") == {"questions": [made["question"]], "file": str(path)}
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # no part of a file is left
    assert mark(client, GOLD) == {"is_gold": False, "question": None}
    assert questions(client) == []


def test_several_sentences_and_several_documents_answer_a_question(client: TestClient) -> None:
    mark(client, GOLD)
    assert mark(client, QUICK)["question"]["texts"] == ["A refund is quick.", "It takes days."]
    assert mark(client, [0, 13], doc_id="trial")["question"]["texts"] == ["A trial ends."]
    golds = read(client, "questions/gold", question="How long?")["golds"]
    assert [(each["doc_id"], len(each["spans"])) for each in golds] == [("refunds", 2), ("trial", 1)]
    mark(client, [QUICK[0], GOLD[1]])  # both, and the space between
    assert mark(client, GOLD)["question"]["texts"] == ["A refund is quick."]  # without the space that is left over


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": " \n"}, "question"),
        ({"doc_id": "nothing"}, "the gold isn't in the index: 'How long\\?': 'nothing' isn't among the documents"),
        ({"doc_id": ""}, "doc_id"),
        ({"spans": []}, "at least one"),
        ({"spans": [[5, 5]]}, "the span is"),
        ({"spans": [[10**30, 10**31]]}, "ends before its gold"),
        ({"spans": "all"}, "spans"),
        ({"more": 1}, "more"),
    ],
)
def test_gold_that_cannot_be_used_is_refused(
    client: TestClient, path: Path, change: dict[str, object], message: str
) -> None:
    given = {"question": "How long?", "doc_id": "refunds", "spans": [GOLD], **change}
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(refusal(client, "questions/mark", 400, **given))
    assert not path.exists()


def test_a_question_without_gold_is_open_until_its_answer_is_marked(client: TestClient, path: Path) -> None:
    made = call(client, "questions/add", question=" How long? ")
    assert (made["question"], made["state"], made["spans"]) == ("How long?", "open", [])
    assert "in the list already" in refusal(client, "questions/add", 409, question="How long?")
    with pytest.warns(UserWarning, match="1 of 1 questions .* have no gold"):
        assert read_questions(path) == []
    assert mark(client, GOLD)["question"]["state"] == "ok"
    assert len(read_questions(path)) == 1
    assert mark(client, GOLD)["question"]["state"] == "open"  # as it was before


def test_questions_are_changed_and_deleted_unless_they_have_changed(client: TestClient, path: Path) -> None:
    old = mark(client, GOLD)["question"]
    other = client_of(retriever_of(), questions=path)
    new = call(other, "questions/change", id=old["id"], question=" How many days? ")
    assert (new["question"], new["spans"]) == ("How many days?", [GOLD])
    for given in ({"question": "Mine?"}, None):
        name = "change" if given else "delete"
        message = refusal(client, f"questions/{name}", 409, id=old["id"], **(given or {}))
        assert "changed or deleted in the meantime" in message
    assert questions(client) == ["How many days?"]
    call(client, "questions/delete", id=new["id"])
    assert questions(other) == []


async def test_pages_that_mark_at_once_lose_nothing(path: Path) -> None:
    apps = [create_studio(retriever_of(), questions=path) for _ in range(2)]
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
            )
            for app in apps
        ]
        calls = (
            clients[i % 2].post("/api/questions/mark", json={"question": f"{i}?", "doc_id": "refunds", "spans": [GOLD]})
            for i in range(8)
        )
        assert {each.status_code for each in await asyncio.gather(*calls)} == {200}
    assert sorted(each.question for each in read_questions(path)) == sorted(f"{i}?" for i in range(8))


def test_keys_of_other_programs_stay(client: TestClient, path: Path) -> None:
    path.parent.mkdir()
    record = {"note": "\ud800", "question": "How long?", "doc_id": "refunds", "spans": [GOLD], "level": 0.5}
    path.write_text(json.dumps(record) + "\n\n", encoding="utf-8")
    call(client, "questions/change", id=listed(client)[0]["id"], question="Wie lange?")
    (line,) = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {**record, "question": "Wie lange?"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"question": "a", "spans": []}\n', "line 1 of"),
        (b'{"answer": "a"}\n', "line 1 of"),
        (b'{"question": "a", "doc_id": "b", "spans": [[3, 1]]}\n', "line 1 of"),
        (b"\xff\xfe", "isn't UTF-8"),
        (b"[1, 2]", "line 1 of"),
        (b"[" * 99_999, "isn't JSON"),
        (b"Some text.\n", "question and answer"),
    ],
)
def test_a_damaged_file_is_reported_and_left_as_it_is(
    client: TestClient, path: Path, content: bytes, message: str
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    assert message in read(client, "questions", 400)["error"]["message"]
    call(client, "questions/mark", 400, question="How long?", doc_id="refunds", spans=[GOLD])
    assert path.read_bytes() == content


def test_a_folder_is_not_a_file_of_questions(tmp_path: Path) -> None:
    client = client_of(retriever_of(), questions=tmp_path)
    assert "can't be read" in read(client, "questions", 400)["error"]["message"]


def test_questions_are_imported_and_exported(client: TestClient, path: Path) -> None:
    mark(client, GOLD)
    table = '\ufeffQuestion;Answer\nHow quick?;"It takes; days."\n;\nWhy?;\n'
    assert call(client, "questions/import", text=table)["skipped"] == 0
    assert [(each["question"], each["answer"], each["state"]) for each in listed(client)[1:]] == [
        ("How quick?", "It takes; days.", "open"),
        ("Why?", "", "open"),
    ]
    answer = client.get("/api/questions/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="questions.jsonl"'
    other = client_of(retriever_of())
    assert len(call(other, "questions/import", text=answer.text)["added"]) == 3
    assert listed(other) == listed(client)
    assert call(other, "questions/import", text=answer.text) == {"added": [], "skipped": 3}
    assert "line 2" in refusal(other, "questions/import", 400, text='{"question": "New?"}\n{}')
    assert "no questions" in refusal(other, "questions/import", 400, text=" \n")
    assert len(questions(other)) == 3


def test_gold_follows_edits_and_says_what_is_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentence_window.studio.page_state.FRESH_SECONDS", 0.0)
    retriever = retriever_of()
    client = client_of(retriever, questions=path)
    mark(client, GOLD)
    mark(client, [0, 13], doc_id="trial", question="When?")
    retriever.add_documents([Document("A new line.\n\n" + REFUNDS, id="refunds"), Document("A trial.", id="trial")])
    moved, lost = listed(client)
    assert (moved["state"], moved["spans"]) == ("ok", [[at + 13 for at in GOLD]])
    assert (lost["state"], lost["spans"]) == ("changed", [[0, 13]])
    assert "doesn't contain 'A trial ends.' any more" in lost["problem"]
    assert mark(client, [0, 8], doc_id="trial", question="When?")["question"]["texts"] == ["A trial."]
    assert [each["state"] for each in listed(client)] == ["ok", "ok"]
    retriever.delete(["refunds"])
    assert listed(client)[0]["state"] == "missing"


def test_questions_are_kept_in_the_folder_of_the_index_unless_a_filter_hides_a_part(tmp_path: Path) -> None:
    given = [document(REFUNDS, "refunds", team="money"), document("A trial ends.", "trial", team="sales")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), path=tmp_path / "index", **BY_COSINE)
    mark(client_of(retriever), GOLD)
    assert [each.question for each in read_questions(tmp_path / "index" / "questions.jsonl")] == ["How long?"]
    cut = client_of(retriever.model_copy(update={"filter": {"team": "sales"}}))
    assert read(cut, "questions") == {"questions": [], "file": None}
    assert "isn't in the index" in refusal(cut, "questions/mark", 400, question="a", doc_id="refunds", spans=[GOLD])
    assert mark(cut, [0, 13], doc_id="trial")["is_gold"]  # in memory
    assert len(questions(cut)) == 1


def test_a_read_only_page_changes_no_question(path: Path) -> None:
    path.parent.mkdir()
    write_questions(path, [Question("How long?", "refunds", ((0, 5),))])
    client = client_of(retriever_of(), questions=path, read_only=True)
    (row,) = listed(client)
    calls: dict[str, dict[str, object]] = {
        "add": {"question": "New?"},
        "change": {"id": row["id"], "question": "New?"},
        "delete": {"id": row["id"]},
        "mark": {"question": "New?", "doc_id": "refunds", "spans": [GOLD]},
        "import": {"text": '{"question": "New?"}'},
    }
    for name, given in calls.items():
        assert "read-only" in refusal(client, f"questions/{name}", 403, **given)
    assert questions(client) == ["How long?"]
    assert client.get("/api/questions/export").status_code == 200


def test_gold_outside_the_filter_is_missing(path: Path) -> None:
    path.parent.mkdir()
    write_questions(path, [Question("How long?", "refunds", ((GOLD[0], GOLD[1]),), ("It takes days.",))])
    client = client_of(retriever_of(filter={"team": "sales"}), questions=path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert listed(client)[0]["state"] == "missing"
    assert read(client, "questions/gold", question="How long?")["golds"] == []
