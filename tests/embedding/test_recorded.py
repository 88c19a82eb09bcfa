"""The file of vectors that stands in for all-MiniLM-L6-v2."""

import numpy as np
from langchain_core.embeddings import Embeddings

from tests.recorded import RecordedEmbeddings


def test_the_file_holds_what_the_model_makes(minilm: Embeddings, recorded: RecordedEmbeddings) -> None:
    made = np.array(minilm.embed_documents(list(recorded.vectors)))
    assert (made * np.array(list(recorded.vectors.values()))).sum(axis=1).min() > 0.9998
