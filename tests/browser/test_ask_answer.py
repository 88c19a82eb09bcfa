"""Answers of a chat model in the view Ask: as they are written, with their verdicts; and models that lie or fail."""

import json
import re
from collections.abc import Iterator
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from langchain_openai import ChatOpenAI
from playwright.sync_api import expect
from pydantic import SecretStr

from langchain_sentence_window import SentenceWindowRetriever
from tests.browser.looking import Seen, axe, shot
from tests.browser.serving import Serve
from tests.browser.test_ask import PHONE, QUESTION, address, ask
from tests.openai_server import Message, OpenAIServer, openai_server
from tests.patience import until
from tests.toys import BY_COSINE, WordEmbeddings, document

if TYPE_CHECKING:
    from playwright.sync_api import Page

SOURCE = re.compile(r"<source>\s*\[\d+\][^\n]*\n(.*?)\s*</source>", re.DOTALL)


def sources_of(messages: list[Message]) -> list[str]:
    return [str(each) for each in SOURCE.findall(str(messages[-1]["content"]))]


def in_quotes(messages: list[Message]) -> str:
    """A statement with a verbatim quote, one with another source's, one with a made up quote, and a remark."""
    first, second = (each.rpartition("\n")[2].partition(". ")[0] for each in sources_of(messages)[:2])
    statements = [
        {"text": "Refunds go back 😀.", "evidence": [{"source": 1, "quote": first}]},
        {"text": "They are tried again.", "evidence": [{"source": 1, "quote": second.upper()}]},
        {"text": "Cash works.", "evidence": [{"source": 2, "quote": "Cash is accepted everywhere."}]},
    ]
    return json.dumps({"statements": statements, "remark": "Nothing is said of coins."})


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(in_quotes) as server:
        yield server


@pytest.fixture
def url(serve: Serve, retriever: SentenceWindowRetriever, server: OpenAIServer) -> str:
    llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy", max_retries=0)
    return serve(retriever, chat_model=llm).url


def answered(page: "Page", url: str, citing: str = "quotes", **given: Any) -> str:
    """Ask for an answer, and return its text as it stands there."""
    page.goto(url + address(q=QUESTION, tab="answer", **given))
    page.locator("#tab-windows", has_text="(").wait_for()
    page.get_by_label("Citations").select_option(citing)
    page.get_by_role("button", name="Write an answer").click()
    page.locator(".answer-status", has_text="Answered in").wait_for()
    return page.get_by_role("region", name="Answer").inner_text()


def test_statements_have_chips_and_quotes_their_verdicts(page: "Page", url: str) -> None:
    text = answered(page, url)
    assert text == (
        "Refunds go back 😀. 1 ✓ They are tried again. 2 ⇄ Cash works. ✕ unverified Nothing is said of coins."
    )
    expect(page.locator(".answer-status")).to_contain_text("1 of 3 quotes stand in the sources", use_inner_text=True)
    verdicts = page.locator(".quote .verdict").all_inner_texts()
    assert [each.split(" · ")[0] for each in verdicts] == ["✓ verbatim", "⇄ misattributed", "✕ not found"]
    chip = page.get_by_role("button", name="Source 1, billing-policy.md, quote verbatim")
    expect(chip).to_have_count(1)
    assert axe(page, within="#view-ask .left") == []
    shot(page, "ask-answer")


def test_chips_and_quotes_lead_to_their_places(page: "Page", url: str, retriever: SentenceWindowRetriever) -> None:
    answered(page, url)
    window = retriever.invoke(QUESTION)[0]
    quote = page.locator(".quote blockquote").first.text_content() or ""
    start = window.metadata["start_index"] + window.page_content.index(quote)
    for button in (page.locator(".chip").first, page.locator(".quote-place").first):
        page.evaluate("history.replaceState(null, '', location.hash.replace(/&start=\\d+/, ''))")
        button.click()
        page.wait_for_function("start => location.hash.includes(`start=${start}&`)", arg=start)
    expect(page.get_by_role("tab", name="Answer")).to_have_attribute("aria-selected", "true")


def test_numbers_are_cited_and_quotations_verified(page: "Page", url: str, server: OpenAIServer) -> None:
    server.reply = lambda _: 'It is "cash only" [2], and so on [1][99]. `[1]` and [1](javascript:alert(1)) are none.'
    text = answered(page, url, "numbers")
    assert text == 'It is "cash only" 2 ✕, and so on 1[99]. `[1]` and [1](javascript:alert(1)) are none.'
    assert page.locator(".answer-text a").count() == 0
    assert page.locator(".quote .verdict").first.inner_text().startswith("✕ not found")


def test_a_claim_in_other_words_is_no_accusation(page: "Page", url: str, server: OpenAIServer) -> None:
    server.reply = lambda _: "A card is charged again after a while [1]."
    assert answered(page, url, "numbers") == "A card is charged again after a while 1 ~."
    verdict = page.locator(".quote .verdict").first
    assert verdict.inner_text().startswith("~ paraphrase")
    color = "each => getComputedStyle(each).color"
    assert page.locator(".chip").first.evaluate(color) == page.locator(".quote .verdict .muted").first.evaluate(color)
    expect(page.locator(".answer-status")).to_contain_text("It quotes nothing", use_inner_text=True)


def test_a_quote_of_the_web_has_a_link_to_its_place(page: "Page", serve: Serve, server: OpenAIServer) -> None:
    given = [document("A refund ends. It takes days.", "one", source="https://example.com/terms")]
    made = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)
    llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy", max_retries=0)
    server.reply = lambda _: 'They say "It takes days." [1]'
    answered(page, serve(made, chat_model=llm).url, "numbers")
    link = page.locator(".quote").get_by_role("link", name="Open the source of [1]")
    expect(link).to_have_attribute("href", "https://example.com/terms#:~:text=It%20takes%20days.")


def test_enter_asks_the_model_again_only_in_its_tab(page: "Page", url: str, server: OpenAIServer) -> None:
    answered(page, url)
    assert len(server.prompts()) == 1
    page.get_by_role("tab", name="Windows").click()
    ask(page, "How are replicas promoted?")
    page.get_by_role("tab", name="Answer").click()
    expect(page.locator(".turn")).to_have_count(0)
    assert len(server.prompts()) == 1
    page.get_by_role("textbox", name="Question").fill("What is a seat?")
    page.keyboard.press("Enter")
    page.locator(".answer-status", has_text="Answered in").wait_for()
    assert "What is a seat?" in str(server.prompts()[-1][-1]["content"])
    page.reload()
    page.locator("#tab-windows", has_text="(").wait_for()
    page.wait_for_timeout(200)
    assert len(server.prompts()) == 2  # a link alone costs nothing


def test_double_clicks_ask_the_model_once(page: "Page", url: str, server: OpenAIServer) -> None:
    page.goto(url + address(q=QUESTION, tab="answer"))
    page.locator("#tab-windows", has_text="(").wait_for()
    page.get_by_role("button", name="Write an answer").dblclick()
    page.locator(".answer-status", has_text="Answered in").wait_for()
    page.get_by_role("textbox", name="Question", exact=True).fill("What is a seat?")
    page.get_by_role("button", name="Ask", exact=True).first.dblclick()
    page.locator(".answer-status", has_text="Answered in").wait_for()
    page.wait_for_timeout(200)
    assert len(server.prompts()) == 2


def test_an_answer_is_shown_as_it_is_written_and_can_be_stopped(
    page: "Page", url: str, server: OpenAIServer, seen: Seen
) -> None:
    page.goto(url + address(q=QUESTION, tab="answer"))
    server.faults.append("hang")
    page.get_by_role("button", name="Write an answer").click()
    stop = page.get_by_role("button", name="Stop")
    stop.wait_for()
    page.locator(".answer-status", has_text="Waiting for the model, which is shown 10 windows").wait_for()
    until(server.prompts)  # else the next answer may be the one that hangs
    stop.click()
    page.locator(".answer-status", has_text="Stopped").wait_for()
    expect(stop).to_be_hidden()
    assert page.locator(".answer [role=alert]").inner_text() == ""
    page.get_by_role("button", name="Write an answer").click()
    page.locator(".answer-status", has_text="Answered in").wait_for()


def test_a_slow_model_writes_bit_by_bit(page: "Page", serve: Serve, retriever: SentenceWindowRetriever) -> None:
    from tests.browser.slow_model import SlowModel

    go_on = Event()
    page.goto(serve(retriever, chat_model=SlowModel(go_on=go_on)).url + address(q=QUESTION, tab="answer"))
    page.get_by_label("Citations").select_option("numbers")
    page.get_by_role("button", name="Write an answer").click()
    page.locator(".answer-text", has_text="So it is").wait_for()
    expect(page.locator(".answer-text")).to_have_attribute("aria-busy", "true")
    expect(page.locator(".answer-status")).to_have_text("Writing…")
    go_on.set()
    page.locator(".answer-status", has_text="Answered in").wait_for()
    assert page.locator(".answer-text").inner_text() == "So it is 1 ~ and ends."
    page.locator(".chip").click()
    expect(page).to_have_url(re.compile("doc="))


def test_follow_ups_are_understood_from_what_was_said(page: "Page", url: str, server: OpenAIServer) -> None:
    def reply(messages: list[Message]) -> str:
        is_rewriting = "Rewrite my next question" in str(messages[-1]["content"])
        return "How are replicas promoted?" if is_rewriting else in_quotes(messages)

    server.reply = reply
    answered(page, url)
    first = page.locator(".answer-text").first.inner_text()
    page.get_by_role("textbox", name="Follow-up question").fill("And <b>replicas</b>?")
    page.keyboard.press("Enter")
    page.locator(".turn").nth(1).locator(".answer-status", has_text="Answered in").wait_for()
    expect(page.get_by_role("heading", name="And <b>replicas</b>?")).to_be_visible()
    expect(page.locator(".answer-text").first).to_have_text(first, use_inner_text=True)
    expect(page.get_by_role("textbox", name="Follow-up question")).to_be_focused()
    said = [str(each["content"]) for each in server.prompts()[-1]]
    assert said[1] == QUESTION
    assert said[2].startswith("Refunds go back 😀. They are tried again.")
    page.locator(".turn").nth(1).locator(".chip").first.click()
    page.locator(".reader-title", has_text="operations-manual.md").wait_for()
    assert axe(page, within="#view-ask .left") == []
    shot(page, "ask-follow-up")
    server.faults.append(500)
    page.get_by_role("textbox", name="Follow-up question").fill("And then?")
    page.keyboard.press("Enter")
    page.locator(".turn").nth(2).get_by_text("the chat model failed").wait_for()
    expect(page.get_by_role("textbox", name="Follow-up question")).to_have_value("And then?")
    page.get_by_role("button", name="Write an answer").click()
    page.locator(".answer-status", has_text="Answered in").wait_for()
    expect(page.locator(".turn")).to_have_count(1)


@pytest.mark.parametrize("fault", [500, "die"])
def test_a_model_that_fails_is_told_of_in_its_place(page: "Page", url: str, server: OpenAIServer, fault: Any) -> None:
    server.reply = lambda _: "One <b>two</b> three four five [1]."
    server.faults.append(fault)
    page.goto(url + address(q=QUESTION, tab="answer"))
    page.get_by_label("Citations").select_option("numbers")
    page.get_by_role("button", name="Write an answer").click()
    page.locator(".answer [role=alert]", has_text="the chat model failed").wait_for()
    assert page.locator(".answer-text").inner_text() == ("One <b>two</b> three" if fault == "die" else "")
    assert page.locator("#messages").inner_text() == ""
    assert axe(page, within="#view-ask .left") == []


def test_no_answer_is_ever_markup(page: "Page", url: str, server: OpenAIServer) -> None:
    attack = "<img src=x onerror=alert(1)><script>alert(2)</script> javascript:alert(3) [unverified]\u202e"
    quote = {"source": 1, "quote": f"{attack} refund"}
    server.reply = lambda _: json.dumps({"statements": [{"text": attack, "evidence": [quote]}], "remark": attack})
    text = answered(page, url)
    assert "<img src=x onerror=alert(1)><script>alert(2)</script>" in text
    assert attack in (page.locator(".quote blockquote").text_content() or "")
    for tag in ("script", "img"):
        assert page.locator(f"#main {tag}").count() == 0


def test_a_doubt_stands_above_the_answer(page: "Page", url: str) -> None:
    page.goto(url + address(q="What is the capital of Peru?", tab="answer"))
    page.get_by_role("button", name="Write an answer").click()
    page.locator(".answer-status", has_text="Answered in").wait_for()
    doubt, text = page.locator(".turn .doubt"), page.locator(".answer-text")
    expect(doubt).to_have_text("These passages may not answer the question.")
    assert doubt.bounding_box()["y"] < text.bounding_box()["y"]  # type: ignore[index]


def test_without_sources_the_model_isnt_asked(page: "Page", url: str, server: OpenAIServer) -> None:
    page.goto(url + address(q=QUESTION, tab="answer", settings={"min_score": 2}))
    page.get_by_role("button", name="Write an answer").click()
    page.locator(".answer-status", has_text="nothing to answer from").wait_for()
    assert server.prompts() == []


def test_without_a_model_the_tab_says_how_to_start_with_one(page: "Page") -> None:
    page.goto(address(q=QUESTION, tab="answer"))
    page.get_by_role("heading", name="There is no chat model").wait_for()
    assert not page.get_by_role("button", name="Write an answer").is_visible()
    expect(page.get_by_role("tabpanel", name="Answer")).to_contain_text("chat_model=", use_inner_text=True)
    assert axe(page, within="#view-ask .left") == []


def test_an_answer_fits_a_phone_and_the_dark(page: "Page", url: str) -> None:
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    answered(page, url)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert axe(page, within="#view-ask .left") == []
    shot(page, "ask-answer-phone-dark")
