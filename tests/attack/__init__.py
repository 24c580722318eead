"""Attacks on the command line and on what is read from disk: damage, links, foreign directories, kills, odd arguments.

`python -m tests.attack --tries 1000 --write` runs them larger than the tests do and writes their table into
SECURITY.md.
"""
