"""Entry point of `python -m jaxbandit`, which is the same as the command `jaxbandit`."""

import sys

from jaxbandit.lab.cli import process

if __name__ == "__main__":
    sys.exit(process())
