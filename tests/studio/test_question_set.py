"""The questions of the page: made, changed, taken back, imported, exported; in a file that others write too."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.studio.question_list import MAX_UNDONE, QuestionList
from langchain_sentence_window.apps.studio.replies import Refused
from langchain_sentence_window.evaluation import Question, read_questions, write_questions
from langchain_sentence_window.studio import create_studio
from tests.toys import BY_COSINE, WordEmbeddings, document

REFUNDS = "# Refunds 😀\n\nA refund is quick. It takes days.\n\nEach seat has a card."
START = REFUNDS.index("It takes")  # code points, as Python counts
GOLD = [[START, START + len("It takes days.")]]
ASKED = {"question": "How long?", "doc_id": "refunds", "spans": GOLD}


def retriever_of(**settings: Any) -> SentenceWindowRetriever:
    given = [
        document(REFUNDS, "refunds", source="files/refunds.md", team="money"),
        document("A trial ends.", "trial", team="sales"),
    ]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)
    return retriever.model_copy(update=settings)


def client_of(path: Path | None = None, *, read_only: bool = False, **settings: Any) -> TestClient:
    studio = create_studio(retriever_of(**settings), questions=path, read_only=read_only)
    return TestClient(studio, base_url="http://127.0.0.1")


def call(client: TestClient, path: str, given: object, status: int = 200) -> Any:
    # Not by `json=`, which refuses lone surrogates.
    answer = client.post(path, content=json.dumps(given), headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    return answer.json()


def listed(client: TestClient) -> Any:
    answer = client.get("/api/questions")
    assert answer.status_code == 200, answer.text
    return answer.json()


def texts(client: TestClient) -> list[str]:
    return [each["question"] for each in listed(client)["questions"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "questions.jsonl"


def test_a_question_is_kept_in_the_file_with_its_gold(path: Path) -> None:
    client = client_of(path)
    row = call(client, "/api/questions/add", {**ASKED, "question": "  How long? "})
    assert row == {
        "number": 1,
        "question": "How long?",
        "doc_id": "refunds",
        "spans": GOLD,
        "name": "files/refunds.md",
        "state": "ok",
        "texts": ["It takes days."],
    }
    assert read_questions(path) == [Question("How long?", "refunds", ((START, START + 14),))]
    assert listed(client) == {"questions": [row], "undo": "adding “How long?”", "file": str(path)}
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # no part of a file is left


def test_without_a_file_questions_stay_in_memory() -> None:
    client = client_of()
    call(client, "/api/questions/add", ASKED)
    assert texts(client) == ["How long?"]
    assert listed(client)["file"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": " \n"}, "question is ''"),
        ({"doc_id": "nothing"}, "isn't in the index"),
        ({"doc_id": ""}, "doc_id"),
        ({"spans": []}, "at least one"),
        ({"spans": [[5, 5]]}, "the span is"),
        ({"spans": [[-1, 5]]}, "the span is"),
        ({"spans": [[0, len(REFUNDS) + 1]]}, "behind the end"),
        ({"spans": [[10**30, 10**31]]}, "behind the end"),
        ({"spans": "all"}, "spans"),
        ({"question": 5}, "question"),
        ({"more": 1}, "more"),
    ],
)
def test_a_question_that_cannot_be_used_is_refused(path: Path, change: dict[str, object], message: str) -> None:
    client = client_of(path)
    answer = call(client, "/api/questions/add", {**ASKED, **change}, 400)
    assert message in answer["error"]["message"]
    assert texts(client) == []
    assert not path.exists()


def test_a_question_is_there_once(path: Path) -> None:
    client = client_of(path)
    call(client, "/api/questions/add", ASKED)
    answer = call(client, "/api/questions/add", ASKED, 409)
    assert "in the list already" in answer["error"]["message"]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1


def test_changes_and_deletions_are_taken_back_one_by_one(path: Path) -> None:
    client = client_of(path)
    call(client, "/api/questions/add", ASKED)
    call(client, "/api/questions/add", {**ASKED, "question": "Who has a card?"})
    call(client, "/api/questions/change", {**ASKED, "number": 1, "question": "How many days?"})
    assert texts(client) == ["How many days?", "Who has a card?"]
    assert call(client, "/api/questions/delete", {"numbers": [2, 1, 1]}) == {"deleted": [2, 1]}
    assert texts(client) == [] == path.read_text(encoding="utf-8").splitlines()
    assert call(client, "/api/questions/undo", {}) == {"undone": "deleting 2 questions"}
    assert texts(client) == ["How many days?", "Who has a card?"]
    assert call(client, "/api/questions/undo", {}) == {"undone": "changing “How long?”"}
    assert [each.question for each in read_questions(path)] == ["How long?", "Who has a card?"]
    call(client, "/api/questions/undo", {})
    call(client, "/api/questions/undo", {})
    assert texts(client) == []
    assert "no change" in call(client, "/api/questions/undo", {}, 400)["error"]["message"]


def test_numbers_that_are_not_there_change_nothing(path: Path) -> None:
    client = client_of(path)
    call(client, "/api/questions/add", ASKED)
    for call_path, given in (
        ("/api/questions/change", {**ASKED, "number": 7}),
        ("/api/questions/delete", {"numbers": [1, 7]}),
    ):
        assert "no question 7" in call(client, call_path, given, 400)["error"]["message"]
    assert texts(client) == ["How long?"]


def test_keys_of_other_programs_stay(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"note": "\ud800", **ASKED, "level": 0.5}) + "\n\n", encoding="utf-8")
    client = client_of(path)
    call(client, "/api/questions/change", {**ASKED, "number": 1, "question": "Wie lange?"})
    (line,) = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"note": "\ud800", **ASKED, "question": "Wie lange?", "level": 0.5}
    assert list(json.loads(line)) == ["note", "question", "doc_id", "spans", "level"]


def test_a_file_that_another_program_changed_is_never_overwritten(path: Path) -> None:
    client = client_of(path)
    call(client, "/api/questions/add", ASKED)
    call(client, "/api/questions/add", {**ASKED, "question": "Two?"})
    other = [Question("New?", "trial", ((0, 5),)), *read_questions(path)[1:]]
    write_questions(path, other)
    written = path.read_bytes()
    for call_path, given in (
        ("/api/questions/add", {**ASKED, "question": "Three?"}),
        ("/api/questions/undo", {}),
    ):
        path.write_bytes(written + b"\n" * (call_path.endswith("undo")))
        answer = call(client, call_path, given, 409)
        assert "another program changed" in answer["error"]["message"]
        assert read_questions(path) == other
    rows = listed(client)["questions"]
    assert [(each["number"], each["question"]) for each in rows][1] == (2, "Two?")  # which stayed, keeps its number
    assert rows[0]["number"] not in (1, 2)
    assert listed(client)["undo"] is None
    call(client, "/api/questions/add", {**ASKED, "question": "Three?"})
    assert [each.question for each in read_questions(path)] == ["New?", "Two?", "Three?"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"question": "a"}\n', "line 1 of"),
        (b"\xff\xfe", "isn't UTF-8"),
        (b"[1, 2]", "line 1 of"),
        (b"[" * 99_999, ""),
    ],
)
def test_a_damaged_file_is_told_and_left_as_it_is(path: Path, content: bytes, message: str) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    client = client_of(path)
    answer = client.get("/api/questions")
    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]
    call(client, "/api/questions/add", ASKED, 400)
    assert path.read_bytes() == content


def test_something_else_than_a_file_is_told(tmp_path: Path) -> None:
    answer = client_of(tmp_path).get("/api/questions")
    assert answer.status_code == 400
    assert "can't be read" in answer.json()["error"]["message"]


def test_an_import_adds_what_is_new_and_names_a_wrong_line(path: Path) -> None:
    client = client_of(path)
    call(client, "/api/questions/add", ASKED)
    lines = [json.dumps(each) for each in (ASKED, {**ASKED, "question": "New?", "texts": ["It"]}, ASKED)]
    wrong = call(client, "/api/questions/import", {"text": "\n".join([lines[1], "", '{"question": "x"}'])}, 400)
    assert "line 3 of the import lacks 'doc_id', 'spans'" in wrong["error"]["message"]
    assert texts(client) == ["How long?"]
    found = call(client, "/api/questions/import", {"text": "\ufeff" + "\r\n".join(lines)})
    assert found == {"added": [2], "skipped": 2}
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[1])["texts"] == ["It"]
    assert call(client, "/api/questions/import", {"text": " \n"}, 400)["error"]["message"].startswith("there are no")
    call(client, "/api/questions/undo", {})
    assert texts(client) == ["How long?"]


def test_an_export_is_a_file_that_is_imported_again(path: Path) -> None:
    client = client_of(path)
    call(client, "/api/questions/add", {**ASKED, "question": "Ünd\u2028😀?"})
    answer = client.get("/api/questions/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="questions.jsonl"'
    assert answer.content == path.read_bytes()
    other = client_of()
    call(other, "/api/questions/import", {"text": answer.text})
    assert other.get("/api/questions/export").content == answer.content


def test_gold_is_told_as_the_index_has_it_now() -> None:
    client = client_of()
    lines = [
        ASKED,
        {"question": "Gone?", "doc_id": "gone", "spans": [[0, 3]]},
        {"question": "Far?", "doc_id": "trial", "spans": [[0, 5], [5, 99]]},
        {"question": "Two?", "doc_id": "refunds", "spans": [[START - 6, START + 2], [0, 9]]},
        {"question": "Odd?", "doc_id": "\ud800", "spans": [[0, 9]]},
    ]
    call(client, "/api/questions/import", {"text": "\n".join(map(json.dumps, lines))})
    for _ in range(2):
        rows = listed(client)["questions"]
        assert [each["state"] for each in rows] == ["ok", "missing", "outside", "ok", "missing"]
        assert [each["texts"] for each in rows] == [["It takes days."], [], [], ["uick. It", REFUNDS[:9]], []]
    retriever = client.app.state.studio.retriever  # type: ignore[attr-defined]
    retriever.add_documents([document("It costs nothing at all, as we said before, and never did.", "refunds")])
    retriever.delete(["trial"])
    rows = listed(client)["questions"]
    assert [each["state"] for each in rows] == ["ok", "missing", "missing", "ok", "missing"]
    assert rows[3]["texts"][1] == "It costs "


def test_a_change_of_words_needs_no_document() -> None:
    client = client_of()
    gone = {"question": "Gone?", "doc_id": "gone", "spans": [[0, 3]]}
    call(client, "/api/questions/import", {"text": json.dumps(gone)})
    assert call(client, "/api/questions/change", {**gone, "question": "Where?", "number": 1})["state"] == "missing"
    call(client, "/api/questions/change", {**gone, "spans": [[0, 4]], "number": 1}, 400)


def test_nothing_is_told_of_what_the_filter_forbids() -> None:
    client = client_of(filter={"team": "sales"})
    secret = call(client, "/api/questions/add", ASKED, 400)["error"]["message"]
    absent = call(client, "/api/questions/add", {**ASKED, "doc_id": "nothing"}, 400)["error"]["message"]
    assert secret.replace("refunds", "nothing") == absent
    call(client, "/api/questions/import", {"text": json.dumps(ASKED)})
    assert [(each["state"], each["texts"]) for each in listed(client)["questions"]] == [("missing", [])]


@pytest.mark.parametrize(
    ("call_path", "given"),
    [
        ("/api/questions/add", ASKED),
        ("/api/questions/change", {**ASKED, "number": 1}),
        ("/api/questions/delete", {"numbers": [1]}),
        ("/api/questions/undo", {}),
        ("/api/questions/import", {"text": json.dumps(ASKED)}),
    ],
)
def test_a_page_that_is_read_only_changes_no_question(path: Path, call_path: str, given: object) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps(ASKED) + "\n", encoding="utf-8")
    client = client_of(path, read_only=True)
    assert "read-only" in call(client, call_path, given, 403)["error"]["message"]
    assert texts(client) == ["How long?"]


def test_the_oldest_changes_are_forgotten() -> None:
    questions = QuestionList()
    for number in range(MAX_UNDONE + 5):
        questions.add([Question(f"Number {number}?", "a", ((0, 1),))])
    for _ in range(MAX_UNDONE):
        questions.undo()
    assert len(questions.all()) == 5
    assert questions.undoable is None


def test_a_file_that_appears_before_the_first_change_is_not_overwritten(path: Path) -> None:
    questions = QuestionList(path)
    assert questions.all() == ()
    path.parent.mkdir()
    write_questions(path, [Question("Theirs?", "a", ((0, 1),))])
    with pytest.raises(Refused, match="another program"):
        questions.add([Question("Mine?", "a", ((0, 1),))])
    assert [each.question for each in read_questions(path)] == ["Theirs?"]
