"""The version of the package, which results and checkpoints store."""

__version__ = "0.2.0"
