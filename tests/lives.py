"""Lives of a program that is killed: forked from a process that has imported it, each costs its own work alone."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import textwrap

SERVER = """
    import json, os, sys
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            main(*json.loads(line))
            os._exit(0)
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)
"""


class Lives:
    """Processes that call main(*arguments), one after the other; `program` imports what is needed and defines main.

    It must not use JAX before main does: threads do not survive a fork.
    """

    def __init__(self, program: str):
        code = textwrap.dedent(program) + textwrap.dedent(SERVER)
        command, pipe = [sys.executable, "-c", code], subprocess.PIPE
        self._server = subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._server.stdin.close()
        self._server.wait(timeout=120)
        self._server.stdout.close()

    def begin(self, *arguments):
        """Start the next process."""
        self._server.stdin.write(f"{json.dumps([str(a) for a in arguments])}\n".encode())
        self._pid = int(self._server.stdout.readline())

    def ended(self, timeout: float) -> bool:
        """Wait for so many seconds; whether it ended."""
        if not select.select([self._server.stdout], [], [], timeout)[0]:
            return False
        assert self._code() == 0
        return True

    def kill(self) -> bool:
        """Kill it; False where it had ended just before."""
        return self.end(signal.SIGKILL) == -signal.SIGKILL

    def end(self, number: int) -> int:
        """Send it a signal; return what it ended with, a status or minus a signal, 0 where it had just ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)
        return self._code()

    def _code(self) -> int:
        return os.waitstatus_to_exitcode(int(self._server.stdout.readline()))
