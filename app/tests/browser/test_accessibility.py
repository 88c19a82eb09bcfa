"""Every view for everybody: axe-core in light and dark, keys alone, a phone's width, large text, no motion."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.tests.browser.looking import SIZES, axe, shot

QUESTION = "When is a refund refused?"


def is_narrow(page: Page) -> bool:
    return page.viewport_size is not None and page.viewport_size["width"] <= 800


def open_ask(page: Page) -> None:
    page.goto("/#/ask?q=When+is+a+refund+refused%3F")
    page.locator(".window-card").first.wait_for()
    if not is_narrow(page):  # there the list covers the document
        page.locator("#view-ask .reader-text").first.wait_for()


def open_why(page: Page) -> None:
    open_ask(page)
    page.get_by_role("tab", name="Why").click()
    page.locator(".why-summary").wait_for()
    for summary in page.locator(".why-body > details > summary").all():
        summary.click()


def open_doubt(page: Page) -> None:
    page.goto("/#/ask?q=What+is+the+capital+of+Peru%3F")
    page.locator(".doubt").first.wait_for()


def open_sentence(page: Page) -> None:
    open_ask(page)
    doc = page.evaluate("async () => (await (await fetch('/api/documents?search=billing')).json()).documents[0].doc_id")
    page.goto(f"/#/ask?q=When+is+a+refund+refused%3F&doc={doc}&sentence=5&tab=why")
    page.get_by_role("button", name="Would this help?").first.wait_for()


def open_writing(page: Page) -> None:
    open_evaluate(page)
    page.get_by_role("button", name="New question").click()
    page.locator(".writing").wait_for()


def open_compared(page: Page) -> None:
    page.goto("/#/ask?q=When+is+a+refund+refused%3F&other=%7B%22k%22%3A3%7D")
    page.locator(".compared").filter(has_text=re.compile(r"\w")).wait_for(state="attached")


def open_evaluate(page: Page) -> None:
    page.goto("/#/evaluate")
    page.get_by_role("button", name="New question").wait_for()


def open_documents(page: Page) -> None:
    page.goto("/#/documents")
    page.get_by_role("button", name="billing-policy.md").click()
    page.locator("#view-documents .reader-text").first.wait_for()


def open_pdf(page: Page) -> None:
    page.goto("/#/documents")
    page.get_by_role("button", name="agreement.pdf").click()
    page.locator("#view-documents :is(.reader-pages, .reader-text)").first.wait_for()


def open_keys(page: Page) -> None:
    page.goto("/")
    page.locator("#about", has_text="documents").wait_for(state="attached")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_role("dialog").wait_for()


def open_start(page: Page) -> None:
    page.goto("/")
    page.locator("#about", has_text="documents").wait_for(state="attached")


States = dict[str, Callable[[Page], None]]
STATES: States = {
    "start": open_start,
    "ask": open_ask,
    "why": open_why,
    "doubt": open_doubt,
    "sentence": open_sentence,
    "compared": open_compared,
    "evaluate": open_evaluate,
    "writing": open_writing,
    "documents": open_documents,
    "pdf": open_pdf,
    "keys": open_keys,
}
PHONE = SIZES[-1]


def settle(page: Page) -> None:
    page.wait_for_timeout(250)  # colors are measured once nothing fades in


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_in_light_and_dark_at_each_width(page: Page, state: str) -> None:
    STATES[state](page)
    found: dict[str, list[str]] = {}
    for size in SIZES:
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            settle(page)
            name = f"{state}-{size['width']}-{scheme}"
            found[name] = axe(page)
            shot(page, name)
    assert not any(found.values()), found


OVERFLOWING = """() => {
  const wide = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wide.push("the page");
  for (const each of document.querySelectorAll("#main *")) {
    const box = each.getBoundingClientRect();
    const style = getComputedStyle(each);
    if (!box.width || !box.height || style.visibility === "hidden") continue;
    let inside = each.parentElement;
    // What scrolls by itself, such as a table, code or a picture, may be wide.
    while (inside && !/auto|scroll|hidden/.test(getComputedStyle(inside).overflowX)) inside = inside.parentElement;
    const scrolls = inside && inside !== document.body && (inside.matches("pre, table, .table, [tabindex]") ||
      each.closest("svg") || inside.closest(".visually-hidden") || /hidden/.test(getComputedStyle(inside).overflowX));
    if (!scrolls && box.right > width + 1) wide.push(each.outerHTML.slice(0, 120));
  }
  return wide.slice(0, 5);
}"""


@pytest.mark.parametrize("state", STATES)
def test_nothing_is_cut_off_on_a_phone_or_with_large_text(page: Page, state: str) -> None:
    page.set_viewport_size(PHONE)
    STATES[state](page)
    assert page.evaluate(OVERFLOWING) == []
    page.set_viewport_size({"width": 320, "height": 640})  # what 400 % leaves of 1280 pixels: WCAG 1.4.10
    assert page.evaluate(OVERFLOWING) == []


FOCUSED = """() => {
  const each = document.activeElement;
  if (!each || each === document.body) return null;
  const box = each.getBoundingClientRect();
  const style = getComputedStyle(each);
  return {
    name: each.getAttribute("aria-label") || each.textContent.trim().slice(0, 40) || each.id || each.localName,
    tag: each.localName, role: each.getAttribute("role"),
    seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 &&
      box.top < innerHeight && box.left < innerWidth,
    outlined: each.id === "main" || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1),
  };
}"""


def walk(page: Page, steps: int) -> list[dict[str, object]]:
    """Press Tab, and return what had the focus; between the end and the beginning it is nothing of the page."""
    found = []
    for _ in range(steps):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is not None:
            found.append(focused)
    return found


@pytest.mark.parametrize("state", STATES)
def test_every_stop_of_the_tab_key_is_seen_and_named(page: Page, state: str) -> None:
    STATES[state](page)
    stops = walk(page, 40)
    assert len({str(each["name"]) for each in stops}) >= (1 if state == "keys" else 6)
    assert [each for each in stops if not (each["seen"] and each["outlined"] and each["name"])] == []


def test_a_question_is_asked_and_explained_with_keys_alone(page: Page) -> None:
    open_start(page)
    page.get_by_role("textbox", name="Question").focus()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.locator(".window-card").first.wait_for()
    page.get_by_role("tab", name=re.compile("Windows")).focus()
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Why")).to_be_focused()
    expect(page.get_by_role("tab", name="Why")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Home")
    expect(page.get_by_role("tab", name=re.compile("Windows"))).to_be_focused()


def test_dialogs_keep_the_focus_and_give_it_back(page: Page) -> None:
    open_start(page)
    page.get_by_role("button", name="Keyboard shortcuts").press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_focused()
