"""The document in the reader: marked, scrolled, walked through by key, its text marked with the mouse."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from app.tests.browser.conftest import EXAMPLES
from app.tests.browser.looking import axe, shot
from app.tests.browser.serving import Serve, Served, serving
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.files import load_pdf
from tests.toys import BY_COSINE, WordEmbeddings, document

if TYPE_CHECKING:
    from playwright.sync_api import Page

BILLING = str(EXAMPLES / "documents" / "billing-policy.md")
AGREEMENT = str(EXAMPLES / "agreement.pdf")

_MOUNT = """async () => {
  const { createReader } = await import("/static/reader.js");
  const { get, post } = await import("/static/api.js");
  window.sentences = [];
  window.reader = createReader({ app: { about: null, listeners: [] }, onSentence: (each) => sentences.push(each) });
  window.texts = async (doc_id) => {
    const found = await get("/api/document", { doc_id });
    return found.sentences;
  };
  window.ask = async (query) => (await post("/api/ask", { query })).windows;
  document.getElementById("main").replaceChildren(reader.element);
}"""


@pytest.fixture(scope="module")
def studio() -> Iterator[Served]:
    """The page of the examples, searched by a few words alone, as no model is needed here."""
    given = [document(source(BILLING), BILLING, source=BILLING), *load_pdf(AGREEMENT)]
    with serving(
        SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE), folders=[EXAMPLES]
    ) as served:
        yield served


@pytest.fixture
def reader(page: "Page") -> "Page":
    """A page with a reader alone, as ``window.reader``."""
    mount(page)
    return page


def mount(page: "Page", url: str = "") -> None:
    page.goto(f"{url}/#/documents")
    page.locator("#about", has_text="document").wait_for(state="attached")
    page.evaluate(_MOUNT)


def opened(page: "Page", doc_id: str, query: str = "", **how: Any) -> list[dict[str, Any]]:
    script = """async ([docId, query, how]) => {
      const windows = query ? await ask(query) : [];
      await reader.open(docId, { windows, ...how });
      return windows.filter((each) => each.doc_id === docId);
    }"""
    found: list[dict[str, Any]] = page.evaluate(script, [doc_id, query, how])
    return found


def wait(page: "Page", condition: str) -> None:
    """Wait until a condition holds; Playwright's own way needs eval, which the page forbids."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(30)
    raise AssertionError(condition)


def wait_for_view(page: "Page", selector: str) -> None:
    """Wait until an element begins in the visible part of the reader."""
    condition = f"""(() => {{
      const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
      const frame = document.querySelector(".reader-scroll").getBoundingClientRect();
      return box.top >= frame.top && box.top < frame.bottom;
    }})()"""
    wait(page, condition)


def source(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def last(page: "Page", what: str) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(f"{what}.at(-1)")
    return found


def test_windows_and_hits_are_marked_in_the_text(reader: "Page") -> None:
    windows = opened(reader, BILLING, "refund")
    spans = reader.evaluate(f"texts({BILLING!r})")
    first, end = windows[0]["sentences"]
    marked = reader.locator(".s.in-window")
    places = {int(each.get_attribute("data-p") or -1) for each in marked.all()}
    assert set(range(first, end + 1)) <= places
    hits = {hit["sentence_index"] for window in windows for hit in window["hits"]}
    assert {int(each.get_attribute("data-p") or -1) for each in reader.locator(".s.hit").all()} == hits
    best = min(windows, key=lambda window: window["rank"])
    badge = reader.locator(f".s[data-p='{best['sentences'][0]}']").first
    assert badge.get_attribute("data-rank") == str(best["rank"])
    assert f"window {best['rank']} begins" in (badge.get_attribute("aria-description") or "")
    wait_for_view(reader, f".s[data-p='{best['sentences'][0]}']")
    assert spans[first][0] == windows[0]["start_index"]
    assert axe(reader, within=".reader") == []
    shot(reader, "reader-text")


def test_the_document_holds_its_text_once_and_in_order(reader: "Page") -> None:
    opened(reader, BILLING)
    text = source(BILLING)
    assert reader.evaluate("document.querySelector('.reader-text').textContent") == text.rstrip()
    expect(reader.locator(".reader-text [role=heading]").first).to_be_visible()
    assert "#" not in reader.locator(".reader-text [role=heading]").first.inner_text()


def test_hits_are_walked_through(reader: "Page") -> None:
    windows = opened(reader, BILLING, "refund")
    hits = sorted(hit["start_index"] for window in windows for hit in window["hits"])
    reader.evaluate(f"reader.scrollTo({hits[0]})")
    assert reader.locator(".reader-hits").inner_text().split("\n")[1] == f"Hit 1 of {len(hits)}"
    for start in [*hits[1:], hits[0]]:
        assert reader.evaluate("reader.nextHit()")["start"] == start
        wait_for_view(reader, ".s.current")
    assert reader.evaluate("reader.previousHit()")["start"] == hits[-1]
    reader.get_by_role("button", name="Next hit").click()
    expect(reader.locator(".s.current").nth(0)).to_be_attached()
    assert reader.evaluate("reader.highlight({ windows: [] }), reader.nextHit()") is None


def test_a_sentence_is_chosen_by_mouse_and_by_keys(reader: "Page") -> None:
    opened(reader, BILLING)
    spans = reader.evaluate(f"texts({BILLING!r})")
    text = source(BILLING)
    reader.locator(".s[data-p='2']").first.click()
    assert last(reader, "sentences") == {
        "docId": BILLING,
        "index": 2,
        "start": spans[2][0],
        "end": spans[2][1],
        "text": text[spans[2][0] : spans[2][1]],
    }
    reader.keyboard.press("ArrowDown")
    reader.keyboard.press("ArrowRight")
    reader.keyboard.press("ArrowUp")
    reader.keyboard.press("Enter")
    assert last(reader, "sentences")["index"] == 3
    reader.keyboard.press("End")
    expect(reader.locator(f".s[data-p='{len(spans) - 1}']").first).to_be_focused()
    reader.keyboard.press("Enter")
    assert last(reader, "sentences")["index"] == len(spans) - 1
    wait_for_view(reader, f".s[data-p='{len(spans) - 1}']")
    expect(reader.locator(".s[tabindex='0']")).to_have_count(1)


def drag(page: "Page", first: str, last_: str) -> None:
    a, b = page.locator(first).first.bounding_box(), page.locator(last_).last.bounding_box()
    assert a is not None
    assert b is not None
    page.mouse.move(a["x"] + 4, a["y"] + 6)
    page.mouse.down()
    page.mouse.move(a["x"] + 30, a["y"] + 8, steps=3)
    page.mouse.move(b["x"] + b["width"] - 4, b["y"] + b["height"] - 6, steps=5)
    page.mouse.up()


def test_text_is_selected_with_the_mouse_across_blocks(reader: "Page") -> None:
    opened(reader, BILLING)
    drag(reader, ".s[data-p='1']", ".s[data-p='5']")
    wait(reader, "reader.selected()")
    found = reader.evaluate("reader.selected()")
    text = source(BILLING)
    assert found["text"] == text[found["start"] : found["end"]]
    assert found["docId"] == BILLING
    assert "\n\n" in found["text"]
    shot(reader, "reader-selection")
    # It stays when something else is focused, and goes with a click in the text.
    reader.evaluate("{ const field = document.body.appendChild(document.createElement('input')); field.focus(); }")
    reader.keyboard.type("a question")
    reader.wait_for_timeout(200)
    assert reader.evaluate("reader.selected()") == found
    reader.locator(".s[data-p='2']").first.click()
    wait(reader, "reader.selected() === null")


def test_gold_is_marked_to_the_character(reader: "Page") -> None:
    text = source(BILLING)
    start = text.index("scheduling product")
    opened(reader, BILLING, gold=[[start, start + 18]])
    painted = reader.evaluate("[...CSS.highlights.get('reader-gold')].map((range) => range.toString())")
    assert painted == ["scheduling product"]
    expect(reader.locator(".s.gold")).to_have_count(1)
    reader.evaluate("reader.highlight({ gold: [] })")
    assert reader.evaluate("CSS.highlights.get('reader-gold').size") == 0


def test_a_pdf_is_shown_as_pages_with_boxes(reader: "Page") -> None:
    windows = opened(reader, AGREEMENT, "seat")
    for page in range(2):
        reader.locator(f".page[data-page='{page}'] img").wait_for()
        reader.locator(f".page[data-page='{page}'] .box.hit").first.wait_for()
    hits = {hit["sentence_index"] for window in windows for hit in window["hits"]}
    assert {int(each.get_attribute("data-p") or -1) for each in reader.locator(".box.hit").all()} == hits
    reader.evaluate("reader.nextHit()")
    wait_for_view(reader, ".box.current")
    wait(reader, "[...document.querySelectorAll('.page img')].every((img) => img.complete && img.naturalWidth > 0)")
    assert axe(reader, within=".reader") == []
    shot(reader, "reader-pages")


def test_pages_are_made_larger_and_smaller(reader: "Page") -> None:
    opened(reader, AGREEMENT, "seat")
    page = reader.locator(".page[data-page='0']")
    page.locator(".box.hit").first.wait_for()
    reader.evaluate("reader.nextHit()")
    width = page.bounding_box()["width"]  # type: ignore[index]
    larger, smaller = (reader.get_by_role("button", name=name, exact=True) for name in ("Larger", "Smaller"))
    larger.click()
    larger.click()
    reader.locator(".reader-zoom", has_text="200 %").wait_for()
    assert page.bounding_box()["width"] == pytest.approx(2 * width, abs=2)  # type: ignore[index]
    wait_for_view(reader, ".box.current")  # what was read stays in sight
    wait(reader, f"document.querySelector('.page img').naturalWidth >= {1.5 * width}")  # and is as sharp
    larger.click()
    expect(larger).to_be_disabled()
    for _ in range(5):
        smaller.click()
    expect(smaller).to_be_disabled()
    assert page.bounding_box()["width"] < width  # type: ignore[index]
    reader.get_by_role("button", name="Text", exact=True).click()
    expect(larger).to_be_hidden()


def test_a_pdf_that_may_not_be_shown_is_shown_as_text_with_the_reason(
    page: "Page", serve: Serve, studio: Served
) -> None:
    served = serve(studio.retriever)
    mount(page, served.url)
    opened(page, AGREEMENT)
    expect(page.locator(".reader-note")).to_be_visible()
    expect(page.locator(".reader-note")).to_contain_text("folder", use_inner_text=True)
    expect(page.locator(".reader-text .s").nth(10)).to_be_attached()
    assert page.get_by_role("group", name="Show as").count() == 0


@pytest.mark.parametrize(
    "text", ["𝔸 seat 👩‍👩‍👧 costs. A 😀 card. End.", "e\u0301a\0b seat. العربية مقعد. 中文座位。Ende."]
)
def test_offsets_are_code_points(page: "Page", serve: Serve, text: str) -> None:
    given = [document(text, "odd")]
    served = serve(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE))
    mount(page, served.url)
    opened(page, "odd", gold=[[2, 6]])
    assert page.evaluate("[...CSS.highlights.get('reader-gold')].map((range) => range.toString())") == [text[2:6]]
    count = page.locator(".s").count()
    page.locator(f".s[data-p='{count - 1}']").click()
    page.keyboard.press("Shift+ArrowUp")
    wait(page, "reader.selected()")
    found = page.evaluate("reader.selected()")
    assert found["text"] == text[found["start"] : found["end"]]
