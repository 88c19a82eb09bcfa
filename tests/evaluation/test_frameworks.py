"""The samples that a report makes for DeepEval and TruLens, read by these frameworks and scored without a model."""

import pytest
from langchain_core.documents import Document

from langchain_sentence_window.evaluation import Question, Report, evaluate
from tests.evaluation.test_ragas import TEXT, Sentences

pytestmark = pytest.mark.filterwarnings("ignore")  # they warn on import and on use, of themselves.
REASON = "it brings more than a hundred packages; `make {}` runs this in an environment of its own"
SOURCE = Document(page_content=TEXT, metadata={"source": "policy.md"})
ASKED = "Can I get a refund?"
END = TEXT.index(" Cards")
GOLD = [TEXT[:33], TEXT[34:END]]


def report(order: list[int]) -> Report:
    return evaluate(Sentences(order=order), [Question(ASKED, "policy.md", ((0, 33), (34, END)))])


def test_samples_have_the_fields_of_each_framework() -> None:
    made, found = report([2, 0]), [TEXT[END + 1 :], TEXT[:33]]
    assert made.to_deepeval([SOURCE]) == [{"input": ASKED, "retrieval_context": found, "context": GOLD}]
    chunks = [{"text": text} for text in GOLD]
    assert made.to_trulens([SOURCE]) == [{"query": ASKED, "context": found, "expected_chunks": chunks}]
    assert made.to_trulens([SOURCE], budget=10) == [
        {"query": ASKED, "context": [found[0][:10]], "expected_chunks": chunks}
    ]


def test_deepeval_reads_the_samples_and_its_metrics_have_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    pytest.importorskip("deepeval", reason=REASON.format("deepeval"))
    from deepeval import metrics
    from deepeval.dataset import EvaluationDataset, Golden
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics.utils import check_llm_test_case_params
    from deepeval.test_case import LLMTestCase

    (sample,) = report([0, 1, 2]).to_deepeval([SOURCE])
    case, golden = LLMTestCase(**sample), Golden(**sample)
    assert (case.input, case.context, golden.context) == (ASKED, GOLD, GOLD)
    assert case.retrieval_context == golden.retrieval_context == [*GOLD, TEXT[END + 1 :]]
    dataset = EvaluationDataset(goldens=[golden])
    dataset.add_test_case(case)
    assert (len(dataset.goldens), len(dataset.test_cases)) == (1, 1)

    def check(metric: type[metrics.BaseMetric], read: LLMTestCase) -> None:
        check_llm_test_case_params(read, metric._required_params, None, None, metrics.ExactMatchMetric())

    check(metrics.ContextualRelevancyMetric, case)
    with pytest.raises(MissingTestCaseParamsError, match="'actual_output'"):
        check(metrics.FaithfulnessMetric, case)
    answered = LLMTestCase(**sample, actual_output="Within 30 days.", expected_output="Within 30 days.")
    for metric in (metrics.FaithfulnessMetric, metrics.HallucinationMetric, metrics.ContextualRecallMetric):
        check(metric, answered)
    assert metrics.ExactMatchMetric().measure(answered, _show_indicator=False) == 1


@pytest.mark.parametrize(
    ("order", "recall", "precision"), [([0, 1, 2], 1.0, 2 / 3), ([2, 0], 0.5, 0.5), ([2], 0.0, 0.0)]
)
def test_trulens_reads_and_scores_the_samples(order: list[int], recall: float, precision: float) -> None:
    pytest.importorskip("trulens.feedback", reason=REASON.format("trulens"))
    from trulens.core import BatchEvaluator, Metric, Selector
    from trulens.core.schema.groundtruth import GroundTruth
    from trulens.feedback import GroundTruthAgreement
    from trulens.feedback.dummy.provider import DummyProvider

    samples = report(order).to_trulens([SOURCE])
    agreement = GroundTruthAgreement(samples, provider=DummyProvider())  # which these metrics never ask
    selectors = {"query": Selector.from_column("query"), "retrieved_context_chunks": Selector.from_column("context")}
    found = BatchEvaluator(
        metrics=[
            Metric(name="recall", implementation=agreement.recall_at_k, selectors=selectors),
            Metric(name="precision", implementation=agreement.precision_at_k, selectors=selectors),
        ]
    ).evaluate(samples)
    assert (found["recall"][0], found["precision"][0]) == (pytest.approx(recall), pytest.approx(precision))
    (sample,) = samples
    truth = GroundTruth(dataset_id="one", query=sample["query"], expected_chunks=sample["expected_chunks"])
    assert [chunk["text"] for chunk in truth.expected_chunks] == GOLD
