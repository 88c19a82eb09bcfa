"""“This is the answer” in Ask and while reading: text becomes gold with a click, and is removed with another."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from app.tests.browser.conftest import EXAMPLES
from app.tests.browser.looking import SIZES, axe, shot
from app.tests.browser.serving import Serve
from app.tests.browser.test_ask import QUESTION, address
from app.tests.browser.test_evaluate import select
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import read_questions

if TYPE_CHECKING:
    from playwright.sync_api import Page

Opened = Callable[..., "Page"]
SENTENCE = "A refund is not given, however, once more than 100 bookings have been taken in the period."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "questions.jsonl"


@pytest.fixture
def opened(page: "Page", path: Path, retriever: SentenceWindowRetriever, serve: Serve) -> Iterator[Opened]:
    """Ask a question of the examples, whose answers are kept in a file: ``opened(tab=...)``."""

    def open_ask(url: str = address(q=QUESTION), **settings: bool) -> "Page":
        page.goto(serve(retriever, questions=path, folders=[EXAMPLES], **settings).url + url)
        return page

    yield open_ask
    page.goto("about:blank")


def saved(path: Path) -> dict[str, list[str]]:
    """The gold of each document of the one question, as texts."""
    found: dict[str, list[str]] = {}
    for each in read_questions(path) if path.exists() and path.read_text(encoding="utf-8") else []:
        assert each.question == QUESTION
        source = Path(each.doc_id)
        text = source.read_text(encoding="utf-8") if source.suffix == ".md" else None
        found[source.name] = [text[start:end] if text else "" for start, end in each.spans]
    return found


def told(page: "Page", text: str) -> None:
    page.locator("#messages").get_by_text(text).last.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_window_answers_with_one_click_and_no_more_with_another(opened: Opened, path: Path, scheme: str) -> None:
    page = opened()
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    card = page.locator(".window-card").first
    card.get_by_role("button", name="This is the answer").click()
    told(page, "Saved as the answer.")
    card.locator("mark.gold").first.wait_for()
    hits = card.locator("mark.gold").all_text_contents()
    assert saved(path) == {"billing-policy.md": hits}
    assert not any(each.startswith("#") for each in hits)  # a heading answers nothing
    expect(page.locator(".reader .s.gold").first).to_be_attached()  # the document shows it, too
    page.wait_for_timeout(250)
    assert axe(page) == []
    for size in SIZES:
        page.set_viewport_size(size)
        shot(page, f"answer-{size['width']}-{scheme}")
    page.set_viewport_size(SIZES[0])
    card.get_by_role("button", name="This isn't the answer").click()
    told(page, "It isn't the answer any more.")
    expect(card.locator("mark.gold")).to_have_count(0)
    assert saved(path) == {}


def test_what_is_selected_answers_by_a_key(opened: Opened, path: Path) -> None:
    page = opened()
    page.locator(".reader .s").first.wait_for()
    select(page, "Card refunds take five to ten days")
    page.keyboard.press("a")
    told(page, "Saved as the answer.")
    assert saved(path) == {"billing-policy.md": ["Card refunds take five to ten days"]}
    # In a window it is the sentences that the selection touches.
    card = page.locator(".window-card").first
    card.locator(".window-text .s", has_text="We do not refund").select_text()
    page.keyboard.press("a")
    expect(card.locator(".gold", has_text="We do not refund")).to_have_count(1)
    assert (
        saved(path)["billing-policy.md"][-1] == "We do not refund to a different person, even when both parties agree."
    )
    page.evaluate("getSelection().removeAllRanges()")
    page.keyboard.press("j")  # the next window
    page.keyboard.press("a")  # the text below its heading
    expect(page.locator(".window-card").nth(1).locator(".gold")).to_have_count(1)
    assert len(saved(path)["billing-policy.md"]) == 3


def test_what_is_read_on_a_page_of_a_pdf_answers_a_question_that_is_written_there(opened: Opened, path: Path) -> None:
    page = opened("/#/documents?doc=" + str(EXAMPLES / "agreement.pdf"))
    box = page.locator(".reader .page .box")
    box.nth(6).wait_for()
    bar = page.locator("#view-documents .answer-bar")
    box.nth(3).hover()
    page.mouse.down()
    box.nth(5).hover()
    page.mouse.up()
    bar.get_by_role("button", name="This is the answer").click()
    expect(bar.get_by_role("textbox", name="Question that it answers")).to_be_focused()
    page.keyboard.type(QUESTION)
    bar.get_by_role("button", name="This is the answer").click()
    told(page, "Saved as the answer.")
    (made,) = read_questions(path)
    assert made.question == QUESTION
    assert made.doc_id.endswith("agreement.pdf")
    expect(page.locator(".reader .box.gold").first).to_be_attached()
    page.wait_for_timeout(250)
    assert axe(page) == []
    for size in SIZES:
        page.set_viewport_size(size)
        shot(page, f"answer-pdf-{size['width']}")


def test_from_a_wrong_answer_to_a_saved_test_and_a_better_default(opened: Opened, path: Path) -> None:
    """The way of `docs/how-to/studio.md`, in clicks."""
    page = opened(address(q=QUESTION, doc=str(EXAMPLES / "documents" / "billing-policy.md")))
    page.locator(".window-card").first.wait_for()
    page.locator(".reader .s[data-p='5']").first.click()  # 1: why isn't it there?
    verdict = page.locator(".verdict-box")
    verdict.get_by_role("button", name="This is the answer").click()  # 2: it is a test now
    told(page, "Saved as the answer.")
    verdict.get_by_role("button", name="Would this help?").last.click()  # 3: with the setting that would bring it
    trial = page.get_by_role("region", name="Would this help?")
    expect(trial).to_contain_text("1 of 1 question wins, 0 lose.")
    trial.get_by_role("button", name="Use as default").click()  # 4
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("From now on")  # 5 writes it, which this index of other tests is spared
    dialog.get_by_role("button", name="Cancel").click()
    assert saved(path) == {"billing-policy.md": ["All amounts are in euros unless a section says otherwise."]}
