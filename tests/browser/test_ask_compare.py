"""Two settings side by side in Ask: the form, what differs, the program, the default."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from playwright.sync_api import expect

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import write_questions
from langchain_sentence_window.retrieval.index_settings import read_index_settings
from tests.browser.looking import SIZES, Seen, axe, shot
from tests.browser.serving import Serve
from tests.browser.test_ask import QUESTION, address
from tests.browser.test_evaluate import ALL

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PHONE: Any = {"width": 390, "height": 844}
SIDES = {"A": ".ask > .left", "B": ".ask > .other"}


def given_in(page: "Page") -> dict[str, Any]:
    found = parse_qs(urlsplit(page.url).fragment.partition("?")[2])
    return {name: json.loads(each[0]) if name in ("settings", "other") else each[0] for name, each in found.items()}


def side(page: "Page", name: str) -> "Locator":
    return page.locator(SIDES[name])


def opened(page: "Page", other: object, **given: Any) -> tuple["Locator", "Locator"]:
    page.goto(address(q=QUESTION, other=other, **given))
    page.locator(".compared", has_text=re.compile("only in A|the same windows")).wait_for(state="attached")
    return side(page, "A"), side(page, "B")


def open_form(of_side: "Locator") -> None:
    of_side.locator(".ask-settings").wait_for()
    if of_side.locator(".ask-settings:not([open])").count():
        of_side.locator(".ask-settings > summary").click()


def texts_of(of_side: "Locator") -> list[str]:
    return of_side.locator(".window-text").all_text_contents()


def settled(of_side: "Locator", cards: int) -> None:
    expect(of_side.locator(".result:not(.stale) .window-card")).to_have_count(cards)
    of_side.page.wait_for_timeout(200)  # what was there fades in


def shows(of_side: "Locator", windows: Sequence[Document]) -> None:
    expect(of_side.locator(".window-text")).to_have_text([each.page_content for each in windows])


def sentences_of(window: Document) -> set[tuple[str, int]]:
    first, last = window.metadata["sentences"]
    return {(window.metadata["doc_id"], index) for index in range(first, last + 1)}


def test_two_settings_are_shown_with_what_differs(page: "Page", retriever: SentenceWindowRetriever) -> None:
    a, b = opened(page, {"k": 3, "window": [1, 2]})
    ours = [retriever.invoke(QUESTION), retriever.invoke(QUESTION, k=3, window=(1, 2))]
    for shown, windows in ((a, ours[0]), (b, ours[1])):
        assert texts_of(shown) == [each.page_content for each in windows]
    held = [set().union(*map(sentences_of, each)) for each in ours]
    only = [sum(not sentences_of(each) & held[1 - n] for each in of) for n, of in enumerate(ours)]
    assert [a.locator(".change-only").count(), b.locator(".change-only").count()] == only
    assert only[0] > 0
    expect(page.locator(".compared")).to_contain_text(f"{only[0]} only in A, {only[1]} only in B")
    expect(b.locator(".change-longer").nth(0)).to_be_attached()
    own = b.locator(".is-own").all_text_contents()
    assert own
    assert not any(each in "".join(texts_of(a)) for each in own)
    expect(b.locator(".result-status")).to_contain_text(re.compile(r"3 windows .* tokens \(−\d+ %\) .* ms"))
    assert axe(page) == []
    shot(page, "compare")
    b.locator(".window-open").first.click()
    expect(page.locator(".reader .in-current").first).to_be_in_viewport()


def test_settings_are_live_and_stand_in_the_address(page: "Page", retriever: SentenceWindowRetriever) -> None:
    page.goto(address(q=QUESTION))
    a, b = side(page, "A"), side(page, "B")
    settled(a, 10)
    open_form(a)
    a.get_by_role("button", name="Compare with other settings").click()
    expect(page.locator(".compared")).to_have_text("Both return the same windows.")
    b.get_by_label("Windows", exact=True).fill("2")
    settled(b, 2)
    assert given_in(page) == {"q": QUESTION, "other": {"k": 2}}
    a.get_by_label("Window", exact=True).fill("2, 4")
    expect(a.locator(".ask-settings > summary")).to_contain_text("Window = (2, 4)")
    shows(a, retriever.invoke(QUESTION, window=(2, 4)))
    assert given_in(page)["settings"] == {"window": [2, 4]}
    shown = texts_of(a), texts_of(b)
    page.reload()
    settled(b, 2)
    settled(a, 10)
    assert (texts_of(a), texts_of(b)) == shown
    expect(b.get_by_label("Windows", exact=True)).to_have_value("2")
    page.locator("body").press("x")  # swaps them
    settled(a, 2)
    assert given_in(page) == {"q": QUESTION, "settings": {"k": 2}, "other": {"window": [2, 4]}}
    assert texts_of(a) == shown[1]
    page.go_back()
    settled(b, 2)
    b.get_by_role("button", name="Reset").click()
    settled(b, 10)
    b.get_by_role("button", name="Close").click()
    expect(b).to_be_hidden()
    assert given_in(page) == {"q": QUESTION, "settings": {"window": [2, 4]}}
    expect(page.locator(".change-longer")).to_have_count(0)


def test_a_value_that_cant_be_used_is_told_while_typing_and_not_asked(page: "Page") -> None:
    _, b = opened(page, {})
    shown = texts_of(b)
    windows = b.get_by_label("Windows", exact=True)
    for wrong in ("0", "", "1.5", "501"):
        windows.fill(wrong)
        expect(b.locator(".setting[data-name=k] .error")).to_have_text(re.compile(r"\w"))  # in the browser's own words
        expect(windows).to_have_attribute("aria-invalid", "true")
        assert texts_of(b) == shown
    windows.fill("3")
    settled(b, 3)
    expect(windows).not_to_have_attribute("aria-invalid", re.compile(""))
    window = b.get_by_label("Window", exact=True)
    for wrong in ("wide", "1, 2, 3", "(1, x)", "1001", '{"legal": '):
        window.fill(wrong)
        expect(window).to_have_attribute("aria-invalid", "true")
    window.fill('{"legal": [1, 3]}')
    expect(window).not_to_have_attribute("aria-invalid", re.compile(""))
    b.locator(".settings-more > summary").click()
    b.get_by_label("Filter as JSON").fill('{"source":')
    b.get_by_text("This isn't JSON").wait_for()
    settled(b, 3)
    assert axe(page) == []


def test_each_setting_can_be_set_and_comes_back_after_a_reload(page: "Page") -> None:
    _, b = opened(page, {})
    b.locator(".settings-more > summary").click()
    b.get_by_label("Token budget").fill("90")
    b.get_by_label("Reranker").select_option(label="late interaction")
    b.get_by_label("Sentences searched").fill("20")
    b.get_by_label("Weight of words").fill("0.5")
    b.get_by_label("Order", exact=True).select_option(label="document")
    b.get_by_label("Lowest similarity").fill("0.1")
    b.locator("[data-name=names] select").select_option("keys")
    b.get_by_label("Keys of metadata that hold names").fill("source, title")
    b.locator("[data-name=ranking] select").first.select_option("weights")
    weights = b.get_by_label("Weights as JSON")
    weights.fill('{"coverage_own": 2, "none": 1}')
    b.get_by_text("none isn't a signal.").wait_for()
    weights.fill('{"coverage_own": 2}')
    chosen(b.get_by_label("Add a signal"), "place:")
    chosen(b.get_by_label("Add a key of the documents"), "billing-policy.md")
    expect(b.locator(".ask-settings > summary")).to_contain_text("Filter = ")
    page.wait_for_timeout(500)
    given = given_in(page)["other"]
    assert given.pop("filter")["source"].endswith("billing-policy.md")
    assert given.pop("ranking") == {"coverage_own": 2, "place": 0.87}
    assert given == {
        "max_tokens": 90,
        "reranker": "late interaction",
        "fetch_k": 20,
        "lexical_weight": 0.5,
        "order": "document",
        "min_score": 0.1,
        "names": ["source", "title"],
    }
    before = given_in(page)
    page.reload()
    b.locator(".window-card").first.wait_for()
    expect(weights).to_have_value(re.compile('"coverage_own": 2'))
    expect(b.get_by_label("Keys of metadata that hold names")).to_have_value("source, title")
    assert given_in(page) == before
    assert axe(page) == []
    shot(page, "compare-all-settings")


def chosen(known: "Locator", text: str) -> None:
    """Add a key that is known by the text that the list shows of it."""
    known.focus()
    option = known.locator("option", has_text=text).first
    option.wait_for(state="attached")
    known.select_option(option.get_attribute("value"))


def test_help_stands_below_for_mouse_and_keys(page: "Page") -> None:
    _, b = opened(page, {})
    b.get_by_label("Token budget").focus()
    expect(b.locator(".settings-help")).to_contain_text("The most tokens of all windows together", use_inner_text=True)
    b.get_by_label("Reranker").hover()
    expect(b.locator(".settings-help")).to_contain_text("Sorts all windows", use_inner_text=True)
    help_of = "each => document.getElementById(each.getAttribute('aria-describedby').split(' ')[0]).textContent"
    assert b.get_by_label("Token budget").evaluate(help_of).startswith("The most tokens")


def test_the_call_is_copied(page: "Page") -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _, b = opened(page, {"k": 2, "ranking": {"place": 1}})
    b.get_by_role("button", name="Copy as Python").click()
    page.get_by_text("Copied.").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.splitlines()[1:] == [f"    {QUESTION!r},", "    k=2,", "    ranking=Ranking({'place': 1.0}),", ")"]
    assert text.strip() == b.get_by_role("region", name="The program of B").inner_text().strip()


def test_settings_become_the_default_after_a_look_and_are_taken_back(
    page: "Page", serve: Serve, examples_index: Path, minilm: Embeddings, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    shutil.copytree(examples_index, folder)
    with SentenceWindowRetriever.open(folder, minilm) as own:
        page.goto(serve(own).url + address(q=QUESTION, other={"k": 4, "filter": {"page": 0}}))
        a, b = side(page, "A"), side(page, "B")
        settled(a, 10)
        page.locator(".compared", has_text="only in A").wait_for()
        b.get_by_role("button", name="Use as default").click()
        dialog = page.get_by_role("dialog", name="Use these settings as the default?")
        expect(dialog.locator("tbody tr")).to_have_text(["Windows104"])
        expect(dialog).to_contain_text(str(folder / "settings.json"))
        expect(dialog).to_contain_text("All programs that open this index")
        expect(dialog).to_contain_text("remembers no such setting: Filter")
        page.wait_for_timeout(250)
        assert axe(page) == []
        for size in SIZES:
            page.set_viewport_size(size)
            shot(page, f"keep-{size['width']}")
        page.set_viewport_size(SIZES[0])
        dialog.get_by_role("button", name="Cancel").click()
        assert not dict(read_index_settings(folder).retriever)
        b.get_by_role("button", name="Use as default").click()
        dialog.get_by_role("button", name="Write the file").click()
        settled(a, 4)
        settled(b, 4)
        open_form(a)
        for each in (a, b):
            expect(each.get_by_label("Windows", exact=True)).to_have_value("4")
        assert given_in(page) == {"q": QUESTION, "other": {}}
        assert dict(read_index_settings(folder).retriever) == {"k": 4}
        page.reload()
        open_form(a)
        a.get_by_role("button", name="Undo the default").click()  # also when the message has gone
        settled(a, 10)
        expect(a.get_by_label("Windows", exact=True)).to_have_value("10")
        assert not dict(read_index_settings(folder).retriever)
        expect(a.get_by_role("button", name="Undo the default")).to_be_hidden()


def test_a_read_only_page_keeps_no_default(page: "Page", serve: Serve, retriever: SentenceWindowRetriever) -> None:
    page.goto(serve(retriever, read_only=True).url + address(other={"k": 4}))
    expect(side(page, "B").get_by_role("button", name="Would this help?")).to_be_visible()
    expect(side(page, "B").get_by_role("button", name="Use as default")).to_be_hidden()


def test_settings_are_tried_on_all_questions(
    page: "Page", serve: Serve, retriever: SentenceWindowRetriever, tmp_path: Path
) -> None:
    write_questions(tmp_path / "questions.jsonl", ALL)
    served = serve(retriever, questions=tmp_path / "questions.jsonl")
    page.goto(served.url + address(q=QUESTION, settings={"k": 5}, other={"k": 1, "window": 0}))
    b = side(page, "B")
    b.get_by_role("button", name="Would this help?").click()
    trial = b.get_by_role("region", name="Would this help?")
    trial.get_by_text("No: ").wait_for()
    expect(trial).to_contain_text(re.compile(r"0 of 40 questions win, \d+ lose."))
    trial.get_by_text(re.compile(r"\d+ questions lose")).last.click()
    expect(trial.locator("li").first).to_contain_text(re.compile(r"100.0 → \d+\.\d %"))
    page.wait_for_timeout(250)
    assert axe(page) == []
    for size in SIZES:
        page.set_viewport_size(size)
        shot(page, f"trial-{size['width']}")


def test_an_error_of_one_side_leaves_the_other(page: "Page", seen: Seen) -> None:
    seen.allow("status of 400")
    page.goto(address(q=QUESTION, other={"filter": {"page": {"$no": 1}}}))
    side(page, "B").get_by_role("alert").get_by_text("$no").wait_for()
    settled(side(page, "A"), 10)


def test_the_newest_settings_win(page: "Page") -> None:
    _, b = opened(page, {})
    windows = b.get_by_label("Windows", exact=True)
    for number in (9, 7, 5, 3, 6):
        windows.fill(str(number))
        page.wait_for_timeout(60)
    settled(b, 6)
    page.wait_for_timeout(400)
    settled(b, 6)
    assert given_in(page)["other"] == {"k": 6}


def test_text_of_documents_stays_text(page: "Page", serve: Serve, minilm: Embeddings) -> None:
    hostile = "A <b>refund</b> <img src=x onerror=alert(1)> 😀 is <script>alert(2)</script> quick. It 😀 takes days."
    given = [Document(hostile, id="<i>x</i>", metadata={"<u>key</u>": "<img src=x onerror=alert(3)>"})]
    retriever = SentenceWindowRetriever.from_documents(given, minilm)
    settings = {"window": 0, "k": 1, "ranking": None}
    page.goto(serve(retriever).url + address(q="refund", settings=settings, other={}))
    a, b = side(page, "A"), side(page, "B")
    page.locator(".compared", has_text="in both").wait_for()
    assert texts_of(b) == [hostile]
    expect(a.locator("mark")).to_have_count(1)
    expect(b.locator(".is-own")).to_have_text("It 😀 takes days.")
    b.locator(".settings-more > summary").click()
    keys = b.get_by_label("Add a key of the documents")
    keys.focus()
    keys.locator("option", has_text="<u>key</u>").wait_for(state="attached")
    assert page.locator(".ask img, .ask script, .ask u, .ask i, .cards b").count() == 0


def test_a_phone_shows_a_side_at_a_time(page: "Page") -> None:
    page.set_viewport_size(PHONE)
    a, b = opened(page, {"k": 2})
    expect(a).to_be_visible()
    expect(b).to_be_hidden()
    a.get_by_role("button", name="Show the other settings").press("Enter")
    expect(b).to_be_visible()
    expect(a).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert axe(page) == []
    shot(page, "compare-phone")
    b.locator(".window-open").first.click()
    page.get_by_role("button", name="Back to the list").click()
    expect(b).to_be_visible()
    b.get_by_role("button", name="Show the first ones").click()
    expect(a).to_be_visible()


def test_the_document_covers_both_lists_where_three_columns_dont_fit(page: "Page") -> None:
    page.set_viewport_size({"width": 1024, "height": 768})
    a, b = opened(page, {"k": 2})
    expect(page.locator(".ask .right")).to_be_hidden()
    a.locator(".window-open").first.click()
    expect(page.locator(".reader-text")).to_be_visible()
    expect(b).to_be_hidden()
    page.go_back()
    expect(b).to_be_visible()
    expect(page.locator(".ask .right")).to_be_hidden()
