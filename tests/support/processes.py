"""Child processes, for code that must not run in the process of the tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import numtape
from numtape.core import settings
from numtape.core.cpython.frames import unsupported_reason

# The child imports the same numtape as this process, installed or from the checkout.
PACKAGE = Path(numtape.__file__).resolve().parent
ROOT = Path(__file__).resolve().parents[2]
SUPPORT = Path(__file__).resolve().parent
# Warnings are errors, except the one at the first function call in an unknown Python.
STRICT = ["-W", "error"]
if unsupported_reason():
    STRICT += ["-W", "ignore:numtape.function records nothing here:RuntimeWarning"]


def environment(folder=PACKAGE.parent, **variables):
    """The environment of a child that imports from `folder`; None unsets a variable."""
    # Packages may be in folders that only this variable names.
    paths = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    found = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return {name: str(value) for name, value in found.items() if value is not None}


def start(script, *arguments, **options):
    """A child that runs `script`, the source of a program."""
    return subprocess.Popen(
        [sys.executable, "-P", *STRICT, "-c", script, *map(str, arguments)],
        env=environment(**options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(child, timeout=120):
    """The output of a child, which must succeed."""
    try:
        printed, errors = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise
    assert child.returncode == 0, f"exit status {child.returncode}\n{printed}\n{errors}"
    return printed.strip()


def run(script, *arguments, timeout=120, **options):
    """The output of `script` in its own process."""
    return output(start(script, *arguments, **options), timeout)


CACHES = pytest.mark.parametrize(
    "cache",
    [
        "warm",
        pytest.param("without kernels", marks=pytest.mark.slow),
        pytest.param("empty", marks=pytest.mark.thorough),
    ],
)


def with_cache(cache, place):
    """Options of `run` for one of CACHES: an empty one costs 10 seconds for the passes alone."""
    if cache == "without kernels" and (own := settings.cache_dir()):
        for path in own.glob("passes-*.unit"):
            shutil.copy2(path, place)
    return {} if cache == "warm" else {"NUMTAPE_CACHE_DIR": place}
