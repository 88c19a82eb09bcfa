"""Citations of answers and quotes, and as content blocks of a message."""

from .answering.citations import Citation
from .answering.content_blocks import citation_blocks, cited_message
from .answering.context import as_search_results
from .answering.links import link_to
from .answering.locations import doubt_about
from .answering.quotes.verification import QuotedPlace, VerifiedQuote, find_said

__all__ = [
    "Citation",
    "QuotedPlace",
    "VerifiedQuote",
    "as_search_results",
    "citation_blocks",
    "cited_message",
    "doubt_about",
    "find_said",
    "link_to",
]
