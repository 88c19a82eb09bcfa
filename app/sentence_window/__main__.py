"""Run the command ``sentence-window`` as ``python -m sentence_window``."""

import sys

from sentence_window.cli.main import main

sys.exit(main())
