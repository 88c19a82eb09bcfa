"""Split texts into blocks and sentences; a parser adds a format, see `langchain_sentence_window.splitting.parsers`."""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from .blocks import Block
    from .parsers import BLANK, Parser

__all__ = ["BLANK", "Block", "Parser"]

__getattr__, __dir__ = lazy_names(__name__, {"blocks": ["Block"], "parsers": ["BLANK", "Parser"]})
