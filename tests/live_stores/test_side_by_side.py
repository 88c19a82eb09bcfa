"""The stores that benchmarks compare ours with: each finds what is nearest, and loses what is deleted."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.corpus import PER_DOCUMENT
from benchmarks.peers import PEERS, missing, tiny
from benchmarks.scale_steps import Setting
from benchmarks.streams import truth_vectors
from benchmarks.truth import Nearest

K = 10
SENTENCES = 1_000


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore")  # of the stores' own
def test_a_store_finds_what_is_nearest_and_loses_what_is_deleted(name: str, tmp_path: Path) -> None:
    kind = PEERS[name]
    if package := missing(kind):
        pytest.skip(f"{package} isn't installed")
    tiny(kind, tmp_path / "tiny")
    stream = Setting("synthetic", SENTENCES, None).stream()
    _, questions = stream.asked()
    questions = questions[:20]
    vectors = truth_vectors(stream, 0)
    nearest = Nearest.none(len(questions))
    nearest.add(np.arange(SENTENCES), vectors, questions)
    folder = tmp_path / "store"
    folder.mkdir()
    store = kind(folder)
    store.add(0, stream.documents(0), stream.vectors(0) if kind.IS_MIXED else vectors)
    store.finish()
    found = [store.search(question, K, kind.EFFORTS[-1]) for question in questions]
    assert np.mean(nearest.recall(found, K)) > 0.95
    for effort in kind.EFFORTS:
        assert len(store.search(questions[0], K, effort)) == K
    best = found[0][0]
    store.delete(best // PER_DOCUMENT)
    left = store.search(questions[0], K, kind.EFFORTS[-1])
    assert {row // PER_DOCUMENT for row in left}.isdisjoint({best // PER_DOCUMENT})
    store.close()
    again = kind(folder)
    assert again.search(questions[0], K, kind.EFFORTS[-1]) == left
    again.close()
