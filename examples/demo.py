"""The demo: a support desk's billing policy and the operations manual of a made-up database.

    python examples/demo.py [--reranker NAME_OR_PATH]

Six questions whose answers turn on a clause some sentences after the one that matches.
"""

import sys
from pathlib import Path

from quickstart import argument_parser, ask

from langchain_sentence_window.errors import SentenceWindowError

DOCUMENTS = Path(__file__).parent / "documents"
QUESTIONS = (
    "I paid for a whole year two weeks ago and have taken about 150 appointments since. Can I still get my money back?",
    "Can I settle a yearly bill of 350 euros from our bank account by wire?",
    "An agent gave me a small credit to say sorry for a mix-up last year. Is it still good?",
    "Is every page re-read and compared with its checksum after it was written, out of the box?",
    "Can I roll data in archived object-store tables back to an exact second last week?",
    "Our cluster is encrypted on disk. Does that mean the backup files cannot be read by others?",
)


def main() -> None:
    """Index the example documents if need be, and ask the six questions."""
    options = argument_parser(__doc__).parse_args()
    try:
        ask(options, DOCUMENTS, QUESTIONS)
    except SentenceWindowError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
