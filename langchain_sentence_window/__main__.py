"""Run the command ``sentence-window`` as ``python -m langchain_sentence_window``."""

import sys

from .apps.cli.main import main

sys.exit(main())
