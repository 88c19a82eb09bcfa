"""Measure retrieval on your own documents: how much of the gold evidence a context of equal size contains.

    report = evaluate(retriever, read_questions("questions.jsonl"))
    print(compare({"windows": retriever, "chunks": other}, questions))
    print(sweep(retriever, questions, window=[0, 1, (0, 2)], k=[20, 40]))

Each question names the spans of a document that answer it. A retriever's Documents are read in their order until a
budget of characters or tokens is spent; the last one is cut. The score is how much of the gold is in the text that was
read. A question without results scores 0. A question is scored if its gold is found in the documents as they are now;
the others are named.
"""

from .gold import LostGold, afind_gold
from .measurement import (
    BUDGETS,
    acompare,
    aevaluate,
    asuggest_min_relevance,
    asweep,
    compare,
    evaluate,
    suggest_min_relevance,
    sweep,
)
from .metrics import Averages, MeanCI, Passage, Score
from .questions import Question, read_questions, write_questions
from .report import Comparison, QuestionResult, Report

__all__ = [
    "BUDGETS",
    "Averages",
    "Comparison",
    "LostGold",
    "MeanCI",
    "Passage",
    "Question",
    "QuestionResult",
    "Report",
    "Score",
    "acompare",
    "aevaluate",
    "afind_gold",
    "asuggest_min_relevance",
    "asweep",
    "compare",
    "evaluate",
    "read_questions",
    "suggest_min_relevance",
    "sweep",
    "write_questions",
]
