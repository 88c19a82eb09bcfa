"""The view Ask in a browser: questions by mouse and keys, windows as cards, addresses, and what else stands there."""

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from langchain_core.documents import Document
from playwright.sync_api import expect

from langchain_sentence_window import SentenceWindowRetriever
from tests.browser.looking import SIZES, Seen, axe, shot
from tests.browser.serving import Serve
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
    expect(page.get_by_role("status").first).to_contain_text("ms in the retriever", use_inner_text=True)
    assert axe(page) == []
    shot(page, "ask-windows")


def test_screen_readers_hear_where_a_hit_begins_and_ends(page: "Page") -> None:
    page.goto(address(q=QUESTION))
    heard = cards(page).first.aria_snapshot()
    assert "[hit]" in heard
    assert "[end of hit]" in heard
    assert "Rank 1" in heard


def test_scores_are_told_in_full_when_opened(page: "Page", retriever: SentenceWindowRetriever) -> None:
    page.goto(address(q=QUESTION))
    first = cards(page).first
    window = retriever.invoke(QUESTION)[0].metadata
    expect(first.locator(".score")).to_contain_text(f"{window['score']:.3f}", use_inner_text=True)
    first.locator("summary").click()
    for hit in window["hits"]:
        expect(first.locator("table")).to_contain_text(f"{hit['similarity']:.3f}", use_inner_text=True)
    assert axe(page, within="#view-ask .left") == []


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


def test_documents_with_one_title_are_told_apart_by_their_folders(page: "Page", serve: Serve) -> None:
    given = [document(f"A refund of {name}.", f"/srv/{name}/terms.md", title="Terms") for name in ("one", "two")]
    given.append(document("A refund is quick.", "/srv/rules.md", title="Rules"))
    page.goto(
        serve(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)).url + address(q="refund")
    )
    expect(cards(page)).to_have_count(3)
    names = page.locator(".window-open").all_inner_texts()
    assert sorted(names) == ["Rules", "Terms – one/terms.md", "Terms – two/terms.md"]


def test_questions_are_written_and_brought_back_by_keys(page: "Page") -> None:
    page.goto("/")
    page.locator(".examples").wait_for()
    expect(box(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(box(page)).not_to_be_focused()
    page.keyboard.press("/")
    expect(box(page)).to_be_focused()
    page.keyboard.type("What is a seat")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("and who pays?")
    expect(box(page)).to_have_value("What is a seat\nand who pays?")
    page.keyboard.press("Enter")
    cards(page)
    ask(page, QUESTION)
    page.go_back()
    expect(box(page)).to_have_value("What is a seat\nand who pays?")


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


def test_going_back_asks_the_question_before(page: "Page") -> None:
    page.goto("/")
    ask(page, QUESTION)
    first = cards(page).first.inner_text()
    ask(page, "How are replicas promoted?")
    expect(cards(page).first).not_to_have_text(first, use_inner_text=True)
    page.go_back()
    page.wait_for_function("text => document.querySelector('.window-card')?.innerText === text", arg=first)
    expect(box(page)).to_have_value(QUESTION)
    page.locator("#views a", has_text="Documents").click()
    page.locator("#views a", has_text="Ask").click()
    expect(box(page)).to_have_value(QUESTION)
    expect(cards(page).first).to_have_text(first, use_inner_text=True)


@pytest.mark.parametrize("settings", ['{"k": ', "[1]", "null", '"k"', "3"])
def test_an_address_with_broken_settings_asks_without(page: "Page", settings: str) -> None:
    page.goto(address(q=QUESTION, settings=settings, other=settings, start="x", doc="", sentence="-1", tab="none"))
    expect(page.locator(".left .window-card")).to_have_count(10)


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


def test_selecting_text_chooses_no_window(page: "Page") -> None:
    page.goto(address(q=QUESTION))
    card = cards(page).nth(1)
    place = card.locator(".window-text").bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 2, place["y"] + 10)
    page.mouse.down()
    page.mouse.move(place["x"] + 120, place["y"] + 10, steps=4)
    page.mouse.up()
    assert page.evaluate("String(getSelection())")
    expect(card).not_to_have_attribute("aria-current", re.compile(""))
    card.locator(".window-place").click()
    expect(card).to_have_attribute("aria-current", "true")


def test_tabs_are_changed_by_arrow_keys(page: "Page") -> None:
    page.goto("/")
    page.get_by_role("tab", name="Windows").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Answer")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tabpanel", name="Answer")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_role("tabpanel", name="Why")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel", name="Windows")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.id") == "tab-windows"
    expect(page.locator("[role=tab][tabindex='0']")).to_have_count(1)


def test_text_and_citation_are_copied(page: "Page", retriever: SentenceWindowRetriever) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address(q=QUESTION))
    text = retriever.invoke(QUESTION)[0].page_content
    cards(page).first.get_by_role("button", name="Copy text").click()
    page.get_by_text("Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == text
    cards(page).first.get_by_role("button", name="Copy citation").click()
    page.get_by_text("Copied.").nth(1).wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"“{text}”\n— ")
    assert "billing-policy.md" in copied


def test_without_a_question_there_is_something_to_try(page: "Page") -> None:
    page.goto("/")
    page.get_by_text("Ask 3 documents with").wait_for()
    example = page.locator(".example").first
    text = example.inner_text()
    assert axe(page) == []
    shot(page, "ask-start")
    example.click()
    cards(page)
    expect(box(page)).to_have_value(text)


def test_an_empty_index_leads_to_documents(page: "Page", serve: Serve) -> None:
    retriever = SentenceWindowRetriever.from_documents([document("A refund.", "a")], WordEmbeddings(), **BY_COSINE)
    retriever.delete(["a"])
    page.goto(serve(retriever).url)
    page.get_by_role("heading", name="The index is empty").wait_for()
    assert axe(page) == []
    page.get_by_role("link", name="Add documents").click()
    page.locator("#view-documents").wait_for()


def test_it_says_why_nothing_was_found(page: "Page") -> None:
    page.goto(address(q=QUESTION, settings={"min_score": 2, "filter": {"source": "none.md"}}))
    page.get_by_role("heading", name="Nothing was found").wait_for()
    expect(page.locator(".result .empty")).to_contain_text("Lower it or remove it", use_inner_text=True)
    expect(page.locator(".result .empty")).to_contain_text("A filter is set", use_inner_text=True)
    assert axe(page, within="#view-ask .left") == []


def test_an_error_stands_where_the_windows_would(page: "Page", seen: Seen) -> None:
    seen.allow("status of 400")
    page.goto(address(q=QUESTION, settings={"k": 0}))
    alert = page.locator(".result [role=alert]")
    alert.wait_for()
    expect(alert).to_contain_text("k is 0", use_inner_text=True)
    page.get_by_role("button", name="Ask again").click()
    alert.wait_for()
    assert page.locator("#messages").inner_text() == ""


def test_a_server_that_is_gone_is_told_of(page: "Page", seen: Seen) -> None:
    seen.allow("ERR_FAILED")
    page.goto("/")
    page.locator(".examples").wait_for()
    page.route("**/api/ask", lambda route: route.abort())
    box(page).fill(QUESTION)
    page.keyboard.press("Enter")
    page.get_by_text("Is the program still running?").wait_for()
    page.unroute("**/api/ask")
    page.get_by_role("button", name="Ask again").click()
    expect(cards(page)).to_have_count(10)


def test_the_newest_question_wins(page: "Page", seen: Seen) -> None:
    seen.allow("ERR_")
    page.goto("/")
    page.locator(".examples").wait_for()
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


def test_a_question_doesnt_wait_for_the_form_of_the_settings(page: "Page") -> None:
    held: list[Any] = []
    page.route("**/api/settings", lambda route: held.append(route))  # noqa: PLW0108 - it sets an attribute of it
    page.goto(address(q=QUESTION, settings={"k": 3}))
    expect(cards(page)).to_have_count(3)
    held.pop().continue_()
    expect(page.locator("[aria-label='Settings A']").get_by_label("Windows", exact=True)).to_have_value("3")


OWASP = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "javascript:alert(4)",
    "<a href='javascript:alert(5)'>refund</a>",
    "<iframe srcdoc='<script>alert(6)</script>'></iframe>",
    "{{constructor.constructor('alert(7)')()}}",
    "<style>@import 'http://localhost:9/x.css'</style>",
    "<math><mi//xlink:href='data:x,<script>alert(8)</script>'>",
    "<body onload=alert(9)> <meta http-equiv=refresh content='0;url=http://localhost:9/'>",
]


@pytest.mark.parametrize("at", range(0, len(OWASP), 5))
def test_no_text_is_ever_markup(page: "Page", serve: Serve, at: int) -> None:
    given = [
        Document(
            f"# {attack}\n\nA refund 😀 {attack} ends.\n\n- {attack} refund",
            metadata={"doc_id": attack, "source": f"dir/{attack}", "title": attack},
        )
        for attack in OWASP[at : at + 5]
    ]
    served = serve(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE))
    page.goto(served.url)
    example = page.locator(".example").first
    example.wait_for()
    found = ask(page, f"refund {OWASP[at]}")
    texts = found.locator(".window-text").all_text_contents()
    assert [each.page_content for each in served.retriever.invoke(f"refund {OWASP[at]}")] == texts
    for tag in ("script", "iframe", "style", "math", "svg", "img[src='x']"):
        assert page.locator(f"#main {tag}").count() == 0
    page.locator(".window-open").first.click()
    page.keyboard.press("n")
    page.wait_for_timeout(100)
    page.reload()
    expect(cards(page)).to_have_count(len(texts))


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


def test_a_long_window_is_folded_and_its_hits_are_in_sight(page: "Page", serve: Serve) -> None:
    text = " ".join(["A plain word goes on and on."] * 100 + ["A refund ends."] + ["More plain words go on."] * 100)
    served = serve(
        SentenceWindowRetriever.from_documents(
            [document(text)], WordEmbeddings(), **BY_COSINE, k=1, fetch_k=1, window=500
        )
    )
    page.goto(served.url + address(q="refund"))
    shown = cards(page).locator(".window-text").inner_text()
    assert "A refund ends." in shown
    assert len(shown) < len(text)
    cards(page).get_by_role("button", name="Show all").click()
    assert cards(page).locator(".window-text").text_content() == text
    assert axe(page) == []


def test_equal_texts_lead_to_their_other_places(page: "Page", serve: Serve) -> None:
    given = [document("A refund ends.", name, source=f"{name}.md") for name in ("one", "two")]
    served = serve(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE, k=1))
    page.goto(served.url + address(q="refund"))
    link = cards(page).get_by_role("link", name="two.md")
    link.click()
    page.wait_for_function("location.hash.includes('doc=two')")
    expect(cards(page)).to_have_count(1)


def test_sources_of_the_web_are_opened_at_their_place(page: "Page", serve: Serve) -> None:
    given = [
        document("A refund ends.", "one", source="https://example.com/terms"),
        document("A refund of a file.", "two", source="file:///srv/two.md"),
    ]
    served = serve(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE))
    page.goto(served.url + address(q="refund"))
    links = cards(page).get_by_role("link", name="Open the source of")
    expect(links).to_have_count(1)
    expect(links).to_have_attribute("href", "https://example.com/terms#:~:text=A%20refund%20ends.")
    expect(links).to_have_attribute("rel", "noopener noreferrer")
    assert axe(page) == []


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


def test_settings_are_a_form(page: "Page") -> None:
    page.goto(address(q=QUESTION))
    cards(page)
    page.locator(".left .ask-settings > summary").click()
    page.locator(".left .ask-settings [data-name=k] input").fill("3")
    page.locator(".left .result-status", has_text="3 windows").wait_for()
    expect(page).to_have_url(re.compile("settings="))
    assert axe(page) == []
    page.locator(".left").get_by_role("button", name="Reset").click()
    page.locator(".left .result-status", has_text="10 windows").wait_for()
    expect(page).not_to_have_url(re.compile("settings="))
