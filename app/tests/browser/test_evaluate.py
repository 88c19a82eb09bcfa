"""The view Evaluate: gold marked by mouse and by keyboard; questions edited; runs, sweeps and fits looked into."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from app.tests.browser.conftest import EXAMPLES
from app.tests.browser.looking import SIZES, Seen, axe, shot
from app.tests.browser.serving import Serve
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import Question, read_questions, write_questions

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


def test_questions_are_changed_and_deleted(opened: Opened, path: Path) -> None:
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
    page.get_by_role("dialog").get_by_role("button", name="Delete it").click()
    page.get_by_text("2 questions", exact=True).wait_for()
    assert texts(path) == [ALL[0].question, ALL[2].question]


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
    other.write_text('{"question": " "}\n', encoding="utf-8")
    seen.allow("status of 400")
    page.locator("#view-evaluate input[type=file]").set_input_files(other)
    page.get_by_text("line 1 of the import: question is").wait_for()
    page.get_by_label("Which questions").select_option("Not in the index")
    expect(rows(page)).to_have_count(1)
    assert axe(page) == []


def evaluate(page: "Page") -> None:
    page.get_by_role("tab", name="Results").click()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    page.get_by_text("The questions are measured.").wait_for(timeout=60_000)


def test_results_are_a_table_and_say_why_a_question_failed(opened: Opened) -> None:
    failing = [each for each in ALL if "subscription has left" in each.question]
    page = opened([*ALL[6:10], *failing])
    evaluate(page)
    cells = page.locator(".results tbody td:nth-of-type(1)").all_inner_texts()
    assert len(cells) == 4
    assert all(re.fullmatch(r"\d+\.\d % \[\d+\.\d, \d+\.\d\]", cell) for cell in cells)
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
    page.reload()  # the address names the question
    page.locator(".question-panel h2", has_text=failing[0].question).wait_for()
