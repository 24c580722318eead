"""`python -m jaxbandit` is `jaxbandit`."""

import sys

from jaxbandit.cli import process

if __name__ == "__main__":
    sys.exit(process())
