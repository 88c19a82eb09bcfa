"""What `explain` and `why` return: the steps of a query, and what happened to one sentence."""

from .retrieval.tracing.sentence_outcome import SentenceOutcome
from .retrieval.tracing.trace import NameTrace, SentenceTrace, Trace, WindowTrace

__all__ = ["NameTrace", "SentenceOutcome", "SentenceTrace", "Trace", "WindowTrace"]
