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

from langchain_sentence_window import Ranking, SentenceWindowRetriever
from langchain_sentence_window.evaluation import write_questions
from tests.browser.looking import SIZES, Seen, axe, shot
from tests.browser.serving import Serve
from tests.browser.test_evaluate import ALL
from tests.toys import WordEmbeddings, document

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


def test_hits_are_listed_and_chosen(page: "Page", retriever: SentenceWindowRetriever) -> None:
    trace = retriever.explain(QUESTION)
    opened(page)
    table = page.get_by_role("region", name="Hits")
    ranks = table.locator("tbody tr:first-child td:first-child")
    expect(ranks).to_have_text([str(hit.rank) for hit in trace.hits], use_inner_text=True)
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
    expect(box.locator(".lowered code")).to_have_text(list(fate.signals)[:4], use_inner_text=True)
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
    expect(trial).to_contain_text("with only 4 questions")
    assert axe(page) == []
    for size in SIZES:
        page.set_viewport_size(size)
        shot(page, f"why-trial-{size['width']}-{scheme}")
    trial.get_by_role("button", name="Use as default").click()
    page.get_by_role("dialog").get_by_role("button", name="Write the file").click()
    page.get_by_role("heading", name="This sentence is there").wait_for()
    page.get_by_role("button", name="Undo", exact=True).click()
    page.get_by_role("heading", name="Why isn't this sentence there?").wait_for()


def test_a_trial_without_questions_says_what_to_do(
    page: "Page", retriever: SentenceWindowRetriever, seen: Seen
) -> None:
    seen.allow("status of 409")
    page.goto(address(doc=billing_policy(retriever), sentence=5))
    page.get_by_role("button", name=re.compile(r"Would this help\? Windows = \d+")).click()
    expect(page.get_by_role("region", name="Would this help?")).to_contain_text(
        "no question can be asked: there are none"
    )


def test_list_items_that_outrank_a_sentence_are_named(page: "Page", serve: Serve) -> None:
    items = "\n\n".join(f"## Case {number}\n\n- refund {number}" for number in range(8))
    text = f"# Rules\n\nA refund is quick and takes a card. Never a seat.\n\n{items}"
    retriever = SentenceWindowRetriever.from_documents(
        [document(text, "rules")],
        WordEmbeddings(),
        ranking=Ranking({"dense_rank": 1}),
        lexical_weight=0,
        k=3,
        fetch_k=3,
        window=0,
    )
    opened(page, serve(retriever).url, q="refund", doc="rules", sentence=1)
    told = page.locator(".verdict-box .why-summary")
    expect(told).to_have_text("Another section of this document is found, but list items outrank it.")


def test_a_budget_and_a_reranker_have_their_steps(page: "Page") -> None:
    opened(page, settings={"max_tokens": 120, "reranker": "late interaction"})
    assert re.search(r"\d+ windows · \d[\d,]* ms", step(page, "Reranked"))
    assert "left out: over “Token budget” of 120" in step(page, "Returned")


@pytest.mark.parametrize(
    ("question", "fact", "sentence"),
    [
        (
            "In the Zebra contract, what is the refund of it?",
            "limited to 1 document: Zebra contract",
            "The question is limited to 1 document, whose sentences come first.",
        ),
        (
            "Does the Zebra contract have a refund?",
            "mentions 1 document: Zebra contract",
            "The question mentions 1 document, whose sentences score higher.",
        ),
    ],
)
def test_a_question_that_names_a_document_says_so(
    page: "Page", serve: Serve, question: str, fact: str, sentence: str
) -> None:
    head = "# {0} contract\n\nThe refund of {0} is a card. A seat. A trial."
    given = [document(head.format(name), name, title=f"{name} contract") for name in ("Zebra", "Lion")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings())
    opened(page, serve(retriever).url, q=question)
    assert fact in step(page, "Question")
    expect(summary(page)).to_contain_text(sentence)
    assert ("searched there as" in step(page, "Question")) == fact.startswith("limited")


def test_without_a_question_it_says_what_to_do(page: "Page") -> None:
    page.goto("/#/ask?tab=why")
    page.locator(".why").get_by_role("button", name="Write a question").click()
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(summary(page)).to_contain_text("The best window is from")


def test_nothing_found_is_told(page: "Page") -> None:
    opened(page, settings={"min_score": 0.99})
    expect(summary(page)).to_have_text("Nothing is returned: what was found is below “Lowest similarity” of 0.99.")
    assert step(page, "Returned").startswith("0 windows")
    assert page.get_by_role("region", name="Hits").count() == 0
    assert axe(page) == []


def test_an_error_is_told_in_its_place(page: "Page", seen: Seen) -> None:
    seen.allow("status of 400")
    page.goto(address(settings={"ranking": "/etc/passwd"}))
    page.locator(".why .error").wait_for()
    expect(page.locator(".why .error")).to_contain_text("'default'", use_inner_text=True)
    opened(page)
    expect(page.locator(".why .error")).to_have_count(0)


def test_text_of_documents_stays_text(page: "Page", serve: Serve) -> None:
    given = [document(f"# <i>Head</i>\n\n{HOSTILE} A refund. A seat.", '"><script>alert(3)</script>')]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings())
    query = "refund <img src=x onerror=alert(4)>"
    opened(page, serve(retriever).url, q=query, doc=given[0].metadata["doc_id"], sentence=1)
    page.locator(".verdict-box h2").wait_for()
    text = page.locator(".why").text_content() or ""
    assert HOSTILE in text
    assert query in text
    assert page.locator(".why img, .why b:not(.step b), .why script").count() == 0
