"""The file of recorded vectors that replaces all-MiniLM-L6-v2."""

import numpy as np
from langchain_core.embeddings import Embeddings

from tests.recorded import RecordedEmbeddings


def test_the_file_contains_the_vectors_of_the_model(minilm: Embeddings, recorded: RecordedEmbeddings) -> None:
    made = np.array(minilm.embed_documents(list(recorded.vectors)))
    assert (made * np.array(list(recorded.vectors.values()))).sum(axis=1).min() > 0.9998
