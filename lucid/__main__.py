"""``python -m lucid``: the command line without its script."""

import sys

from lucid.cli import main

if __name__ == "__main__":
    sys.exit(main())
