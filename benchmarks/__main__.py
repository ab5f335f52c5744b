"""Entry point of ``python -m benchmarks``; the guard keeps spawned workers from running it."""

import sys

from benchmarks.run import main

if __name__ == "__main__":
    from numtape.__main__ import run_command

    sys.exit(run_command(main))
