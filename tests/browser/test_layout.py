"""Nothing is wider than what holds it, whatever documents, questions and answers hold; at three widths of the page."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from langchain_core.documents import Document
from langchain_openai import ChatOpenAI
from playwright.sync_api import expect
from pydantic import SecretStr

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.evaluation import Question, write_questions
from langchain_sentence_window.retrieval.index_settings import IndexSettings, write_index_settings
from tests.browser.looking import SIZES, Seen, shot
from tests.browser.serving import Serve
from tests.openai_server import Message, openai_server
from tests.toys import WordEmbeddings

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORD = "refund_of_an_annual_invoice_" * 12
LINE = "refund = " + " + ".join(f"invoice.lines[{number}].amount" for number in range(40))
HEADING = f"Refund {WORD} and whatever else a heading says of annual plans, of monthly plans, and of seats and cards"
CELLS = [f"column_{number}_of_the_invoice" for number in range(16)]
TABLE = "\n".join(f"| {' | '.join(row)} |" for row in (CELLS, ["---"] * 16, CELLS, [f"{WORD}", *CELLS[1:]]))
TEXT = f"""# {HEADING}

## {HEADING}

A refund of {WORD} takes days. See https://example.com/{WORD}?refund={WORD}#{WORD} for the refund.

```python
{LINE}
```

{TABLE}

- A refund in a list, {WORD}.

> A refund in a quotation, {WORD}.

{"A refund of a long paragraph is quick. " * 30}
"""
PATH = "/".join(["/srv", *[f"{number}-{WORD[:60]}" for number in range(6)], WORD[:200] + ".md"])
GONE = f"Nobody says {WORD} any more."
ASKED = f"When is a refund of {WORD} given? "

# What scrolls by itself, so that the page doesn't: wide tables and code. What is cut on purpose, with an ellipsis or
# for screen readers alone. What is out of the flow. And a quiet button begins a little before the text that it is in.
TOO_WIDE = """() => {
  const found = [], scrollers = "pre, .table, .wide, .hits-scroll";
  const say = (each, what) => found.push(`${each.tagName}.${each.className} ${what}: ${each.textContent.slice(0, 40)}`);
  const isCut = (element) => getComputedStyle(element).textOverflow === "ellipsis"
    || element.closest(".visually-hidden") || element.matches(".score-bar, .recall-bar, .asked-text, input, select");
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) say(root, `has ${root.scrollWidth} in ${innerWidth}`);
  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element), holder = element.parentElement;
    if (!element.checkVisibility() || !box.width || !box.height) continue;
    if (["inline", "contents"].includes(style.display)) continue;
    if (holder.closest(scrollers) || isCut(element) || isCut(holder)) continue;
    if (!element.matches(scrollers) && element.scrollWidth > element.clientWidth + 1 && element.clientWidth)
      say(element, `has ${element.scrollWidth} in ${element.clientWidth}`);
    const outer = holder.getBoundingClientRect();
    if (["absolute", "fixed"].includes(style.position)) continue;
    if (getComputedStyle(holder).display.startsWith("inline")) continue;
    const before = Math.max(0, -parseFloat(style.marginLeft));
    if (box.width - before > outer.width + 1 || box.right > outer.right + 1)
      say(element, `ends at ${box.right}, and ${holder.className || holder.tagName} at ${outer.right}`);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = new Range();
  while (walker.nextNode()) {
    const text = walker.currentNode, holder = text.parentElement;
    if (!holder.checkVisibility() || isCut(holder)) continue;
    for (const { 0: word, index } of text.data.matchAll(/(?<![^\\s])[A-Za-z]{2,12}(?![^\\s])/g)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (range.getClientRects().length > 1) say(holder, `breaks ${word}`);
    }
  }
  return found;
}"""


def answer(messages: list[Message]) -> str:
    quote = "A refund of a long paragraph is quick."
    statements = [
        {"text": f"The refund of {WORD} is quick.", "evidence": [{"source": 1, "quote": quote}]},
        {"text": f"It is {WORD}.", "evidence": [{"source": 1, "quote": f"Nobody says {WORD} {LINE}."}]},
    ]
    return json.dumps({"statements": statements, "remark": LINE})


Opened = Callable[..., "Page"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide") / "index"
    team = {f"key_{WORD[:80]}": WORD, "team": LINE}
    given = [
        Document(TEXT, metadata={"source": PATH, "title": HEADING, **team}),
        Document(
            TEXT.replace("quick", "slow"),
            metadata={"source": PATH.replace(".md", ".txt"), "content_type": "text/plain"},
        ),
        Document("A card.", metadata={"source": f"https://example.com/{WORD}"}),
    ]
    with FaissStore(WordEmbeddings(), folder) as store:
        SentenceWindowRetriever(vectorstore=store).add_documents(given)
    write_index_settings(folder, IndexSettings(sources=(PATH.rpartition("/")[0],)))
    return folder


@pytest.fixture
def opened(page: "Page", index: Path, serve: Serve, tmp_path: Path) -> Iterator[Opened]:
    """Open an address of the page: ``opened("ask", q=…)``."""
    start = TEXT.index("A refund of a long")
    gold = ((start, start + 38), (TEXT.index(LINE), TEXT.index(LINE) + len(LINE)))
    questions = [
        Question(ASKED, PATH, gold),
        Question(f"{ASKED * 3}?", PATH, ((0, 300),)),
        Question(f"Gone {ASKED}", f"/gone{PATH}", ((0, len(GONE)),), (GONE,)),
    ]
    path = tmp_path / f"{WORD[:100]}.jsonl"
    write_questions(path, questions)
    with path.open("a", encoding="utf-8") as file:
        file.write(
            json.dumps({"question": f"Open {ASKED}", "answer": f"It takes {WORD}. A refund of a long paragraph"})
        )
    with openai_server(answer) as server:
        llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy", max_retries=0)
        retriever = SentenceWindowRetriever(vectorstore=FaissStore.open(index, WordEmbeddings()), k=4)
        served = serve(retriever, questions=path, chat_model=llm)

        def go(view: str, **given: Any) -> "Page":
            written = {name: each if isinstance(each, str) else json.dumps(each) for name, each in given.items()}
            page.goto(f"{served.url}/#/{view}?{urlencode(written)}")
            return page

        yield go
        page.goto("about:blank")
        retriever.close()


def check(page: "Page", name: str) -> None:
    """Look at each width: at the list, and, where it covers the list, at the document."""
    found = []
    for size in SIZES:
        page.set_viewport_size(size)
        for reads in (False, True):
            page.evaluate(
                "reads => document.querySelectorAll('.split').forEach((each) => each.classList.toggle('reads', reads))",
                reads,
            )
            page.wait_for_timeout(150)  # until it is laid out, and pictures are as they stay
            found += [f"{size['width']}{', reading' if reads else ''}: {each}" for each in page.evaluate(TOO_WIDE)]
            for scheme in ("light", "dark") if not reads or size["width"] < 800 else ():
                page.emulate_media(color_scheme=scheme)
                shot(page, f"layout-{name}-{size['width']}{'-reading' if reads else ''}-{scheme}")
    assert found == [], "\n".join(found)


def unfold(page: "Page") -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


def test_windows_and_their_settings(opened: Opened) -> None:
    page = opened("ask", q=ASKED)
    page.locator(".window-card").first.click()
    page.locator(".reader-text .s").first.wait_for()
    unfold(page)
    page.get_by_role("button", name="Copy as Python").first.click()
    page.locator(".window-card").first.evaluate("each => each.scrollIntoView()")
    check(page, "windows")


def test_two_settings_side_by_side(opened: Opened) -> None:
    page = opened("ask", q=ASKED, other={"k": 2, "filter": {"team": LINE}})
    page.locator(".other .window-card").first.wait_for()
    unfold(page)
    check(page, "compare")


def test_an_answer_and_its_quotes(opened: Opened) -> None:
    page = opened("ask", q=ASKED, tab="answer")
    page.locator("#tab-windows", has_text="(").wait_for()
    page.get_by_role("button", name="Write an answer").click()
    page.locator(".answer-status", has_text="Answered in").wait_for()
    check(page, "answer")


def test_why_a_sentence_came(opened: Opened) -> None:
    page = opened("ask", q=ASKED, tab="why", doc=PATH, sentence=4)
    page.locator(".verdict-box").first.wait_for()
    page.locator(".why-body > .why-summary").wait_for()
    unfold(page)
    check(page, "why")


def test_the_default_is_confirmed_in_a_dialog(opened: Opened) -> None:
    page = opened("ask", q=ASKED, settings={"k": 3, "max_tokens": 1234})
    page.locator(".window-card").first.wait_for()
    unfold(page)
    page.get_by_role("button", name="Use as default").first.click()
    page.get_by_role("dialog").wait_for()
    check(page, "default")


def test_documents_and_their_metadata(opened: Opened) -> None:
    page = opened("documents")
    page.locator(".document-open").first.wait_for()
    check(page, "documents")
    page.set_viewport_size(SIZES[0])
    page.evaluate("document.querySelectorAll('.split').forEach((each) => each.classList.remove('reads'))")
    for at in range(2):
        page.locator("#view-documents").evaluate("each => each.querySelector('.split').classList.remove('reads')")
        page.locator(".document-open").nth(at).click()
        page.locator(".reader-text .s").first.wait_for()
        check(page, f"document-{at}")
        page.set_viewport_size(SIZES[0])
    page.get_by_role("tab", name="Metadata").click()
    check(page, "metadata")
    page.set_viewport_size(SIZES[0])
    page.locator(".document-head").get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").wait_for()
    check(page, "delete")


def test_questions_their_gold_and_results(opened: Opened, seen: Seen) -> None:
    page = opened("evaluate")
    rows = page.get_by_role("listbox", name="Questions").get_by_role("option")
    expect(rows).to_have_count(4)
    expect(page.locator(".badge.warn")).to_have_text(["not in the index", "no gold yet"])
    for at in range(4):
        page.set_viewport_size(SIZES[0])
        page.locator("#view-evaluate .split").evaluate("each => each.classList.remove('reads')")
        rows.nth(at).click()
        page.locator(".question-panel h2").wait_for()
        if at == 2:
            expect(page.locator(".gold-problem")).to_contain_text("isn't among the documents")
            expect(page.locator(".gold-span")).to_have_text(GONE)
        else:
            page.locator("#view-evaluate .reader-text .s").first.wait_for()
        check(page, f"question-{at}")
    page.set_viewport_size(SIZES[0])
    page.get_by_role("button", name="Edit").click()
    check(page, "edit")
    page.set_viewport_size(SIZES[0])
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("tab", name="Results").click()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    page.get_by_text("2 questions, 2 without gold in the index left out").wait_for()
    check(page, "results")
    page.set_viewport_size(SIZES[0])
    seen.allow("ERR_FAILED")
    page.route("**/api/evaluate", lambda route: route.abort())
    page.get_by_role("button", name="Evaluate", exact=True).click()
    page.locator("#messages .error").wait_for()
    check(page, "message")
