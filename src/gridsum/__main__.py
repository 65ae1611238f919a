"""`python -m gridsum`, the same as `gridsum`."""

import sys

from gridsum.cli import main

if __name__ == "__main__":
    sys.exit(main())
