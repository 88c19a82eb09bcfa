"""The view Tune in a browser: the form of settings, two sides with what differs, the program, the default."""

import contextlib
import io
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from playwright.sync_api import expect

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import Question, write_questions
from langchain_sentence_window.retrieval.index_settings import read_index_settings
from tests.browser.looking import Seen, axe, shot
from tests.browser.serving import Serve

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

QUESTION = "When is a refund refused?"
PHONE: Any = {"width": 390, "height": 844}


def address(**given: Any) -> str:
    texts = {name: each if isinstance(each, str) else json.dumps(each) for name, each in given.items()}
    return f"/#/tune?{urlencode(texts)}"


def given_in(page: "Page") -> dict[str, Any]:
    found = parse_qs(urlsplit(page.url).fragment.partition("?")[2])
    return {name: values[0] if name == "q" else json.loads(values[0]) for name, values in found.items()}


def side(page: "Page", name: str) -> "Locator":
    return page.locator(f"#tune-{name}")


def opened(page: "Page", **given: Any) -> tuple["Locator", "Locator"]:
    page.goto(address(q=QUESTION, **given))
    page.locator(".tune-summary", has_text=re.compile("only in A|the same windows")).wait_for()
    return side(page, "A"), side(page, "B")


def texts_of(of_side: "Locator") -> list[str]:
    return of_side.locator(".window-text").all_text_contents()


def sentences_of(window: Document) -> set[tuple[str, int]]:
    first, last = window.metadata["sentences"]
    return {(window.metadata["doc_id"], index) for index in range(first, last + 1)}


def settled(page: "Page", of_side: "Locator", cards: int) -> None:
    of_side.locator(".tune-cost", has_text=re.compile(rf"^{cards} windows")).wait_for()
    page.locator(".tune-cards:not([aria-busy])").first.wait_for()


def shows(of_side: "Locator", windows: Sequence[Document]) -> None:
    """Wait until a side shows these windows."""
    expect(of_side.locator(".window-text")).to_have_text([each.page_content for each in windows])


def test_two_settings_are_shown_with_what_differs(page: "Page", retriever: SentenceWindowRetriever) -> None:
    a, b = opened(page, b={"k": 3, "window": [1, 2]})
    ours = [retriever.invoke(QUESTION), retriever.invoke(QUESTION, k=3, window=(1, 2))]
    for shown, windows in ((a, ours[0]), (b, ours[1])):
        assert texts_of(shown) == [each.page_content for each in windows]
    held = [set().union(*map(sentences_of, each)) for each in ours]
    only = [sum(not sentences_of(each) & held[1 - n] for each in of) for n, of in enumerate(ours)]
    assert [a.locator(".change-only").count(), b.locator(".change-only").count()] == only
    assert only[0] > 0
    expect(page.get_by_role("status").filter(has_text=f"{only[0]} only in A, {only[1]} only in B")).to_have_count(1)
    expect(b.locator(".change-longer").nth(0)).to_be_attached()
    own = b.locator(".is-own").all_text_contents()
    assert own
    assert not any(each in "".join(texts_of(a)) for each in own)
    for shown in (a, b):
        tokens = [int(each.split()[0]) for each in shown.locator(".tune-card > p:last-child").all_inner_texts()]
        expect(shown.locator(".tune-cost")).to_contain_text(f"{sum(tokens)} tokens", use_inner_text=True)
        expect(shown.locator(".tune-cost")).to_contain_text("ms", use_inner_text=True)
    assert axe(page) == []
    shot(page, "tune")


def test_settings_are_live_and_stand_in_the_address(page: "Page", retriever: SentenceWindowRetriever) -> None:
    wide = retriever.invoke(QUESTION, window=(2, 4))
    a, b = opened(page)
    expect(page.get_by_text("Both return the same windows.")).to_be_visible()
    b.get_by_label("Windows", exact=True).fill("2")
    settled(page, b, 2)
    assert given_in(page) == {"q": QUESTION, "b": {"k": 2}}
    a.get_by_label("Kind of window").select_option("pair")
    a.get_by_label("Sentences after").fill("4")
    a.locator(".tune-change", has_text="window=[2,4]").wait_for()
    shows(a, wide)
    assert given_in(page)["a"] == {"window": [2, 4]}
    shown = texts_of(a), texts_of(b)
    page.reload()
    settled(page, b, 2)
    shows(a, wide)
    assert (texts_of(a), texts_of(b)) == shown
    expect(b.get_by_label("Windows", exact=True)).to_have_value("2")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Swap").click()
    settled(page, a, 2)
    assert given_in(page) == {"q": QUESTION, "a": {"k": 2}, "b": {"window": [2, 4]}}
    assert texts_of(a) == shown[1]
    a.get_by_role("button", name="Reset").click()
    settled(page, a, 10)
    assert "a" not in given_in(page)


def test_a_value_that_cant_be_used_is_told_while_typing_and_not_asked(page: "Page") -> None:
    _, b = opened(page)
    shown = texts_of(b)
    windows = b.get_by_label("Windows", exact=True)
    problems = {"0": "1 or more", "": "a number", "1.5": "a whole number", "501": "500 or less"}
    for wrong, told in problems.items():
        windows.fill(wrong)
        b.get_by_text(f"Write {told}.", exact=True).wait_for()
        expect(windows).to_have_attribute("aria-invalid", "true")
        assert texts_of(b) == shown
    windows.fill("3")
    settled(page, b, 3)
    expect(windows).not_to_have_attribute("aria-invalid", re.compile(""))
    b.locator(".settings-more > summary").click()
    b.get_by_label("Filter as JSON").fill('{"source":')
    b.get_by_text("This isn't JSON").wait_for()
    assert axe(page) == []


def test_each_setting_can_be_set_and_comes_back_after_a_reload(page: "Page") -> None:
    opened(page)
    b = side(page, "B")
    b.locator(".settings-more > summary").click()
    b.get_by_label("Token budget").fill("90")
    b.get_by_label("Reranker").select_option(label="late interaction")
    b.get_by_label("Sentences searched").fill("20")
    b.get_by_label("Weight of words").fill("0.5")
    b.get_by_label("Order", exact=True).select_option(label="document")
    b.get_by_label("Lowest similarity").fill("0.1")
    b.locator("[data-name=names] select").select_option("keys")
    b.get_by_label("Keys of metadata that hold names").fill("source, title")
    b.locator("[data-name=ranking] select").select_option("weights")
    b.get_by_label("coverage_own").fill("2")
    keys = b.get_by_label("Add a key of the documents to the filter")
    keys.focus()
    keys.locator("option", has_text="billing-policy.md").wait_for(state="attached")
    value = keys.locator("option", has_text="billing-policy.md").first.get_attribute("value")
    keys.select_option(value)
    b.locator(".tune-change", has_text="filter=").wait_for()
    page.wait_for_timeout(500)
    given = given_in(page)["b"]
    assert given.pop("filter")["source"].endswith("billing-policy.md")
    assert given.pop("ranking")["coverage_own"] == 2
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
    b.locator(".tune-cost", has_text="windows").wait_for()
    page.reload()
    b.locator(".tune-cost", has_text="windows").wait_for()
    expect(b.get_by_label("coverage_own")).to_have_value("2")
    expect(b.get_by_label("Keys of metadata that hold names")).to_have_value("source, title")
    assert given_in(page) == before
    assert axe(page) == []
    shot(page, "tune-all-settings")


def test_help_stands_below_for_mouse_and_keys(page: "Page") -> None:
    _, b = opened(page)
    b.get_by_label("Token budget").focus()
    expect(b.locator(".settings-help")).to_contain_text("The most tokens of all windows together", use_inner_text=True)
    b.get_by_label("Reranker").hover()
    expect(b.locator(".settings-help")).to_contain_text("Sorts all windows", use_inner_text=True)
    assert (
        b.get_by_label("Token budget")
        .evaluate("each => document.getElementById(each.getAttribute('aria-describedby').split(' ')[0]).textContent")
        .startswith("The most tokens")
    )


def test_the_program_is_copied_and_prints_what_is_shown(page: "Page") -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _, b = opened(page, b={"k": 2, "ranking": {"dense": 1}})
    b.get_by_role("button", name="Copy as Python").click()
    page.get_by_text("Copied.").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text == b.get_by_role("region", name="The program of B").inner_text()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "program", "exec"), {})  # noqa: S102 - it is what the page hands out
    assert [each.partition(" ")[2] for each in re.split(r"\n\n(?=0\.\d{3} )", out.getvalue().strip())] == texts_of(b)


def test_settings_become_the_default(
    page: "Page", serve: Serve, examples_index: Path, minilm: Embeddings, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    shutil.copytree(examples_index, folder)
    with SentenceWindowRetriever.open(folder, minilm) as own:
        url = serve(own).url
        page.goto(f"{url}/#/ask?{urlencode({'q': QUESTION})}")
        page.locator(".window-card").nth(9).wait_for()
        page.goto(url + address(q=QUESTION, b={"k": 4, "filter": {"page": 0}}))
        b = side(page, "B")
        b.locator(".tune-cost", has_text="windows").wait_for()
        b.get_by_role("button", name="Use as default").click()
        page.get_by_text("from now on, without filter").wait_for()
        settled(page, side(page, "A"), 4)
        expect(side(page, "A").get_by_label("Windows", exact=True)).to_have_value("4")
        assert dict(read_index_settings(folder).retriever) == {"k": 4}
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Ask", exact=True).click()
        page.locator("#view-ask .window-card").nth(4).wait_for(state="detached")
        expect(page.locator("#view-ask .window-card")).to_have_count(4)
        page.locator(".ask-settings > summary").click()
        expect(page.locator(".ask-settings").get_by_label("Windows", exact=True)).to_have_value("4")


def test_a_read_only_page_keeps_no_default(page: "Page", serve: Serve, retriever: SentenceWindowRetriever) -> None:
    page.goto(serve(retriever, read_only=True).url + address())
    button = side(page, "A").get_by_role("button", name="Use as default")
    button.wait_for()
    expect(button).to_be_disabled()


def test_questions_of_the_set_are_chosen_and_their_answers_marked(
    page: "Page", serve: Serve, retriever: SentenceWindowRetriever, tmp_path: Path
) -> None:
    window = retriever.invoke(QUESTION)[0]
    gold = (window.metadata["start_index"], window.metadata["end_index"])
    write_questions(tmp_path / "questions.jsonl", [Question(QUESTION, window.metadata["doc_id"], (gold,))])
    page.goto(serve(retriever, questions=tmp_path / "questions.jsonl").url + address())
    page.get_by_label("A question of the evaluation set").select_option(label=QUESTION)
    a = side(page, "A")
    settled(page, a, 10)
    expect(a.locator(".badge", has_text="answer")).to_have_count(1)
    expect(a.locator(".tune-card").first.locator(".badge")).to_have_count(1)
    assert given_in(page)["q"] == QUESTION


def test_both_settings_are_tried_on_all_questions(
    page: "Page", serve: Serve, retriever: SentenceWindowRetriever, tmp_path: Path
) -> None:
    first, *_, last = retriever.invoke(QUESTION)
    hits = [max(each.metadata["hits"], key=lambda hit: hit["score"]) for each in (first, last)]
    spans = [(hit["start_index"], hit["end_index"]) for hit in hits]
    given = [
        Question(QUESTION, first.metadata["doc_id"], (spans[0],)),
        Question(f"{QUESTION} ", last.metadata["doc_id"], (spans[1],)),
    ]
    write_questions(tmp_path / "questions.jsonl", given)
    page.goto(serve(retriever, questions=tmp_path / "questions.jsonl").url + address(b={"k": 1, "window": 2}))
    page.get_by_text("All 2 questions of the set").click()
    page.get_by_role("button", name="Try all").click()
    status = page.locator(".tune-all [role=status]")
    status.get_by_text("Of 2 questions A holds the answer of 2").wait_for()
    expect(status).to_contain_text("B holds the answer of 1,", use_inner_text=True)
    rows = page.locator(".tune-all tbody tr")
    assert rows.locator("button").all_text_contents() == [f"{QUESTION} ", QUESTION]
    assert ["✓" in each for each in rows.first.locator("td.number").all_inner_texts()] == [True, False]
    assert axe(page) == []
    rows.first.get_by_role("button").click()
    settled(page, side(page, "A"), 10)
    assert given_in(page)["q"].strip() == QUESTION


def test_an_error_of_one_side_leaves_the_other(page: "Page", seen: Seen) -> None:
    seen.allow("status of 400")
    page.goto(address(q=QUESTION, b={"filter": {"page": {"$no": 1}}}))
    side(page, "B").get_by_role("alert").wait_for()
    expect(side(page, "B").get_by_role("alert")).to_contain_text("$no", use_inner_text=True)
    assert len(texts_of(side(page, "A"))) == 10


def test_the_newest_settings_win(page: "Page") -> None:
    _, b = opened(page)
    windows = b.get_by_label("Windows", exact=True)
    for number in (9, 7, 5, 3, 6):
        windows.fill(str(number))
        page.wait_for_timeout(60)
    settled(page, b, 6)
    page.wait_for_timeout(400)
    assert len(texts_of(b)) == 6
    assert given_in(page)["b"] == {"k": 6}


@pytest.mark.parametrize("bad", ["{", "[1]", "null", '{"k": "<b>x</b>"}', '{"nonsense": {"a": 1}}'])
def test_a_broken_address_is_survived(page: "Page", seen: Seen, bad: str) -> None:
    seen.allow("status of 400")
    page.goto(f"/#/tune?{urlencode({'q': QUESTION, 'b': bad})}")
    side(page, "A").locator(".tune-cost", has_text="10 windows").wait_for()


def test_text_of_documents_stays_text(page: "Page", serve: Serve, minilm: Embeddings) -> None:
    hostile = "A <b>refund</b> <img src=x onerror=alert(1)> 😀 is <script>alert(2)</script> quick. It 😀 takes days."
    given = [Document(hostile, id="<i>x</i>", metadata={"<u>key</u>": "<img src=x onerror=alert(3)>"})]
    retriever = SentenceWindowRetriever.from_documents(given, minilm)
    page.goto(serve(retriever).url + address(q="refund", a={"window": 0, "k": 1, "ranking": None}))
    side(page, "B").locator(".window-text").first.wait_for()
    assert texts_of(side(page, "B")) == [hostile]
    expect(side(page, "A").locator("mark")).to_have_count(1)
    keys = side(page, "B").get_by_label("Add a key of the documents to the filter")
    side(page, "B").locator(".settings-more > summary").click()
    keys.focus()
    keys.locator("option", has_text="<u>key</u>").wait_for(state="attached")
    assert page.locator(".tune img, .tune script, .tune u, .tune i, .tune-cards b").count() == 0


def test_a_phone_shows_a_side_at_a_time(page: "Page") -> None:
    page.set_viewport_size(PHONE)
    opened(page, b={"k": 2})
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_text(["Settings A", "Settings B"], use_inner_text=True)
    expect(side(page, "A")).to_be_visible()
    expect(side(page, "B")).to_be_hidden()
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    expect(side(page, "B")).to_be_visible()
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("document.querySelector('#view-tune').scrollWidth") <= PHONE["width"]
    assert axe(page) == []
    shot(page, "tune-phone")
