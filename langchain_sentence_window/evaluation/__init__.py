"""Measure retrieval on your own documents: gold evidence in the context, at equal context.

    report = evaluate(retriever, read_questions("questions.jsonl"))
    print(compare({"windows": retriever, "chunks": other}, questions))
    print(sweep(retriever, questions, window=[0, 1, (0, 2)], k=[20, 40]))

Each question says which spans of which document answer it. A retriever's Documents are read in the
order in which they came until a budget of characters or tokens is spent, the last one cut. What counts
is how much of the gold lies in what was read. Every question is scored; one without results scores 0.
"""

from langchain_sentence_window.evaluation.measuring import acompare, aevaluate, asweep, compare, evaluate, sweep
from langchain_sentence_window.evaluation.metrics import MeanCI, Passage, Score
from langchain_sentence_window.evaluation.questions import Question, read_questions, write_questions
from langchain_sentence_window.evaluation.report import Averages, Comparison, QuestionResult, Report

__all__ = [
    "Averages",
    "Comparison",
    "MeanCI",
    "Passage",
    "Question",
    "QuestionResult",
    "Report",
    "Score",
    "acompare",
    "aevaluate",
    "asweep",
    "compare",
    "evaluate",
    "read_questions",
    "sweep",
    "write_questions",
]
