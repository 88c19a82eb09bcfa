"""Arguments of the tools, in the bounds that a client is told of."""

from pydantic import BaseModel, ConfigDict, Field

from langchain_sentence_window.answering.mcp.passage_ids import MAX_PASSAGE_ID_CHARS
from langchain_sentence_window.answering.tools import MAX_ARGUMENT_CHARS, ReadInput, SearchInput

MAX_QUERY_CHARS = 4_000
"""The most characters of a query."""

MAX_QUOTE_CHARS = 4_000
"""The most characters of a quote."""


class BoundedSearchInput(SearchInput):
    """The arguments of ``search``."""

    query: str = Field(
        min_length=1,
        max_length=MAX_QUERY_CHARS,
        description="What to look for, as a question or in key words. Ask for one thing at a time.",
    )


class BoundedReadInput(ReadInput):
    """The arguments of ``read_around``."""


class FetchInput(BaseModel):
    """The arguments of ``fetch``."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(
        min_length=1,
        max_length=MAX_PASSAGE_ID_CHARS,
        description="The id of a result, to read the document around it, or a doc_id, to read it from its beginning.",
    )


class QuoteInput(BaseModel):
    """The arguments of ``verify_quote``."""

    model_config = ConfigDict(extra="forbid")

    quote: str = Field(
        min_length=1, max_length=MAX_QUOTE_CHARS, description="The quotation alone, without its quotation marks."
    )
    doc_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_ARGUMENT_CHARS,
        description="The document that the quotation is said to be from, as a search gave it. Leave it out to look in "
        "all documents.",
    )
