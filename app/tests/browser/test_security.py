"""Nothing of a document, a name, a question or an answer is ever run or becomes markup in any view."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from playwright.sync_api import Browser, Page, expect
from reportlab.pdfgen.canvas import Canvas

from app.tests.browser.looking import Seen
from app.tests.browser.serving import Served, serving
from app.tests.browser.vectors import ALL, BREAKS, ELEMENTS, MARKDOWN, RUN
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.files import load_pdf
from tests.toys import WordEmbeddings

FORBIDDEN = """() => {
  const known = new Set(["/static/main.js"]);
  const bad = [];
  const never = ["srcdoc", "srcset", "formaction"];
  for (const each of document.querySelectorAll("*")) {
    for (const { name, value } of each.attributes) {
      if (/^on/i.test(name) || never.includes(name)) bad.push(each.outerHTML);
      if (["href", "src", "action", "data", "xlink:href", "poster"].includes(name) &&
          !/^(?:\\/(?!\\/)|#|blob:|https?:)/.test(value)) bad.push(each.outerHTML);
    }
    const tag = each.localName;
    if (["iframe", "object", "embed", "base", "style", "template", "applet", "frame", "portal", "math", "xss",
         "foreignobject", "animate", "set", "use", "video", "audio", "marquee"].includes(tag)) bad.push(each.outerHTML);
    if (tag === "script" && !known.has(each.getAttribute("src"))) bad.push(each.outerHTML);
    if (["link", "meta"].includes(tag) && each.parentElement !== document.head) bad.push(each.outerHTML);
    if (["img", "image"].includes(tag) && !each.src.startsWith(location.origin + "/")) bad.push(each.outerHTML);
  }
  return { bad: bad.map((each) => each.slice(0, 300)), pwned: window.__pwned ?? null, polluted: ({}).polluted ?? null };
}"""


def pdf_of(path: Path) -> Path:
    """A PDF whose title, outline, author and text are hostile."""
    canvas = Canvas(str(path))
    canvas.setTitle(ELEMENTS[10])
    canvas.setAuthor(ELEMENTS[0])
    for i, vector in enumerate(ELEMENTS[:40]):
        plain = "".join(each if " " <= each <= "~" else " " for each in vector)
        canvas.bookmarkPage(str(i))
        canvas.addOutlineEntry(plain, str(i), 0)
        canvas.drawString(40, 780, f"A card {i}. {plain[:80]}")
        if i % 10 == 9:
            canvas.showPage()
    canvas.save()
    return path


def in_quotes() -> str:
    statements = [{"text": each, "evidence": [{"source": 1, "quote": each}]} for each in ALL[::4]]
    return json.dumps({"statements": statements, "remark": ALL[0]})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("hostile")
    everything = "\n\n".join(f"# {each.splitlines()[0]}\n\nA card. {each}" for each in ALL)
    given = [
        Document(everything, metadata={"source": f"{folder}/all.md", "title": ELEMENTS[10]}),
        Document("\n\n".join(["A card.", *ALL]), metadata={"source": f"{folder}/plain.txt"}),
        *load_pdf(str(pdf_of(folder / "hostile.pdf"))),
    ]
    for i, vector in enumerate(ALL):
        name = vector.replace("\0", "")
        metadata = {"source": f"{i} {name}", "title": vector, "author": vector, "tags": [vector, {vector: vector}]}
        given.append(Document(f"A card {i}. {vector}", id=f"{name} {i}", metadata={**metadata, "url": vector}))
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), path=folder / "index", k=50)
    gold = retriever.documents()[0].doc_id
    lines = [json.dumps({"question": each, "doc_id": gold, "spans": [[0, 5]]}) for each in ALL if each.strip()]
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    model = FakeListChatModel(responses=[in_quotes(), " ".join(f"{each} [1]." for each in ALL[::4])])
    with serving(retriever, folders=[folder], questions=folder / "questions.jsonl", chat_model=model) as served:
        yield served


@pytest.fixture
def hostile_page(page: Page, hostile: Served, seen: Seen) -> Page:
    seen.servers.add(hostile.url)
    return page


def assert_harmless(page: Page) -> None:
    found = page.evaluate(FORBIDDEN)
    assert found == {"bad": [], "pwned": None, "polluted": None}


def poke(page: Page) -> None:
    """Let the mouse go over what is shown, for what waits for that."""
    for x in range(60, 1_280, 240):
        for y in range(60, 860, 120):
            page.mouse.move(x, y)


def test_the_vectors_would_work_in_a_careless_page(browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.dismiss())
    context.route("**/*", lambda route: route.abort())
    worked = 0
    for vector in (each for each in ELEMENTS if "refresh" not in each):
        page.set_content("<body></body>")
        page.evaluate("vector => { document.body.innerHTML = vector }", vector)
        page.wait_for_timeout(5)
        worked += page.evaluate("window.__pwned === 1")
    context.close()
    assert worked >= 15


def test_in_the_list_of_documents(hostile_page: Page, hostile: Served) -> None:
    page = hostile_page
    page.goto(f"{hostile.url}/#/documents")
    page.locator(".document-open").nth(len(ALL)).wait_for()
    assert_harmless(page)
    poke(page)
    page.get_by_role("checkbox", name="Choose all documents on this page").check()
    page.get_by_role("button", name="Delete…").first.click()
    page.get_by_role("dialog").wait_for()
    assert_harmless(page)


@pytest.mark.parametrize("name", ["all.md", "plain.txt", "hostile.pdf"])
def test_in_a_document(hostile_page: Page, hostile: Served, name: str) -> None:
    page = hostile_page
    page.goto(f"{hostile.url}/#/documents?search={name}")
    page.locator(".document-open").first.click()
    page.locator(".document-head h2").wait_for()
    page.wait_for_timeout(300)
    assert_harmless(page)
    poke(page)
    for tab in ("Metadata", "Text"):
        page.get_by_role("tab", name=tab).click()
        assert_harmless(page)
    for _ in range(6):
        page.keyboard.press("End")
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(50)
    poke(page)
    assert_harmless(page)


def test_in_the_metadata_and_name_of_a_document(hostile_page: Page, hostile: Served) -> None:
    page = hostile_page
    page.goto(f"{hostile.url}/#/documents")
    page.locator(".document-open").nth(len(ALL)).wait_for()
    for index in range(0, len(ALL), 8):
        doc_id = f"{ALL[index]} {index}"
        page.evaluate("doc => { location.hash = '#/documents?' + new URLSearchParams({ doc }) }", doc_id)
        expect(page.locator(".document-metadata td").first).to_have_text(doc_id)
        assert_harmless(page)
        page.get_by_role("tab", name="Metadata").click()
        expect(page.locator(".document-metadata")).to_contain_text(
            ALL[index].split("\n")[0].strip()[:10], use_inner_text=True
        )
        assert_harmless(page)
    poke(page)
    assert_harmless(page)


@pytest.mark.parametrize("question", [ELEMENTS[10], BREAKS[0], BREAKS[9], MARKDOWN[0], f"card <svg onload={RUN}>"])
def test_in_questions_windows_and_why(hostile_page: Page, hostile: Served, question: str) -> None:
    page = hostile_page
    page.goto(f"{hostile.url}/")
    page.evaluate("q => { location.hash = '#/ask?' + new URLSearchParams({ q }) }", question)
    page.locator(".window-card").first.wait_for()
    page.wait_for_timeout(200)
    assert_harmless(page)
    poke(page)
    page.get_by_role("tab", name="Why").click()
    page.wait_for_timeout(600)
    assert_harmless(page)
    poke(page)
    assert_harmless(page)


def test_in_answers(hostile_page: Page, hostile: Served) -> None:
    page = hostile_page
    page.goto(f"{hostile.url}/#/ask?q=card")
    page.locator(".window-card").first.wait_for()
    page.get_by_role("tab", name="Answer").click()
    for citing in ("quotes", "numbers"):
        page.get_by_label("Citations").select_option(citing)
        page.get_by_role("button", name="Write an answer").click()
        page.locator(".answer-status", has_text="Answered in").wait_for()
        expect(page.get_by_role("region", name="Answer")).to_contain_text("onerror")
        assert_harmless(page)
        poke(page)


@pytest.mark.parametrize("view", ["compare", "evaluate"])
def test_in_the_other_views(hostile_page: Page, hostile: Served, seen: Seen, view: str) -> None:
    page = hostile_page
    page.goto(f"{hostile.url}/")
    parameters = {"q": ELEMENTS[10], "other": json.dumps({"filter": {BREAKS[0]: {ELEMENTS[0]: 1}}})}
    name, given = ("ask", parameters) if view == "compare" else (view, {})
    seen.allow("status of 400")
    script = "([view, given]) => { location.hash = `#/${view}?` + new URLSearchParams(given) }"
    page.evaluate(script, [name, given])
    page.locator(f"#view-{name}").get_by_text("onerror").first.wait_for(state="attached")
    page.wait_for_timeout(600)
    assert_harmless(page)
    poke(page)
    assert_harmless(page)


def test_another_page_can_neither_frame_it_nor_read_it(browser: Browser, studio: Served, seen: Seen) -> None:
    evil = "http://evil.example/"
    context = browser.new_context()
    context.route(f"{evil}**", lambda route: route.fulfill(body="<body></body>", content_type="text/html"))
    page = context.new_page()
    page.goto(evil)
    got = page.evaluate(
        """async (url) => {
        const tried = {};
        const attempt = async (name, work) => {
          try { tried[name] = String(await work()); } catch { tried[name] = "refused"; }
        };
        await attempt("read", async () => (await fetch(url + "/api/about")).text());
        await attempt("blind", async () => (await fetch(url + "/api/documents", { mode: "no-cors" })).type);
        await attempt("post", async () => (await fetch(url + "/api/documents/delete", { method: "POST", body: "{}",
          headers: { "Content-Type": "application/json" } })).status);
        await attempt("script", () => new Promise((resolve, reject) => {
          const script = document.createElement("script");
          script.src = url + "/static/main.js"; script.onload = () => resolve("loaded"); script.onerror = reject;
          document.head.append(script); }));
        const frame = document.createElement("iframe");
        frame.src = url;
        const loaded = new Promise((resolve) => { frame.onload = resolve; });
        document.body.append(frame);
        await loaded;
        await attempt("frame", () => frame.contentDocument === null ? "closed" : frame.contentDocument.body.innerText);
        await attempt("opened", () => { const opened = window.open(url); return opened?.document?.title; });
        return tried; }""",
        studio.url,
    )
    assert got["read"] == got["post"] == got["script"] == "refused"
    assert got["blind"] in ("refused", "opaque")
    assert got["frame"] in ("closed", "refused", "")
    assert "Sentence" not in got["opened"]
    frames = [frame for frame in page.frames if frame.url.startswith(studio.url)]
    assert not frames
    context.close()


def test_trusted_types_forbid_markup_even_to_the_page_itself(page: Page, seen: Seen) -> None:
    page.goto("/")
    page.locator("#about", has_text="documents").wait_for()
    seen.allow("TrustedHTML")
    seen.allow("Trusted")
    seen.allow("Content Security Policy")
    refused = page.evaluate(
        """() => ["innerHTML", "outerHTML"].map((name) => {
          try { document.getElementById("main")[name] = "<b>x</b>"; return "done"; }
          catch (error) { return error.name; }
        })"""
    )
    assert refused == ["TypeError", "TypeError"]
