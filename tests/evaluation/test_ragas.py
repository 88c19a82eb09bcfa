"""The samples that `Report.to_ragas` makes, read by ragas and scored by its metrics without a model."""

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_sentence_window.evaluation import Question, evaluate

pytestmark = pytest.mark.filterwarnings("ignore")  # ragas warns on import and on use, of itself.
TEXT = "A refund is given within 30 days. It is refused after 100 bookings. Cards are charged on the first day."
REASON = (
    "ragas isn't installed: it brings 700 MB and wants older releases of what other tests use; "
    "`make ragas` runs this in an environment of its own"
)


class Sentences(BaseRetriever):
    """Returns the n-th sentences of `TEXT`, whatever is asked."""

    order: list[int]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        parts = [f"{part.rstrip('.')}." for part in TEXT.split(". ")]
        return [
            Document(page_content=parts[i], metadata={"source": "policy.md", "start_index": TEXT.index(parts[i])})
            for i in self.order
        ]


@pytest.mark.parametrize(("order", "recall", "precision"), [([0, 1, 2], 1.0, 1.0), ([2, 0], 0.5, 0.5), ([2], 0.0, 0.0)])
def test_ragas_reads_and_scores_the_samples(order: list[int], recall: float, precision: float) -> None:
    """Two gold sentences; ragas' precision is the mean, over the gold ones found, of the precision down to each."""
    ragas = pytest.importorskip("ragas", reason=REASON)
    from ragas.metrics import NonLLMContextPrecisionWithReference, NonLLMContextRecall

    end = TEXT.index(" Cards")
    question = Question("Can I get a refund?", "policy.md", ((0, 33), (34, end)))
    source = Document(page_content=TEXT, metadata={"source": "policy.md"})
    report = evaluate(Sentences(order=order), [question])
    (sample,) = ragas.EvaluationDataset.from_list(report.to_ragas([source])).samples
    assert sample.reference_contexts == [TEXT[:33], TEXT[34:end]]
    assert NonLLMContextRecall().single_turn_score(sample) == pytest.approx(recall)
    found = NonLLMContextPrecisionWithReference().single_turn_score(sample)
    assert found == pytest.approx(precision, abs=1e-6)
