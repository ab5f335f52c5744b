"""Entry point of ``python -m benchmarks.everyday``; the guard keeps spawned workers from it."""

import sys

from benchmarks.everyday.run import main

if __name__ == "__main__":
    from numtape.__main__ import run_command

    sys.exit(run_command(main))
