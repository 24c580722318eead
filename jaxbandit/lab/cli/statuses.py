"""Exit statuses of the command line."""

DONE = 0
BUG = 1
BAD_INPUT = 2
INTERRUPTED = 3  # the same command resumes
