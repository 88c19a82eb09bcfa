"""Why windows came, in a browser: what sums it up, its steps, its hits, and why a sentence isn't there."""

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from langchain_core.embeddings import Embeddings
from playwright.sync_api import expect

from app.tests.browser.looking import SIZES, axe, shot
from app.tests.browser.serving import Serve
from app.tests.browser.test_evaluate import ALL
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import write_questions

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

QUESTION = "When is a refund refused?"
HOSTILE = "A <b>refund</b> <img src=x onerror=alert(1)> 😀 & </script><script>alert(2)</script> is quick."


def address(**given: Any) -> str:
    given = {"q": QUESTION, "tab": "why", **given}
    return "/#/ask?" + urlencode(
        {name: each if isinstance(each, str) else json.dumps(each) for name, each in given.items()}
    )


def opened(page: "Page", url: str = "", **given: Any) -> None:
    """Open it, and unfold its parts."""
    page.goto(url + address(**given))
    page.locator(".why-body > .why-summary").wait_for()
    for each in page.locator(".why-body > details > summary").all():
        each.click()


def given_in(page: "Page") -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).fragment.partition("?")[2]).items()}


def step(page: "Page", title: str) -> str:
    found = page.locator(".step", has=page.get_by_role("heading", name=title, exact=True))
    return found.locator(".step-facts").inner_text()


def summary(page: "Page") -> "Locator":
    return page.locator(".why-body > .why-summary")


def billing_policy(retriever: SentenceWindowRetriever) -> str:
    return next(each.doc_id for each in retriever.documents() if each.doc_id.endswith("billing-policy.md"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_question_is_summed_up_and_told_step_by_step(
    page: "Page", retriever: SentenceWindowRetriever, scheme: Any
) -> None:
    page.emulate_media(color_scheme=scheme)
    trace = retriever.explain(QUESTION)
    best = next(window for window in trace.windows if window.returned == 1)
    page.goto(address())
    expect(summary(page)).to_contain_text(f"“{best.heading.split(' > ')[-1]}” of billing-policy.md")
    left_out = sum(window.returned is None for window in trace.windows)
    returned = f"{trace.counts['returned']} windows of"
    expect(summary(page)).to_contain_text(re.compile(rf"{returned} \d documents? are returned; {left_out} more are"))
    expect(page.locator(".steps")).to_be_hidden()  # folded until someone wants them
    opened(page)
    assert f"{trace.counts['dense']} by meaning" in step(page, "Found")
    assert step(page, "Hits taken").startswith(f"{len(trace.hits)} of {len(trace.candidates)} candidates")
    assert f"{trace.tokens['windows']:,} tokens" in step(page, "Opened to windows")
    assert f"{trace.tokens['returned']:,} tokens" in step(page, "Returned")
    assert "ms" in step(page, "Opened to windows")
    assert axe(page) == []
    shot(page, f"why-{scheme}")


def test_the_steps_say_what_was_left_out_and_why(page: "Page", retriever: SentenceWindowRetriever) -> None:
    trace = retriever.explain(QUESTION)
    near = [window for window in trace.windows if window.outcome == "left out, as it is near a better window"]
    opened(page)
    assert f"{len(near)} left out: near a better window" in step(page, "Returned")
    assert re.search(r"\d+ left out: beyond “Sentences searched” of 50", step(page, "Hits taken"))


def test_the_document_shows_what_became_of_its_sentences(page: "Page", retriever: SentenceWindowRetriever) -> None:
    trace = retriever.explain(QUESTION)
    doc_id = billing_policy(retriever)
    opened(page, doc=doc_id)
    page.locator(".reader .fate-returned").first.wait_for()
    kept = {window.number for window in trace.windows if window.returned}
    left_out = [hit for hit in trace.hits if hit.doc_id == doc_id and hit.window not in kept]
    all_of = "all => all.map((each) => each.dataset.fate)"
    fates = page.locator(".reader .fate-left-out[data-fate]").evaluate_all(all_of)
    assert {each.split(",")[0] for each in fates} >= {f"hit {hit.rank}" for hit in left_out}
    taken = {(hit.doc_id, hit.index) for hit in trace.hits}
    only = [each for each in trace.candidates if (each.doc_id, each.index) not in taken]
    expect(page.locator(".reader .fate-candidate").nth(20)).to_be_attached()
    shown = set(page.locator(".reader .fate-candidate").evaluate_all(all_of))
    assert {f"candidate {each.rank}" for each in only} >= shown


def test_a_sentence_is_asked_about_and_advice_taken(page: "Page", retriever: SentenceWindowRetriever) -> None:
    doc_id = billing_policy(retriever)
    fate = retriever.why(QUESTION, doc_id, 5)
    opened(page, doc=doc_id, sentence=5)
    box = page.locator(".verdict-box")
    box.get_by_role("heading", name="Why isn't this sentence there?").wait_for()
    assert fate.rank is not None
    expect(box.locator(".why-summary")).to_have_text(
        f"The right section is found, but {fate.rank - 1} sentences outrank it."
    )
    expect(box).to_contain_text(fate.reason[1:], use_inner_text=True)
    (k,) = (each.settings["k"] for each in fate.advised if each.settings.keys() == {"k"})
    expect(box).to_contain_text(f"Windows = {k} it is returned")  # by the name that the form has
    box.get_by_text("Ranks and scores").click()
    rows = box.locator(".verdict-ranks tbody tr").all_inner_texts()
    assert rows[0].split("\t")[:2] == ["This sentence", f"{fate.rank} of {fate.candidates}"]
    assert fate.last_hit is not None
    assert rows[1].split("\t")[:2] == ["The last hit", f"{fate.last_hit.rank} of {fate.candidates}"]
    assert axe(page) == []
    shot(page, "why-sentence")
    button = box.get_by_role("button", name=f"Try Windows = {k}", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    box.get_by_role("heading", name="This sentence is there").wait_for()
    assert json.loads(given_in(page)["settings"]) == {"k": k}
    assert given_in(page)["sentence"] == "5"
    expect(page.locator(".ask-settings > summary").first).to_contain_text(f"Windows = {k}")
    box.get_by_role("button", name="Close").click()
    expect(box).to_be_hidden()


@pytest.fixture
def own_index(examples_index: Path, minilm: Embeddings, tmp_path: Path) -> SentenceWindowRetriever:
    """An index of its own, whose settings may be changed."""
    shutil.copytree(examples_index, tmp_path / "index")
    return SentenceWindowRetriever.open(tmp_path / "index", minilm)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_advice_is_tried_on_all_questions_and_kept(
    page: "Page", serve: Serve, own_index: SentenceWindowRetriever, tmp_path: Path, scheme: Any
) -> None:
    write_questions(tmp_path / "questions.jsonl", ALL[:4])
    retriever, doc_id = own_index, billing_policy(own_index)
    page.emulate_media(color_scheme=scheme)
    page.goto(serve(retriever, questions=tmp_path / "questions.jsonl").url + address(doc=doc_id, sentence=5))
    page.get_by_role("button", name=re.compile(r"Would this help\? Windows = \d+")).click()
    trial = page.get_by_role("region", name="Would this help?")
    expect(trial).to_contain_text(re.compile(r"\d of 4 questions wins?, \d loses?|\d of 4 questions win, \d lose"))
    expect(trial).to_contain_text("fewer than 20 questions")
    assert axe(page) == []
    for size in SIZES:
        page.set_viewport_size(size)
        shot(page, f"why-trial-{size['width']}-{scheme}")
    trial.get_by_role("button", name="Use as default").click()
    page.get_by_role("dialog").get_by_role("button", name="Write them").click()
    page.get_by_role("heading", name="This sentence is there").wait_for()
