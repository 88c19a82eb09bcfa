"""The view Evaluate: gold marked by mouse and by keyboard; questions edited; runs, sweeps and fits looked into."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import Question, read_questions, write_questions
from tests.browser.conftest import EXAMPLES
from tests.browser.looking import SIZES, Seen, axe, shot
from tests.browser.serving import Serve

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

BILLING = str(EXAMPLES / "documents" / "billing-policy.md")
ALL = [
    Question(each.question, str(EXAMPLES / each.doc_id), each.spans)
    for each in read_questions(EXAMPLES / "questions.jsonl")
]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> ' \" javascript:alert(3) {{7*7}}"
FIRST = "This document sets out how Larkspur charges for its scheduling product"

Opened = Callable[..., "Page"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "questions.jsonl"


@pytest.fixture
def opened(page: "Page", path: Path, retriever: SentenceWindowRetriever, serve: Serve) -> Iterator[Opened]:
    """Open the view on a file of questions: ``opened(questions, **settings)``."""

    def open_view(questions: list[Question], **settings: Any) -> "Page":
        write_questions(path, questions)
        served = serve(retriever, questions=path, folders=[EXAMPLES], **settings)
        page.goto(f"{served.url}/#/evaluate")
        page.get_by_text(counted(len(questions)), exact=True).wait_for()
        return page

    yield open_view
    page.goto("about:blank")  # so that nothing is asked of a server that ended


def counted(number: int) -> str:
    return f"{number:,} question{'' if number == 1 else 's'}"


def rows(page: "Page") -> "Locator":
    return page.get_by_role("listbox", name="Questions").get_by_role("option")


def texts(path: Path) -> list[str]:
    return [json.loads(line)["question"] for line in path.read_text(encoding="utf-8").splitlines()]


def select(page: "Page", text: str) -> None:
    """Select the words between two that are on one line of the document, by dragging the mouse over them."""
    edges = page.evaluate(
        """(text) => {
          const walker = document.createTreeWalker(document.querySelector('.reader'), NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const at = walker.currentNode.data.indexOf(text);
            if (at < 0) continue;
            walker.currentNode.parentElement.scrollIntoView({ block: 'center' });
            const range = document.createRange();
            const edge = (i, side) => { range.setStart(walker.currentNode, i); range.setEnd(walker.currentNode, i + 1);
              const box = range.getBoundingClientRect(); return [box[side], box.top + box.height / 2]; };
            return [edge(at, 'left'), edge(at + text.length - 1, 'right')];
          }
        }""",
        text,
    )
    (x0, y0), (x1, y1) = edges
    page.mouse.move(x0 + 1, y0)
    page.mouse.down()
    page.mouse.move((x0 + x1) / 2, (y0 + y1) / 2, steps=4)
    page.mouse.move(x1 - 1, y1, steps=4)
    page.mouse.up()


def open_billing(page: "Page") -> "Locator":
    """Open the question that billing answers, and return its gold."""
    rows(page).first.click()
    page.locator(".reader .s[data-p='1']").first.wait_for()
    return page.locator(".question-panel .gold-span")


def test_gold_is_marked_by_clicks_and_selections(opened: Opened, path: Path) -> None:
    page = opened([Question("What is this about?", BILLING, ((0, 5),))])
    gold = open_billing(page)
    page.locator(".reader .s[data-p='1']").first.click()
    expect(gold).to_have_count(2)
    assert gold.nth(1).inner_text().startswith(FIRST)
    select(page, "written for support")
    page.get_by_role("button", name="This is the answer").click()
    expect(gold).to_have_count(3)
    expect(gold.nth(2).locator(".place")).to_have_text("written for support")
    page.wait_for_timeout(300)
    assert axe(page) == []
    shot(page, "evaluate-marking")
    page.get_by_role("button", name="Remove gold 1").click()
    expect(gold).to_have_count(2)
    (made,) = read_questions(path)
    source = Path(BILLING).read_text(encoding="utf-8")
    assert source[slice(*made.spans[0])].startswith(FIRST)
    assert source[slice(*made.spans[1])] == "written for support"
    page.locator(".reader .s[data-p='1']").first.click()
    expect(gold).to_have_count(1)
    page.get_by_role("button", name="Undo", exact=True).last.click()
    expect(gold).to_have_count(2)


def test_gold_is_marked_by_keys(opened: Opened, path: Path) -> None:
    page = opened([Question("What is this about?", BILLING, ((0, 5),))])
    gold = open_billing(page)
    page.locator(".reader .s[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(gold).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    expect(gold).to_have_count(3)
    page.keyboard.press("a")
    expect(gold).to_have_count(2)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.locator(".answer-target")).to_contain_text(FIRST)
    page.keyboard.press("a")
    expect(gold).to_have_count(2)
    assert len(read_questions(path)[0].spans) == 2


def test_a_question_is_made_and_answered_by_keyboard_alone(opened: Opened, path: Path) -> None:
    page = opened([])
    page.locator("body").press("n")
    page.keyboard.press("Enter")
    expect(page.locator(".writing [role=alert]")).to_have_text("Write the question.")
    page.keyboard.type("When is a refund refused?")
    page.keyboard.press("Enter")
    expect(page.locator(".question-panel .badge")).to_have_text("no gold yet")
    expect(rows(page)).to_contain_text(["no gold yet"])
    tab_to(page, "Ask it, and mark the answer")
    page.keyboard.press("Enter")
    page.locator(".window-card").first.wait_for()
    page.locator("#view-ask .answer-bar").wait_for()
    page.keyboard.press("a")
    page.get_by_text("Saved as the answer.").wait_for()
    (made,) = read_questions(path)
    assert made.question == "When is a refund refused?"
    page.go_back()
    expect(page.locator(".question-panel .gold-span")).to_have_count(1)


def tab_to(page: "Page", name: str) -> None:
    """Press Tab until the focus is on the element of that name."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.ariaLabel || document.activeElement.textContent") == name:
            return
    pytest.fail(f"Tab never reaches {name}")


TABLE = """question,answer
How long do card refunds take?,Card refunds take five to ten days to appear
Who may be refunded?,Never a different person: we do not refund those even if both parties are agreed.
What is the meaning of life?,Forty-two.
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_questions_and_answers_get_their_gold_in_one_pass(
    opened: Opened, path: Path, tmp_path: Path, scheme: Any
) -> None:
    page = opened([])
    page.emulate_media(color_scheme=scheme)
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    page.locator("#view-evaluate input[type=file]").set_input_files(tmp_path / "table.csv")
    page.get_by_text("3 questions added.").wait_for()
    expect(rows(page).filter(has_text="no gold yet")).to_have_count(3)
    panel = page.locator(".question-panel")
    panel.get_by_role("heading", name="These words stand in billing-policy.md").wait_for()
    expect(panel.locator(".gold-span")).to_contain_text("Card refunds take five to ten days to appear, and agents")
    page.wait_for_timeout(300)
    assert axe(page) == []
    for size in SIZES:
        page.set_viewport_size(size)
        shot(page, f"evaluate-propose-{size['width']}-{scheme}")
    page.set_viewport_size(SIZES[0])
    panel.get_by_role("button", name="This is the answer").click()
    panel.get_by_role("heading", name="The most alike stands in billing-policy.md").wait_for()
    expect(panel.locator(".gold-span")).to_contain_text("We do not refund to a different person")
    panel.get_by_role("button", name="This is the answer").click()
    panel.get_by_role("heading", name="What is the meaning of life?").wait_for()
    expect(panel.get_by_role("button", name="Ask it, and mark the answer")).to_be_visible()
    expect(rows(page).filter(has_text="no gold yet")).to_have_count(1)
    page.get_by_label("Which questions").select_option("Without gold")
    expect(rows(page)).to_have_count(1)
    with pytest.warns(UserWarning, match="1 of 3 questions"):
        found = read_questions(path)
    source = Path(BILLING).read_text(encoding="utf-8")
    assert [source[slice(*each.spans[0])][:12] for each in found] == ["Card refunds", "We do not re"]


def test_questions_are_changed_deleted_and_brought_back(opened: Opened, path: Path) -> None:
    page = opened(ALL[:3])
    rows(page).nth(1).click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Question").fill("Another?")
    rows(page).first.click()  # what was written isn't lost
    page.get_by_text("Save the question, or cancel it, first.").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".question-panel h2", has_text="Another?").wait_for()
    assert texts(path) == [ALL[0].question, "Another?", ALL[2].question]
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("2 questions", exact=True).wait_for()
    assert texts(path) == [ALL[0].question, ALL[2].question]
    page.get_by_role("button", name="Undo deleting “Another?”").click()
    page.get_by_text("3 questions", exact=True).wait_for()
    page.get_by_role("button", name="Undo changing").click()
    page.get_by_role("option", name=ALL[1].question).wait_for()
    assert texts(path) == [each.question for each in ALL[:3]]


@pytest.mark.parametrize("kept", ["mine", "theirs"])
def test_two_who_write_one_question_choose_what_stays(opened: Opened, path: Path, seen: Seen, kept: str) -> None:
    seen.allow("status of 409")
    page = opened(ALL[:2])
    other = page.context.new_page()
    other.goto(page.url)
    for each, words in ((page, "Mine?"), (other, "Theirs?")):
        rows(each).first.click()
        each.get_by_role("button", name="Edit").click()
        each.get_by_role("textbox", name="Question").fill(words)
    other.get_by_role("button", name="Save", exact=True).click()
    other.get_by_text("The question is saved.").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog", name="Save yours in its place?")
    expect(dialog.locator("blockquote")).to_have_text(["Theirs?", "Mine?"])
    assert axe(page) == []
    for size in SIZES:
        page.set_viewport_size(size)
        shot(page, f"evaluate-conflict-{size['width']}")
    dialog.get_by_role("button", name="Save mine" if kept == "mine" else "Keep theirs").click()
    page.locator(".question-panel h2", has_text="Mine?" if kept == "mine" else "Theirs?").wait_for()
    assert texts(path) == ["Mine?" if kept == "mine" else "Theirs?", ALL[1].question]


def test_a_question_that_was_deleted_meanwhile_says_so(opened: Opened, path: Path, seen: Seen) -> None:
    seen.allow("status of 409")
    page = opened(ALL[:2])
    rows(page).first.click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Question").fill("Mine?")
    write_questions(path, ALL[1:2])
    page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog", name="Save yours as a new question?")
    expect(dialog).to_contain_text("It was deleted meanwhile")
    dialog.get_by_role("button", name="Save mine").click()
    page.locator(".question-panel h2", has_text="Mine?").wait_for()
    assert read_questions(path) == [ALL[1], Question("Mine?", ALL[0].doc_id, ALL[0].spans)]


def test_questions_are_imported_and_exported(opened: Opened, path: Path, tmp_path: Path, seen: Seen) -> None:
    page = opened(ALL[:1])
    other = tmp_path / "other.jsonl"
    write_questions(other, [*ALL[:2], Question(HOSTILE, "nowhere", ((0, 5),))])
    page.locator("#view-evaluate input[type=file]").set_input_files(other)
    page.get_by_text("2 questions added, 1 were there already.").wait_for()
    page.get_by_role("option", name="<img src=x").click()
    expect(page.locator(".question-panel h2")).to_have_text(HOSTILE, use_inner_text=True)
    expect(page.locator(".question-panel")).to_contain_text("not in the index", use_inner_text=True)
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    assert download.value.suggested_filename == "questions.jsonl"
    assert Path(download.value.path()).read_bytes() == path.read_bytes()
    other.write_text('{"question": "x"}\n', encoding="utf-8")
    seen.allow("status of 400")
    page.locator("#view-evaluate input[type=file]").set_input_files(other)
    page.get_by_text("line 1 of the import: it lacks").wait_for()
    page.get_by_label("Which questions").select_option("Not in the index")
    expect(rows(page)).to_have_count(1)
    assert axe(page) == []


def test_a_question_that_was_opened_stays_open_and_a_measurement_is_told_once(opened: Opened, page: "Page") -> None:
    held: list[Any] = []
    page.route("**/api/jobs", lambda route: held.append(route))  # noqa: PLW0108 - it sets an attribute of it
    opened(ALL[:2])
    rows(page).first.click()
    edit = page.get_by_role("button", name="Edit")
    edit.wait_for()
    page.get_by_role("tab", name="Results").click()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    held.pop().continue_()
    page.get_by_text("Evaluate: done.").wait_for()
    page.locator(".results tbody").wait_for()
    expect(page.get_by_text("Evaluate: done.")).to_have_count(1)
    page.get_by_role("tab", name="Question").click()
    edit.wait_for()
    expect(rows(page).first).to_have_attribute("aria-selected", "true")


def evaluate(page: "Page") -> None:
    page.get_by_role("tab", name="Results").click()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    page.get_by_text("Evaluate: done.").wait_for(timeout=60_000)


def test_results_are_a_table_and_say_why_a_question_failed(opened: Opened) -> None:
    failing = [each for each in ALL if "subscription has left" in each.question]
    page = opened([*ALL[6:10], *failing])
    evaluate(page)
    jobs = page.evaluate("async () => (await (await fetch('/api/jobs')).json()).jobs")
    means = [f"{100 * each['mean']:.1f} % [" for each in jobs[0]["result"]["rows"][0]["means"]]
    cells = page.locator(".results tbody td:nth-of-type(1)").all_inner_texts()
    assert len(cells) == len(means) == 4
    assert all(cell.startswith(mean) for cell, mean in zip(cells, means, strict=True))
    expect(page.locator(".results")).to_contain_text("5 questions")  # too few for their intervals
    worst = rows(page).first
    expect(worst).to_contain_text(failing[0].question, use_inner_text=True)
    expect(worst).to_contain_text("0 %", use_inner_text=True)
    for size in SIZES:
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.wait_for_timeout(250)
            assert axe(page) == []
            shot(page, f"evaluate-results-{size['width']}-{scheme}")
    page.set_viewport_size(SIZES[0])
    page.get_by_label("Which questions").select_option("Not wholly found")
    assert 1 <= rows(page).count() < 5
    worst.click()
    page.get_by_role("heading", name="Missed").wait_for()
    page.locator(".reader", has_text="No credit is issued").wait_for()
    expect(page.locator(".fared")).to_contain_text("0.0 % of the gold", use_inner_text=True)
    assert axe(page) == []
    shot(page, "evaluate-failed")
    page.get_by_role("button", name="Ask it").click()
    page.locator("#view-ask").wait_for()
    expect(page).to_have_url(re.compile("doc="))
    expect(page.locator("#view-ask").get_by_role("textbox").first).to_have_value(failing[0].question)
    page.go_back()
    page.get_by_role("button", name="Why was").click()
    page.locator("#view-ask").wait_for()
    page.locator(".why", has_text="No credit is issued").wait_for()
    page.go_back()
    page.locator(".question-panel", has_text="Missed").wait_for()
    page.reload()  # what was measured is remembered, and the address names the question
    page.locator(".question-panel", has_text="Missed").wait_for()


def test_questions_that_others_change_are_shown_as_they_are(opened: Opened, path: Path, seen: Seen) -> None:
    page = opened(ALL[:2])
    evaluate(page)
    rows(page).filter(has_text=ALL[1].question).click()
    page.locator(".fared").wait_for()
    write_questions(path, [ALL[0], Question("Theirs?", BILLING, ((2, 9),))])
    seen.allow("status of 409")
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("this question was deleted meanwhile").wait_for()
    rows(page).filter(has_text="Theirs?").click()  # which wasn't asked
    page.locator(".question-panel h2", has_text="Theirs?").wait_for()
    expect(page.locator(".fared")).to_have_count(0)
    rows(page).filter(has_text=ALL[0].question).click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Question").fill("Mine?")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".question-panel h2", has_text="Mine?").wait_for()
    expect(page.locator(".fared")).to_have_count(0)
    expect(rows(page).filter(has_text="Mine?")).not_to_contain_text("%", use_inner_text=True)
    assert texts(path) == ["Mine?", "Theirs?"]


def test_a_page_that_is_read_only_measures_and_changes_nothing(opened: Opened) -> None:
    page = opened(ALL[:2], read_only=True)
    page.get_by_text("read-only").wait_for()
    assert page.get_by_role("button", name="New question").count() == 0
    assert page.get_by_role("button", name="Import").count() == 0
    rows(page).first.click()
    page.get_by_role("button", name="Ask it").wait_for()
    assert page.get_by_role("button", name="Edit").count() == 0
    evaluate(page)


def test_arrow_keys_go_through_the_questions(opened: Opened) -> None:
    page = opened(ALL[:5])
    rows(page).first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".question-panel h2")).to_have_text(ALL[2].question, use_inner_text=True)
    page.locator("body").press("]")
    page.locator(".question-panel h2", has_text=ALL[3].question).wait_for()
    page.locator("body").press("[")
    page.locator(".question-panel h2", has_text=ALL[2].question).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(opened: Opened, scheme: Any) -> None:
    many = [Question(f"{each.question} ({number})", each.doc_id, each.spans) for number in range(25) for each in ALL]
    page = opened(many)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("searchbox", name="Search questions").fill("(7)")
    page.get_by_text("40 of 1,000 questions").wait_for()
    assert width(page) <= 390
    assert axe(page) == []
    shot(page, f"evaluate-phone-{scheme}-list")
    rows(page).first.click()
    page.locator(".reader", has_text="refund").wait_for()
    expect(rows(page).first).to_be_hidden()
    assert width(page) <= 390
    assert axe(page) == []
    shot(page, f"evaluate-phone-{scheme}-question")
    page.get_by_role("tab", name="Results").click()
    assert width(page) <= 390
    assert axe(page) == []
    shot(page, f"evaluate-phone-{scheme}-results")
    page.get_by_role("button", name="Back to the questions").click()
    expect(rows(page).first).to_be_visible()


def width(page: "Page") -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))
