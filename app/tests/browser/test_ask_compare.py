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

from app.tests.browser.looking import SIZES, axe, shot
from app.tests.browser.serving import Serve
from app.tests.browser.test_ask import QUESTION, address
from app.tests.browser.test_evaluate import ALL
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import write_questions
from langchain_sentence_window.stores import read_index_settings

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
    b.get_by_label("Filter", exact=True).fill('{"source":')
    b.get_by_text("This isn't JSON").wait_for()
    settled(b, 3)
    assert axe(page) == []


def test_settings_become_the_default_after_a_look(
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
        expect(dialog).to_contain_text(str(folder))
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
        dialog.get_by_role("button", name="Write them").click()
        settled(a, 4)
        settled(b, 4)
        open_form(a)
        for each in (a, b):
            expect(each.get_by_label("Windows", exact=True)).to_have_value("4")
        assert given_in(page) == {"q": QUESTION, "other": {}}
        assert dict(read_index_settings(folder).retriever) == {"k": 4}


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
