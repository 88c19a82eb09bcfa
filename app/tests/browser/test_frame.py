"""The frame of the page, and that the watch over it sees what it should."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from app.tests.browser.looking import Seen, axe, shot
from app.tests.browser.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.mark.parametrize("view", ["ask", "evaluate", "documents"])
def test_each_view_opens_by_its_address(page: "Page", view: str) -> None:
    page.goto(f"/#/{view}")
    expect(page.locator(f"#view-{view}")).to_be_visible()
    assert page.locator("#views a[aria-current=page]").inner_text().lower() == view
    assert axe(page) == []
    shot(page, f"frame-{view}")


def test_views_change_by_key(page: "Page") -> None:
    page.goto("/")
    page.locator("#about", has_text="documents").wait_for()
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()
    page.keyboard.press("Escape")  # else it would be typed
    page.keyboard.press("3")
    page.locator("#view-documents").wait_for()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.locator("#view-ask").wait_for()


def test_the_watch_sees_errors_dialogs_and_requests(page: "Page", seen: Seen, studio: Served) -> None:
    page.goto("/")
    page.locator("#about", has_text="documents").wait_for()
    assert seen.problems == []
    assert all(each.startswith(studio.url) for each in seen.requests)
    page.evaluate("console.error('one')")
    page.evaluate("setTimeout(() => { throw new Error('two') })")
    page.evaluate("void fetch('http://localhost:9/three').catch(() => 0)")
    page.evaluate("setTimeout(() => alert('four'))")
    page.wait_for_timeout(100)
    text = "\n".join(seen.problems)
    assert "console error: one" in text
    assert "uncaught: two" in text
    assert "Content Security Policy" in text
    assert "dialog: four" in text
    for part in ("one", "two", "localhost:9", "four"):
        seen.allow(part)
    assert seen.problems == []


def test_accessibility_is_checked(page: "Page") -> None:
    page.goto("/")
    page.locator("#about", has_text="documents").wait_for()
    page.evaluate("document.getElementById('main').append(document.createElement('button'))")
    assert any("button-name" in each for each in axe(page))
