"""The document next to the windows: chosen places, hits by key over several documents, sentences that are clicked."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from app.tests.browser.looking import axe, shot
from app.tests.browser.serving import Serve
from app.tests.browser.test_ask import PHONE, QUESTION, address, cards
from langchain_sentence_window import SentenceWindowRetriever
from tests.toys import BY_COSINE, WordEmbeddings, document

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

ONE = "# One\n\nA refund is quick. Some words 😀 here. More of them. A refund ends.\n\n## Rest\n\nNobody asks for this."
TWO = "No words. A refund and a card and a card."
HITS = ["A refund is quick.", "A refund ends.", "A refund and a card and a card."]


@pytest.fixture
def small(page: "Page", serve: Serve) -> "Page":
    given = [document(ONE, "one", source="one.md"), document(TWO, "two", source="two.md")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE, window=0, min_score=0.3)
    page.goto(serve(retriever).url + address(q="refund"))
    expect(cards(page)).to_have_count(3)
    return page


def current_hit(page: "Page") -> "Locator":
    return page.locator(".reader .s.current")


def sentence(page: "Page", text: str) -> "Locator":
    return page.locator(".reader .s", has_text=text)


def test_the_best_window_is_read_at_once(page: "Page") -> None:
    page.goto(address(q=QUESTION))
    cards(page)
    expect(page.locator(".reader-title")).to_have_text("billing-policy.md")
    expect(page.locator(".reader .in-current").first).to_be_in_viewport()
    expect(page).not_to_have_url(re.compile("doc="))
    assert axe(page) == []


def test_a_window_that_is_chosen_is_scrolled_to(page: "Page") -> None:
    page.goto(address(q=QUESTION))
    last = cards(page).last
    last.locator(".window-open").click()
    text = last.locator("mark").first.inner_text().lstrip("# ")
    expect(page.locator(".reader .in-current", has_text=text).first).to_be_in_viewport()
    page.reload()
    expect(page.locator(".window-card[aria-current] .rank")).to_contain_text("10")
    expect(page.locator(".reader .in-current").first).to_be_in_viewport()


def test_back_closes_the_document_and_keeps_the_question(small: "Page") -> None:
    page = small
    page.set_viewport_size(PHONE)
    cards(page).nth(1).locator(".window-open").click()
    expect(current_hit(page)).to_be_in_viewport()
    page.go_back()
    expect(cards(page).nth(1)).to_be_visible()
    expect(page).not_to_have_url(re.compile("doc="))
    expect(page.get_by_role("textbox", name="Question")).to_have_value("refund")
    page.go_forward()
    expect(page.locator(".reader .in-window").first).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 860})
    cards(page).nth(2).locator(".window-open").click()  # from one document to another there is no step
    page.go_back()
    expect(page).not_to_have_url(re.compile("doc="))
    expect(cards(page)).to_have_count(3)


def test_a_sentence_of_a_window_chooses_its_card(small: "Page") -> None:
    page = small
    page.get_by_role("tab", name="Answer").click()
    sentence(page, HITS[1]).click()
    expect(page.locator(".window-card[aria-current] .window-text")).to_have_text(HITS[1])
    expect(page.get_by_role("tab", name="Windows")).to_have_attribute("aria-selected", "true")


def test_a_sentence_outside_asks_why_it_isnt_here(small: "Page") -> None:
    page = small
    sentence(page, "Nobody asks").click()
    why = page.get_by_role("tabpanel", name="Why")
    expect(why).to_be_visible()
    expect(why).to_contain_text("Nobody asks for this.")
    page.wait_for_function("location.hash.includes('tab=why') && location.hash.includes('sentence=')")
    page.reload()
    expect(why).to_contain_text("Nobody asks for this.")
    page.get_by_role("tab", name="Windows").click()
    expect(page).not_to_have_url(re.compile("sentence="))
    shot(page, "ask-why-sentence")
