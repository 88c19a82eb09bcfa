"""The view Ask in a browser: questions by mouse and keys, windows as cards, and addresses."""

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from app.tests.browser.looking import SIZES, Seen, axe, shot
from app.tests.browser.serving import Serve
from langchain_sentence_window import SentenceWindowRetriever
from tests.toys import BY_COSINE, WordEmbeddings, document

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

QUESTION = "When is a refund refused?"
PHONE: Any = {"width": 390, "height": 780}


def address(**given: Any) -> str:
    return "/#/ask?" + urlencode(
        {name: each if isinstance(each, str) else json.dumps(each) for name, each in given.items()}
    )


def cards(page: "Page") -> "Locator":
    page.locator(".window-card").first.wait_for()
    return page.locator(".window-card")


def box(page: "Page") -> "Locator":
    return page.get_by_role("textbox", name="Question")


def ask(page: "Page", question: str) -> "Locator":
    box(page).fill(question)
    page.keyboard.press("Enter")
    page.locator(".left .result:not(.stale)").wait_for()
    return cards(page)


def test_windows_are_cards_with_their_hits_marked(page: "Page", retriever: SentenceWindowRetriever) -> None:
    page.goto("/")
    found = ask(page, QUESTION)
    windows = retriever.invoke(QUESTION)
    assert len(windows) == 10
    expect(found).to_have_count(len(windows))
    for number, window in enumerate(windows):
        card = found.nth(number)
        assert card.locator(".rank").inner_text().split() == ["Rank", str(number + 1)]
        assert card.locator(".window-text").text_content() == window.page_content
        start = window.metadata["start_index"]
        hits = [
            window.page_content[hit["start_index"] - start : hit["end_index"] - start]
            for hit in window.metadata["hits"]
        ]
        assert card.locator("mark").all_text_contents() == hits
        expect(card.locator(".breadcrumb")).to_contain_text(
            window.metadata["heading"].split(" > ")[-1], use_inner_text=True
        )
    expect(page.get_by_role("status").first).to_contain_text("10 windows of", use_inner_text=True)
    expect(page.get_by_role("status").first).to_contain_text(re.compile(r"· [\d,]+ ms$"), use_inner_text=True)
    assert axe(page) == []
    shot(page, "ask-windows")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_windows_that_may_not_answer_say_so_on_top(
    page: "Page", retriever: SentenceWindowRetriever, scheme: Any
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(address(q="What is the capital of Peru?"))
    support = page.locator("#view-ask .result > .support")
    expect(support).to_contain_text("These passages may not answer the question.")
    relevance = retriever.invoke("What is the capital of Peru?")[0].metadata["relevance"]
    expect(support.locator(".number")).to_have_text(f"{relevance:.2f}")
    page.wait_for_timeout(250)
    assert axe(page) == []
    for size in SIZES:
        page.set_viewport_size(size)
        shot(page, f"ask-doubt-{size['width']}-{scheme}")
    page.goto(address(q=QUESTION))
    expect(support.locator(".number")).to_have_text("0.97")
    expect(page.locator("#view-ask .doubt")).to_have_count(0)


def test_an_address_shows_the_same_again(page: "Page") -> None:
    page.goto("/")
    ask(page, QUESTION)
    assert page.evaluate("location.hash") == "#/ask?" + urlencode({"q": QUESTION})
    texts = cards(page).locator(".window-text").all_text_contents()
    page.reload()
    assert cards(page).locator(".window-text").all_text_contents() == texts
    expect(box(page)).to_have_value(QUESTION)
    page.goto(address(q=QUESTION, settings={"k": 2, "window": [0, 0]}))
    page.locator(".left .result-status", has_text="2 windows").wait_for()
    expect(page.locator(".left .ask-settings > summary")).to_contain_text(
        "Windows = 2, Window = (0, 0)", use_inner_text=True
    )


def test_windows_are_chosen_by_keys_and_by_mouse(page: "Page") -> None:
    page.goto(address(q=QUESTION))
    found = cards(page)
    page.keyboard.press("j")
    expect(found.nth(1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(".window-card[aria-current]")).to_have_count(1)
    expect(found.nth(1)).to_have_attribute("aria-current", "true")
    assert page.evaluate("document.activeElement.closest('article').dataset.rank") == "2"
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("start="))
    found.nth(3).locator(".window-text").click()
    expect(found.nth(3)).to_have_attribute("aria-current", "true")


def test_an_error_stands_where_the_windows_would(page: "Page", seen: Seen) -> None:
    seen.allow("status of 400")
    page.goto(address(q=QUESTION, settings={"k": 0}))
    alert = page.locator(".result [role=alert]")
    alert.wait_for()
    expect(alert).to_contain_text("k is 0", use_inner_text=True)
    page.get_by_role("button", name="Ask again").click()
    alert.wait_for()
    assert page.locator("#messages").inner_text() == ""


def test_the_newest_question_wins(page: "Page", seen: Seen) -> None:
    seen.allow("ERR_")
    page.goto("/")
    box(page).wait_for()
    held: list[Any] = []

    def hold_first(route: Any) -> None:
        if "slow" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/ask", hold_first)
    box(page).fill("a slow refund")
    page.keyboard.press("Enter")
    page.get_by_text("Asking…").wait_for()
    first = ask(page, QUESTION).first.inner_text()
    for route in held:
        route.abort()
    page.wait_for_timeout(100)
    expect(cards(page).first).to_have_text(first, use_inner_text=True)
    assert page.locator("[role=alert] .error").count() == 0


def test_marks_count_code_points(page: "Page", serve: Serve) -> None:
    text = "😀😀 Ünï 👩‍👩‍👧 first. A refund 🏳️‍🌈 𝕏 here. Last 😀."
    served = serve(
        SentenceWindowRetriever.from_documents(
            [document(text)], WordEmbeddings(), **BY_COSINE, k=1, fetch_k=1, window=5
        )
    )
    page.goto(served.url + address(q="refund"))
    assert cards(page).locator(".window-text").text_content() == text
    assert cards(page).locator("mark").all_text_contents() == ["A refund 🏳️‍🌈 𝕏 here."]


def test_on_a_phone_the_document_covers_the_list_until_back(page: "Page") -> None:
    page.set_viewport_size(PHONE)
    page.goto(address(q=QUESTION))
    cards(page).nth(1).locator(".window-open").click()
    back = page.get_by_role("button", name="Back to the list")
    back.wait_for()
    expect(back).to_be_focused()
    expect(page.locator(".window-card").first).to_be_hidden()
    shot(page, "ask-phone-reading")
    page.reload()
    back.wait_for()
    back.click()
    expect(cards(page).nth(1)).to_be_visible()
    expect(page).not_to_have_url(re.compile("doc="))
    cards(page).nth(2).locator(".window-open").click()
    page.keyboard.press("Escape")
    expect(cards(page).nth(2)).to_be_visible()
