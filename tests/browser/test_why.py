"""The road of a question in a browser: the picture, its steps, its hits, and why a sentence isn't there."""

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from langchain_sentence_window import SentenceWindowRetriever
from tests.browser.looking import Seen, axe, shot
from tests.browser.serving import Serve
from tests.toys import WordEmbeddings, document

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUESTION = "When is a refund refused?"
PHONE: Any = {"width": 390, "height": 844}
FATES = "all => all.map((each) => each.dataset.fate)"
HOSTILE = "A <b>refund</b> <img src=x onerror=alert(1)> 😀 & </script><script>alert(2)</script> is quick."


def address(**given: Any) -> str:
    given = {"q": QUESTION, "tab": "why", **given}
    return "/#/ask?" + urlencode(
        {name: each if isinstance(each, str) else json.dumps(each) for name, each in given.items()}
    )


def opened(page: "Page", **given: Any) -> None:
    page.goto(address(**given))
    page.locator(".steps").wait_for()


def given_in(page: "Page") -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).fragment.partition("?")[2]).items()}


def step(page: "Page", title: str) -> str:
    found = page.locator(".step", has=page.get_by_role("heading", name=title, exact=True))
    return found.locator(".step-facts").inner_text()


def billing_policy(retriever: SentenceWindowRetriever) -> str:
    return next(each.doc_id for each in retriever.documents() if each.doc_id.endswith("billing-policy.md"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_road_is_drawn_and_told_as_it_was_traced(
    page: "Page", retriever: SentenceWindowRetriever, scheme: Any
) -> None:
    page.emulate_media(color_scheme=scheme)
    opened(page)
    trace = retriever.explain(QUESTION)
    returned = {window.returned for window in trace.windows if window.returned}
    assert len(returned) == trace.counts["returned"]
    expect(page.locator(".arrival")).to_have_count(len(returned))
    kept = {window.number for window in trace.windows if window.returned}
    in_legend = 1
    expect(page.locator(".thread.returned")).to_have_count(in_legend + sum(hit.window in kept for hit in trace.hits))
    dropped = sum(hit.window not in kept for hit in trace.hits)
    for each in (".thread.dropped", ".drop"):
        expect(page.locator(f".road-picture {each}")).to_have_count(dropped)
    picture = page.locator(".road-picture").get_attribute("aria-label") or ""
    assert f"{trace.counts['dense']} by meaning" in picture
    assert f"Hits taken: {len(trace.hits)} of {len(trace.candidates)}" in picture
    expect(page.get_by_role("img", name=re.compile("The road of the question"))).to_have_count(1)
    assert step(page, "Hits taken").startswith(f"{len(trace.hits)} of {len(trace.candidates)} candidates")
    assert f"{trace.tokens['windows']:,} tokens" in step(page, "Opened to windows")
    assert f"{trace.tokens['returned']:,} tokens" in step(page, "Returned")
    assert "ms" in step(page, "Opened to windows")
    assert axe(page) == []
    shot(page, f"why-{scheme}")


def test_the_steps_say_what_was_dropped_and_why_by_keys_alone(page: "Page", retriever: SentenceWindowRetriever) -> None:
    trace = retriever.explain(QUESTION)
    near = [window for window in trace.windows if window.outcome == "left out, as it is near a better window"]
    opened(page)
    summary = page.get_by_text(f"{len(near)} left out: it is near a better window")
    for _ in range(80):
        page.keyboard.press("Tab")
        if summary.evaluate("each => each.closest('summary') === document.activeElement"):
            break
    page.keyboard.press("Enter")
    shown = page.locator("details[open] .sentence-text")
    expect(shown).to_have_count(len(near))
    expect(shown.first).to_contain_text(" ".join(near[0].text.split())[:60], use_inner_text=True)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".reader [data-fate], .reader .fate-left-out").first.wait_for()
    assert int(given_in(page)["start"]) == near[0].start


def test_long_lists_are_shown_in_two_steps(page: "Page") -> None:
    opened(page)
    group = page.locator("details", has=page.get_by_text("left out: there were fetch_k better ones"))
    group.locator("summary").click()
    expect(group.locator("li")).to_have_count(8)
    group.get_by_role("button", name=re.compile(r"Show \d+ more")).click()
    expect(group.locator("li")).to_have_count(150)
    expect(group.locator("li").nth(8).locator("button")).to_be_focused()


def test_hits_are_sorted_and_chosen(page: "Page", retriever: SentenceWindowRetriever) -> None:
    trace = retriever.explain(QUESTION)
    opened(page)
    table = page.get_by_role("region", name="Hits")
    ranks = table.locator("tbody tr:first-child td:first-child")
    expect(ranks).to_have_text([str(hit.rank) for hit in trace.hits], use_inner_text=True)
    expect(table.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    table.get_by_role("button", name="Meaning").click()
    by_meaning = sorted(trace.hits, key=lambda hit: (hit.dense_rank or 10**9, hit.rank))
    expect(ranks).to_have_text([str(hit.rank) for hit in by_meaning], use_inner_text=True)
    table.get_by_role("button", name="Score").press("Enter")
    expect(table.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    table.get_by_role("button", name="Score").press("Enter")
    expect(ranks).to_have_text([str(hit.rank) for hit in reversed(trace.hits)], use_inner_text=True)
    table.get_by_role("button", name="Rank").click()
    first = table.locator("tbody").first
    largest = sorted(trace.hits[0].signals.items(), key=lambda each: -abs(each[1]))[:3]
    expect(first.locator(".bar-name")).to_have_text([name for name, _ in largest], use_inner_text=True)
    first.get_by_role("button").click()
    page.locator(".reader .fate-returned").first.wait_for()
    assert given_in(page)["start"] == str(trace.hits[0].start)
    shot(page, "why-hits")


def test_the_document_shows_what_became_of_its_sentences(page: "Page", retriever: SentenceWindowRetriever) -> None:
    trace = retriever.explain(QUESTION)
    doc_id = billing_policy(retriever)
    opened(page, doc=doc_id)
    page.locator(".reader .fate-returned").first.wait_for()
    kept = {window.number for window in trace.windows if window.returned}
    left_out = [hit for hit in trace.hits if hit.doc_id == doc_id and hit.window not in kept]
    fates = page.locator(".reader .fate-left-out[data-fate]").evaluate_all(
        "all => all.map((each) => each.dataset.fate)"
    )
    assert {each.split(",")[0] for each in fates} >= {f"hit {hit.rank}" for hit in left_out}
    taken = {(hit.doc_id, hit.index) for hit in trace.hits}
    only = [each for each in trace.candidates if (each.doc_id, each.index) not in taken]
    expect(page.locator(".reader .fate-candidate").nth(20)).to_be_attached()
    assert {f"candidate {each.rank}" for each in only} >= set(
        page.locator(".reader .fate-candidate").evaluate_all(FATES)
    )


def test_a_sentence_is_asked_about_and_advice_taken(page: "Page", retriever: SentenceWindowRetriever) -> None:
    doc_id = billing_policy(retriever)
    fate = retriever.why(QUESTION, doc_id, 5)
    opened(page, doc=doc_id, sentence=5)
    box = page.locator(".verdict-box")
    box.get_by_role("heading", name="Why isn't this sentence there?").wait_for()
    expect(box).to_contain_text(fate.reason[1:], use_inner_text=True)
    expect(box).to_contain_text(fate.advice, use_inner_text=True)
    rows = box.locator(".verdict-ranks tbody tr").all_inner_texts()
    assert rows[0].split("\t")[:2] == ["This sentence", f"{fate.rank} of {fate.candidates}"]
    assert fate.last_hit is not None
    assert rows[1].split("\t")[:2] == ["The last hit", f"{fate.last_hit.rank} of {fate.candidates}"]
    expect(box.locator(".lowered code")).to_have_text(list(fate.signals)[:5], use_inner_text=True)
    assert axe(page) == []
    shot(page, "why-sentence")
    button = box.get_by_role("button", name=re.compile("^Try k="))
    k = int(button.inner_text().partition("=")[2])
    button.focus()
    page.keyboard.press("Enter")
    box.get_by_role("heading", name="This sentence is there").wait_for()
    assert json.loads(given_in(page)["settings"]) == {"k": k}
    assert given_in(page)["sentence"] == "5"
    page.locator(".ask-settings summary").first.click()
    expect(page.get_by_label("Windows", exact=True).first).to_have_value(str(k))
    box.get_by_role("button", name="Close").click()
    expect(box).to_be_hidden()


def test_a_budget_and_a_reranker_have_their_steps(page: "Page") -> None:
    opened(page, settings={"max_tokens": 120, "reranker": "late interaction"})
    assert re.search(r"\d+ windows · \d[\d,]* ms", step(page, "Reranked"))
    assert "max_tokens 120" in step(page, "Cut")
    expect(page.get_by_text(re.compile(r"left out: it doesn't fit into max_tokens"))).to_have_count(1)
    labels = page.locator(".station-name").all_text_contents()
    assert labels == ["Found", "Reordered", "Hits taken", "Opened", "Reranked", "Returned"]


def test_a_question_that_names_a_document_says_so(page: "Page", serve: Serve) -> None:
    head = "# {0} contract\n\nThe refund of {0} is a card. A seat. A trial."
    given = [document(head.format(name), name, title=f"{name} contract") for name in ("Zebra", "Lion")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings())
    page.goto(serve(retriever).url + address(q="What is the refund in the Zebra contract?"))
    page.locator(".steps").wait_for()
    assert "names 1 document, searched first" in step(page, "Question")
    expect(page.locator(".step").first).to_contain_text("Searched there as", use_inner_text=True)


def test_nothing_found_is_told(page: "Page") -> None:
    opened(page, settings={"min_score": 0.99})
    assert page.locator(".arrival").count() == 0
    assert step(page, "Returned").startswith("0 windows")
    expect(page.get_by_text("left out: its similarity is below min_score")).to_have_count(1)
    assert page.get_by_role("region", name="Hits").count() == 0
    assert axe(page) == []


def test_an_error_is_told_in_its_place(page: "Page", seen: Seen) -> None:
    seen.allow("status of 400")
    page.goto(address(settings={"ranking": "/etc/passwd"}))
    page.locator(".why .error").wait_for()
    expect(page.locator(".why .error")).to_contain_text("'default'", use_inner_text=True)
    page.goto(address())
    page.locator(".steps").wait_for()
    expect(page.locator(".why .error")).to_have_count(0)


def test_text_of_documents_stays_text(page: "Page", serve: Serve) -> None:
    given = [document(f"# <i>Head</i>\n\n{HOSTILE} A refund. A seat.", '"><script>alert(3)</script>')]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings())
    query = "refund <img src=x onerror=alert(4)>"
    page.goto(serve(retriever).url + address(q=query, doc=given[0].metadata["doc_id"], sentence=1))
    page.locator(".verdict-box h2").wait_for()
    page.locator(".steps").wait_for()
    text = page.locator(".why").text_content() or ""
    assert HOSTILE in text
    assert query in text
    assert page.locator(".why img, .why b:not(.step b), .why script").count() == 0


def test_the_road_fits_a_phone(page: "Page") -> None:
    page.set_viewport_size(PHONE)
    opened(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    picture, frame = page.locator(".road-picture").bounding_box(), page.locator(".road").bounding_box()
    assert picture is not None
    assert frame is not None
    assert frame["x"] <= picture["x"]
    assert picture["x"] + picture["width"] <= frame["x"] + frame["width"]
    assert axe(page) == []
    shot(page, "why-phone")
