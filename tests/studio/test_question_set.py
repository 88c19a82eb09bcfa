"""The questions of the page: made, changed, taken back, imported, exported; in a file that others write too."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from starlette.testclient import TestClient

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, check_index
from langchain_sentence_window.apps.studio.question_list import MAX_UNDONE, QuestionList
from langchain_sentence_window.evaluation import Question, read_questions, write_questions
from langchain_sentence_window.studio import create_studio
from tests.patience import PATIENCE
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
        "version": row["version"],
        "question": "How long?",
        "answer": "",
        "doc_id": "refunds",
        "spans": GOLD,
        "texts": ["It takes days."],
        "name": "files/refunds.md",
        "state": "ok",
        "problem": "",
    }
    assert read_questions(path) == [Question("How long?", "refunds", ((START, START + 14),))]
    assert read_questions(path)[0].texts == ("It takes days.",)
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
        ({"doc_id": "nothing"}, "the gold isn't in the index: 'How long?': 'nothing' isn't among the documents"),
        ({"doc_id": ""}, "doc_id"),
        ({"spans": []}, "at least one"),
        ({"spans": [[5, 5]]}, "the span is"),
        ({"spans": [[-1, 5]]}, "the span is"),
        ({"spans": [[0, len(REFUNDS) + 3]]}, "ends before its gold"),
        ({"spans": [[10**30, 10**31]]}, "ends before its gold"),
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


def version(client: TestClient, number: int) -> str:
    return next(str(each["version"]) for each in listed(client)["questions"] if each["number"] == number)


def reword(client: TestClient, number: int, question: str) -> Any:
    given = {"number": number, "version": version(client, number), "question": question}
    return call(client, "/api/questions/change", given)


def delete(client: TestClient, number: int) -> None:
    call(client, "/api/questions/delete", {"number": number, "version": version(client, number)})


def test_changes_and_deletions_are_taken_back_one_by_one(path: Path) -> None:
    client = client_of(path)
    call(client, "/api/questions/add", ASKED)
    call(client, "/api/questions/add", {**ASKED, "question": "Who has a card?"})
    call(client, "/api/questions/add", {**ASKED, "question": "Three?"})
    reword(client, 1, " How many days? ")
    assert texts(client) == ["How many days?", "Who has a card?", "Three?"]
    delete(client, 2)
    assert texts(client) == ["How many days?", "Three?"] == [each.question for each in read_questions(path)]
    assert call(client, "/api/questions/undo", {}) == {"undone": "deleting “Who has a card?”"}
    assert texts(client) == ["How many days?", "Who has a card?", "Three?"]
    assert call(client, "/api/questions/undo", {}) == {"undone": "changing “How long?”"}
    assert [each.question for each in read_questions(path)] == ["How long?", "Who has a card?", "Three?"]
    for _ in range(3):
        call(client, "/api/questions/undo", {})
    assert texts(client) == []
    assert "no change" in call(client, "/api/questions/undo", {}, 400)["error"]["message"]


def mark(client: TestClient, *spans: list[int], question: str = "How long?", doc_id: str = "refunds") -> Any:
    given = {"question": question, "doc_id": doc_id, "spans": spans}
    return call(client, "/api/questions/mark", given)


QUICK = [START - 19, START - 1]


def test_an_answer_is_a_question_with_gold_at_once_and_is_taken_back_at_once(path: Path) -> None:
    client = client_of(path)
    made = mark(client, *GOLD)
    assert made["is_gold"]
    assert (made["question"]["texts"], made["question"]["state"]) == (["It takes days."], "ok")
    assert read_questions(path) == [Question("How long?", "refunds", ((START, START + 14),))]
    call(client, "/api/questions/undo", {"change": made["change"]})
    assert texts(client) == []
    mark(client, *GOLD)
    again = mark(client, *GOLD)  # what is gold is so no more
    assert (again["is_gold"], again["question"]) == (False, None)
    assert texts(client) == []


def test_several_sentences_and_several_documents_answer_a_question(path: Path) -> None:
    client = client_of(path)
    mark(client, *GOLD)
    both = mark(client, QUICK)
    assert both["question"]["texts"] == ["A refund is quick.", "It takes days."]
    other = mark(client, [0, 13], doc_id="trial")
    assert (other["question"]["number"], other["question"]["texts"]) == (2, ["A trial ends."])
    found = client.get("/api/questions/gold", params={"question": "How long?"}).json()["golds"]
    assert [(each["doc_id"], len(each["spans"])) for each in found] == [("refunds", 2), ("trial", 1)]
    mark(client, [QUICK[0], START + 14])  # both, and the space between
    left = mark(client, GOLD[0])["question"]
    assert left["texts"] == ["A refund is quick."]  # without the space that is left over
    assert (
        "ends before its gold"
        in call(client, "/api/questions/mark", {**ASKED, "spans": [[0, 999]]}, 400)["error"]["message"]
    )


def test_two_who_mark_at_once_lose_nothing(path: Path) -> None:
    client, other = client_of(path), client_of(path)
    mark(client, *GOLD)
    mark(other, QUICK)
    made = mark(client, [0, 13], doc_id="trial")
    write_questions(path, [*read_questions(path), Question("Theirs?", "trial", ((0, 5),))])
    mark(other, [START - 30, START - 21])
    assert [(each.question, len(each.spans)) for each in read_questions(path)] == [
        ("How long?", 3),
        ("How long?", 1),
        ("Theirs?", 1),
    ]
    call(client, "/api/questions/undo", {"change": made["change"]})
    assert [(each.question, len(each.spans)) for each in read_questions(path)] == [("How long?", 3), ("Theirs?", 1)]


def test_what_somebody_else_changed_is_not_overwritten_and_is_told(path: Path) -> None:
    client, other = client_of(path), client_of(path)
    first = call(client, "/api/questions/add", ASKED)
    call(client, "/api/questions/add", {**ASKED, "question": "Two?"})
    reword(other, 1, "How many days?")
    old = {"number": 1, "version": first["version"]}
    for path_, given in (("change", {**old, "question": "Mine?"}), ("delete", old), ("undo", {})):
        if path_ == "undo":
            call(client, "/api/questions/undo", {})  # of the second question, which nobody else touched
        error = call(client, f"/api/questions/{path_}", given, 409)["error"]
        assert "this question was changed meanwhile" in error["message"]
        assert (error["current"]["question"], error["current"]["number"]) == ("How many days?", 1)
        assert texts(client)[0] == "How many days?"
    mine = {"number": 1, "version": error["current"]["version"], "question": "Mine?"}
    assert call(client, "/api/questions/change", mine)["question"] == "Mine?"
    write_questions(path, [])
    error = call(client, "/api/questions/change", mine, 409)["error"]
    assert "this question was deleted meanwhile" in error["message"]
    assert error["current"] is None


def test_words_are_changed_while_somebody_else_marks_gold(path: Path) -> None:
    client, other = client_of(path), client_of(path)
    row = mark(client, *GOLD)["question"]
    mark(other, QUICK)
    given = {"number": row["number"], "version": row["version"]}
    changed = call(client, "/api/questions/change", {**given, "question": "How many days?"})
    assert changed["texts"] == ["A refund is quick.", "It takes days."]
    error = call(client, "/api/questions/delete", given, 409)["error"]  # what was marked since isn't deleted unseen
    assert error["current"]["question"] == "How many days?"


def test_a_change_is_taken_back_only_as_the_last_one() -> None:
    client = client_of()
    first = mark(client, *GOLD)["change"]
    call(client, "/api/questions/add", {"question": "Two?"})
    told = call(client, "/api/questions/undo", {"change": first}, 409)["error"]["message"]
    assert "adding “Two?”" in told
    assert texts(client) == ["How long?", "Two?"]


def test_questions_keep_their_numbers_when_others_write_the_file(path: Path) -> None:
    path.parent.mkdir()
    given = [Question(f"{number}?", "refunds", ((number, 9),)) for number in range(4)]
    write_questions(path, given)
    client = client_of(path)
    assert [each["number"] for each in listed(client)["questions"]] == [1, 2, 3, 4]
    changed = [Question("3?", "trial", ((0, 3),)), given[0], Question("Words?", "refunds", ((1, 9),)), given[2]]
    write_questions(path, [Question("New?", "a", ((0, 1),)), *changed])
    assert [(each["number"], each["question"]) for each in listed(client)["questions"]] == [
        (5, "New?"),
        (4, "3?"),
        (1, "0?"),
        (2, "Words?"),
        (3, "2?"),
    ]


def test_a_question_without_gold_is_shown_as_such_and_gets_its_gold(path: Path) -> None:
    client = client_of(path)
    made = call(client, "/api/questions/add", {"question": "How long?"})
    assert (made["state"], made["spans"], made["name"]) == ("open", [], "")
    assert path.read_text(encoding="utf-8") == '{"question": "How long?", "answer": ""}\n'
    with pytest.warns(UserWarning, match="1 of 1 questions .* have no gold"):
        assert read_questions(path) == []
    assert mark(client, *GOLD)["question"] == {
        **made,
        "state": "ok",
        "version": version(client, 1),
        "doc_id": "refunds",
        "spans": GOLD,
        "name": "files/refunds.md",
        "texts": ["It takes days."],
    }
    assert len(read_questions(path)) == 1
    assert mark(client, *GOLD)["question"]["state"] == "open"  # as it was before


def test_questions_and_answers_are_imported_and_gold_is_proposed() -> None:
    client = client_of()
    table = (
        'Question;Answer\nHow long?;"It takes days."\nWho has a card?;Every seat has got a card.\nWhy?;Nobody knows.\n'
    )
    assert call(client, "/api/questions/import", {"text": table}) == {"added": [1, 2, 3], "skipped": 0}
    assert [each["state"] for each in listed(client)["questions"]] == ["open"] * 3
    found = [call(client, "/api/questions/propose", {"number": number})["proposal"] for number in (1, 2, 3)]
    assert [each and (each["texts"], each["is_exact"]) for each in found] == [
        (["It takes days."], True),
        (["Each seat has a card."], False),
        None,
    ]
    mark(client, *found[0]["spans"])
    (row, *_) = listed(client)["questions"]
    assert (row["state"], row["answer"]) == ("ok", "It takes days.")
    assert call(client, "/api/questions/propose", {"number": 1}) == {"proposal": None}


def test_keys_of_other_programs_stay(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"note": "\ud800", **ASKED, "level": 0.5}) + "\n\n", encoding="utf-8")
    client = client_of(path)
    reword(client, 1, "Wie lange?")
    (line,) = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"note": "\ud800", **ASKED, "question": "Wie lange?", "level": 0.5}
    assert list(json.loads(line)) == ["note", "question", "doc_id", "spans", "level"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"question": "a"}\n', "line 1 of"),
        (b"\xff\xfe", "isn't UTF-8"),
        (b"[1, 2]", "line 1 of"),
        (b"[" * 99_999, ""),
        (b"Some text.\n", "isn't a question"),
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
    lines = [json.dumps(each) for each in (ASKED, {**ASKED, "question": "New?", "note": ["It"]}, ASKED)]
    wrong = call(client, "/api/questions/import", {"text": "\n".join([lines[1], "", '{"question": "x"}'])}, 400)
    assert "line 3 of the import: it lacks 'doc_id', 'spans'" in wrong["error"]["message"]
    assert texts(client) == ["How long?"]
    found = call(client, "/api/questions/import", {"text": "\ufeff" + "\r\n".join(lines)})
    assert found == {"added": [2], "skipped": 2}
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[1])["note"] == ["It"]
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
    assert [each["state"] for each in rows] == ["changed", "missing", "missing", "changed", "missing"]
    assert rows[0]["texts"] == ["It takes days."]  # which was sought
    assert rows[0]["problem"] == "'How long?': 'refunds' doesn't say 'It takes days.' any more; mark the answer again"


def test_a_change_of_words_needs_no_document() -> None:
    client = client_of()
    gone = {"question": "Gone?", "doc_id": "gone", "spans": [[0, 3]]}
    call(client, "/api/questions/import", {"text": json.dumps(gone)})
    assert reword(client, 1, "Where?")["state"] == "missing"
    call(client, "/api/questions/mark", gone, 400)


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
        ("/api/questions/mark", ASKED),
        ("/api/questions/change", {"question": "A?", "number": 1, "version": "0" * 12}),
        ("/api/questions/delete", {"number": 1, "version": "0" * 12}),
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
    questions.add([Question("Mine?", "a", ((0, 1),))])
    assert [each.question for each in read_questions(path)] == ["Theirs?", "Mine?"]


def index_in(folder: Path, *documents: Document) -> SentenceWindowRetriever:
    store = FaissStore(WordEmbeddings(), folder, neighbor_weights=(1,))
    retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0, ranking=None)
    retriever.add_documents(documents)
    return retriever


def page_of(retriever: SentenceWindowRetriever, **settings: Any) -> TestClient:
    return TestClient(create_studio(retriever, **settings), base_url="http://127.0.0.1")


def test_gold_follows_edits_and_moves() -> None:
    client = client_of()
    mark(client, *GOLD)
    retriever = client.app.state.studio.retriever  # type: ignore[attr-defined]
    edited = REFUNDS.replace("# Refunds", "# All that there is to say of refunds")
    retriever.delete(["refunds"])
    retriever.add_documents([document(edited, "new/refunds", source="new/refunds.md")])
    start = edited.index("It takes")
    (row,) = listed(client)["questions"]
    assert (row["state"], row["doc_id"], row["name"]) == ("ok", "new/refunds", "new/refunds.md")
    assert (row["spans"], row["texts"]) == ([[start, start + 14]], ["It takes days."])
    found = client.get("/api/questions/gold", params={"question": "How long?"}).json()["golds"]
    assert found == [{"doc_id": "new/refunds", "spans": row["spans"]}]
    # What is marked is added to it, and the line names the document as it is now.
    both = mark(client, [start - 19, start - 1], doc_id="new/refunds")["question"]
    assert (both["number"], both["texts"]) == (row["number"], ["A refund is quick.", "It takes days."])
    line = json.loads(client.get("/api/questions/export").text)
    assert (line["doc_id"], line["texts"]) == ("new/refunds", both["texts"])
    assert mark(client, row["spans"][0], doc_id="new/refunds")["question"]["texts"] == ["A refund is quick."]


def test_gold_that_is_gone_is_replaced_by_what_is_marked() -> None:
    client = client_of()
    mark(client, *GOLD, QUICK)
    retriever = client.app.state.studio.retriever  # type: ignore[attr-defined]
    edited = REFUNDS.replace("It takes days.", "That needs a week.")
    retriever.add_documents([document(edited, "refunds", source="files/refunds.md")])
    (row,) = listed(client)["questions"]
    assert row["state"] == "changed"
    made = mark(client, [START, START + len("That needs a week.")])["question"]
    assert (made["number"], made["state"]) == (row["number"], "ok")
    assert made["texts"] == ["A refund is quick.", "That needs a week."]


def test_imported_gold_gets_its_text_and_its_document() -> None:
    client = client_of()
    moved = {**ASKED, "doc_id": "old/refunds.md", "spans": [[1, 15]], "texts": ["It takes days."]}
    lines = [ASKED, {**moved, "question": "Moved?"}, {**ASKED, "question": "Gone?", "doc_id": "gone"}]
    call(client, "/api/questions/import", {"text": "\n".join(map(json.dumps, lines))})
    exported = [json.loads(line) for line in client.get("/api/questions/export").text.splitlines()]
    assert exported[0] == {**ASKED, "texts": ["It takes days."]}
    assert exported[1] == {**exported[0], "question": "Moved?"}
    assert exported[2] == lines[2]
    assert call(client, "/api/questions/import", {"text": json.dumps(ASKED)})["skipped"] == 1


def test_questions_are_kept_in_the_folder_of_the_index(tmp_path: Path) -> None:
    folder, copied = tmp_path / "index", tmp_path / "copy"
    with index_in(folder, document(REFUNDS, "refunds")) as retriever:
        client = page_of(retriever)
        assert listed(client) == {"questions": [], "undo": None, "file": str(folder / "questions.jsonl")}
        assert not (folder / "questions.jsonl").exists()  # before there is a question
        mark(client, *GOLD)
        retriever.backup(copied)
    # The next program finds them, the index is sound with them, and writes leave them alone.
    (kept,) = read_questions(folder / "questions.jsonl")
    assert (kept.question, kept.texts) == ("How long?", ("It takes days.",))
    assert check_index(folder).is_sound
    with index_in(folder, document("A card.", "card")) as retriever:
        assert texts(page_of(retriever)) == ["How long?"]
        retriever.delete(["refunds"])
    FaissStore.restore(copied, folder)
    with index_in(folder) as retriever:
        assert texts(page_of(retriever, read_only=True)) == ["How long?"]
        other = page_of(retriever, questions=tmp_path / "other.jsonl")
        assert (texts(other), listed(other)["file"]) == ([], str(tmp_path / "other.jsonl"))


def test_a_page_with_a_filter_is_not_shown_the_questions_of_the_whole_index(tmp_path: Path) -> None:
    with index_in(tmp_path / "index", document(REFUNDS, "refunds", team="money")) as retriever:
        mark(page_of(retriever), *GOLD)
        client = page_of(retriever.model_copy(update={"filter": {"team": "sales"}}))
        assert listed(client) == {"questions": [], "undo": None, "file": None}


def test_pages_of_one_index_lose_no_line_of_each_other(tmp_path: Path) -> None:
    path, each_adds = tmp_path / "questions.jsonl", 25
    barrier = threading.Barrier(4)

    def add(name: str) -> None:
        questions = QuestionList(path)
        barrier.wait(PATIENCE)
        for number in range(each_adds):
            questions.add([Question(f"{name}{number}?", "a", ((0, 1),))])

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(add, name) for name in "abcd"]:
            done.result(PATIENCE)
    assert {each.question for each in read_questions(path)} == {f"{x}{n}?" for x in "abcd" for n in range(each_adds)}
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
