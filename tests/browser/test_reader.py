"""The document in the reader: marked, scrolled, walked through by key, its text marked with the mouse."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.loaders import load_pdf
from tests.browser.conftest import EXAMPLES
from tests.browser.looking import Seen, axe, shot
from tests.browser.serving import Serve, Served, serving
from tests.loaders.pdf.drawing import drawn, lines
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


def test_sentences_are_selected_by_keys(reader: "Page") -> None:
    opened(reader, BILLING)
    spans = reader.evaluate(f"texts({BILLING!r})")
    reader.locator(".s[data-p='1']").first.click()
    reader.keyboard.press("Shift+ArrowDown")
    reader.keyboard.press("Shift+ArrowDown")
    wait(reader, f"reader.selected()?.end === {spans[3][1]}")
    assert reader.evaluate("reader.selected()")["start"] == spans[1][0]
    reader.keyboard.press("Escape")
    wait(reader, "reader.selected() === null")


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


def test_fates_are_shown_on_sentences(reader: "Page") -> None:
    opened(reader, BILLING)
    fates = "new Map([[1, { kind: 'candidate', text: 'cut' }], [2, { kind: 'left-out', text: 'hit 3' }]])"
    reader.evaluate(f"reader.highlight({{ fates: {fates} }})")
    expect(reader.locator(".s[data-p='1']").first).to_have_attribute("data-fate", "cut")
    assert "fate-left-out" in (reader.locator(".s[data-p='2']").first.get_attribute("class") or "")
    reader.evaluate("reader.highlight({ fates: null })")
    expect(reader.locator(".s[data-fate]")).to_have_count(0)


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


def test_a_pdf_is_shown_as_text_too(reader: "Page") -> None:
    opened(reader, AGREEMENT, "seat")
    reader.locator(".box.hit").first.wait_for()
    reader.get_by_role("button", name="Text", exact=True).click()
    expect(reader.locator(".s.hit").nth(0)).to_be_attached()
    expect(reader.locator(".reader-text td").nth(3)).to_be_attached()
    expect(reader.get_by_role("button", name="Text", exact=True)).to_have_attribute("aria-pressed", "true")
    assert axe(reader, within=".reader") == []
    shot(reader, "reader-pdf-text")
    reader.get_by_role("button", name="Page", exact=True).click()
    reader.locator(".box.hit").first.wait_for()


def test_sentences_on_a_page_are_chosen_and_selected(reader: "Page") -> None:
    opened(reader, AGREEMENT)
    reader.locator(".box").first.wait_for()
    spans = reader.evaluate(f"texts({AGREEMENT!r})")
    reader.locator(".box[data-p='1']").first.click()
    assert last(reader, "sentences")["index"] == 1
    reader.keyboard.press("ArrowDown")
    wait(reader, "document.activeElement.dataset.p === '2'")
    reader.keyboard.press("Enter")
    assert last(reader, "sentences")["index"] == 2
    drag(reader, ".box[data-p='1']", ".box[data-p='3']")
    found = reader.evaluate("reader.selected()")
    assert (found["start"], found["end"]) == (spans[1][0], spans[3][1])
    expect(reader.locator(".box.selected").nth(2)).to_be_attached()
    shot(reader, "reader-page-selection")
    reader.locator(".page").first.click(position={"x": 4, "y": 4})
    assert reader.evaluate("reader.selected()") is None


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


def test_keys_go_on_from_the_page_that_was_scrolled_to(page: "Page", serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(drawn(*[lines(f"Seat {i} is free.", f"Card {i} is paid.") for i in range(13)]))
    retriever = SentenceWindowRetriever.from_documents(load_pdf(path), WordEmbeddings(), **BY_COSINE)
    mount(page, serve(retriever, folders=[tmp_path]).url)
    opened(page, str(path))
    expect(page.locator(".page[data-page='0'] .box[tabindex='0']")).to_have_count(1)
    page.locator(".page[data-page='12']").scroll_into_view_if_needed()
    expect(page.locator(".page[data-page='0'] .box")).to_have_count(0)
    reached = page.locator(".box[tabindex='0']")
    expect(reached).to_have_count(1)
    position = int(reached.get_attribute("data-p") or -1)
    assert position >= 10
    reached.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(f".box[data-p='{position + 1}']")).to_be_focused()
    page.keyboard.press("Enter")
    wait(page, f"sentences.at(-1)?.index === {position + 1}")
    page.keyboard.press("Home")
    expect(page.locator(".box[data-p='0']")).to_be_focused()
    expect(page.locator(".reader-pages[tabindex]")).to_have_count(0)


def test_pages_are_scrolled_by_keys_before_their_sentences_are_there(reader: "Page") -> None:
    reader.route("**/api/boxes*", lambda route: route.fulfill(json={"sentences": []}))
    opened(reader, AGREEMENT)
    reader.locator(".page img").first.wait_for()
    reader.locator(".reader-pages[tabindex='0']").focus()
    reader.keyboard.press("PageDown")
    wait(reader, "document.querySelector('.reader-scroll').scrollTop > 100")
    assert axe(reader, within=".reader") == []


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


def test_a_pdf_whose_text_has_changed_becomes_text_with_the_reason(
    page: "Page", serve: Serve, seen: Seen, tmp_path: Path
) -> None:
    seen.allow("status of 409")
    path = tmp_path / "terms.pdf"
    path.write_bytes(drawn(lines("A seat is free.", "It takes a card.")))
    retriever = SentenceWindowRetriever.from_documents(load_pdf(path), WordEmbeddings(), **BY_COSINE)
    path.write_bytes(drawn(lines("A card is free.", "It takes a seat.")))
    mount(page, serve(retriever, folders=[tmp_path]).url)
    opened(page, str(path), "seat")
    page.locator(".reader-note").wait_for()
    expect(page.locator(".reader-note")).to_contain_text("has changed", use_inner_text=True)
    expect(page.locator(".s.hit").nth(0)).to_be_attached()
    page.get_by_role("button", name="Page", exact=True).click()
    page.locator(".page img").wait_for()


def test_markup_in_a_document_is_only_text(page: "Page", serve: Serve) -> None:
    hostile = "# <img src=x onerror=alert(1)>\n\n<script>alert(2)</script> A seat.\n\n"
    hostile += "[x](javascript:alert(3)) ![y](//evil/z.png)"
    given = [document(hostile, "<b>x</b>", source='"><svg onload=alert(4)>.md', title="<i>t</i>")]
    served = serve(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE))
    mount(page, served.url)
    opened(page, "<b>x</b>")
    assert page.evaluate("document.querySelector('.reader-text').textContent") == hostile
    assert page.locator(".reader script, .reader img, .reader svg, .reader a, .reader i").count() == 0
    expect(page.locator(".reader-title")).to_contain_text("<i>t</i>", use_inner_text=True)


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


def test_a_document_that_changed_is_read_again(page: "Page", serve: Serve) -> None:
    retriever = SentenceWindowRetriever.from_documents(
        [document("A seat. A card.", "a")], WordEmbeddings(), **BY_COSINE
    )
    mount(page, serve(retriever).url)
    opened(page, "a", "seat")
    retriever.add_documents([document("Now a seat is here. A refund.", "a")])
    opened(page, "a", "seat")
    assert page.evaluate("document.querySelector('.reader-text').textContent") == "Now a seat is here. A refund."


def test_what_the_filter_hides_is_a_gap(page: "Page", serve: Serve) -> None:
    texts = ["A seat is free. It takes days.", "No card is secret. Hide it.", "The refund comes. We wait for it."]
    pages = [document(text, "d0", source="d0.txt", page=i) for i, text in enumerate(texts)]
    retriever = SentenceWindowRetriever.from_documents(pages, WordEmbeddings(), **BY_COSINE)
    (doc_id,) = [each.doc_id for each in retriever.documents()]
    cut = SentenceWindowRetriever(vectorstore=retriever.vectorstore, filter={"page": {"$in": [0, 2]}}, ranking=None)
    mount(page, serve(cut).url)
    opened(page, doc_id, "refund")
    assert page.evaluate("document.querySelector('.reader-text').textContent") == texts[0] + texts[2]
    expect(page.locator(".reader-text .gap")).to_have_count(1)
    page.locator(".s[data-p='2'].hit").click()
    assert last(page, "sentences")["text"] == "The refund comes."
    assert last(page, "sentences")["index"] == 4


def test_what_cannot_be_opened_is_told(reader: "Page", seen: Seen) -> None:
    seen.allow("status of 404")
    error = reader.evaluate("reader.open('none').catch((error) => error.message)")
    assert "no such document" in error
    expect(reader.locator(".reader")).to_contain_text("no such document", use_inner_text=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_reader_fits_a_phone_in_both_schemes(page: "Page", scheme: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    mount(page)
    for doc_id, found in ((BILLING, ".s.hit"), (AGREEMENT, ".box.hit")):
        opened(page, doc_id, "seat")
        page.locator(found).first.wait_for()
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert axe(page, within=".reader") == []
        shot(page, f"reader-phone-{scheme}-{Path(doc_id).suffix[1:]}")


def test_a_long_document_opens_at_any_place(page: "Page", serve: Serve) -> None:
    text = "\n\n".join(f"## Part {i}\n\n" + " ".join(f"Seat {i} has card {j}." for j in range(20)) for i in range(100))
    retriever = SentenceWindowRetriever.from_documents([document(text, "long")], WordEmbeddings(), **BY_COSINE)
    mount(page, serve(retriever).url)
    start = text.index("Seat 90 has card 3.")
    opened(page, "long", scrollTo=start)
    position = page.evaluate(f"texts('long').then((spans) => spans.findIndex(([start]) => start === {start}))")
    wait_for_view(page, f".s[data-p='{position}']")
    expect(page.locator(".reader-path")).to_contain_text("Part 90", use_inner_text=True)
    page.locator(".reader-path button").last.click()
    wait_for_view(page, f".s[data-p='{position - 4}']")
