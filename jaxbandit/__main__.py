"""`python -m jaxbandit` is `jaxbandit`."""

import sys

from jaxbandit.cli import main

if __name__ == "__main__":
    sys.exit(main())
