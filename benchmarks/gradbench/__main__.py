"""Entry point of ``python -m benchmarks.gradbench``."""

import sys

from benchmarks.gradbench.run import main

if __name__ == "__main__":
    sys.exit(main())
