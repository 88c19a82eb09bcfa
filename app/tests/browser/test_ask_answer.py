"""Answers of a chat model in the view Ask: as they are written, with their verdicts; and models that lie or fail."""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from langchain_openai import ChatOpenAI
from playwright.sync_api import expect
from pydantic import SecretStr

from app.tests.browser.looking import Seen, axe, shot
from app.tests.browser.serving import Serve
from app.tests.browser.test_ask import QUESTION, address
from langchain_sentence_window import SentenceWindowRetriever
from tests.openai_server import Message, OpenAIServer, openai_server
from tests.patience import until

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
    """Ask for an answer, and return its text."""
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
    expect(page.locator(".answer-status")).to_contain_text("1 of 3 quotes are in the sources", use_inner_text=True)
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
    page.locator(".turn").nth(2).get_by_text("Error code: 500").wait_for()
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
    page.locator(".answer [role=alert] .error").wait_for()
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


def test_without_a_model_the_tab_says_how_to_start_with_one(page: "Page") -> None:
    page.goto(address(q=QUESTION, tab="answer"))
    page.get_by_role("heading", name="There is no chat model").wait_for()
    assert not page.get_by_role("button", name="Write an answer").is_visible()
    expect(page.get_by_role("tabpanel", name="Answer")).to_contain_text("chat_model=", use_inner_text=True)
    assert axe(page, within="#view-ask .left") == []
