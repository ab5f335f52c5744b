"""Programs that run in several processes, by ``python -m numtape launch``."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import environment

from numtape.distribute.launch import mpirun_path
from numtape.errors import DistributedError

PROGRAMS = Path(__file__).resolve().parents[1] / "distribute" / "programs"


def why_not():
    """Why programs cannot run in several processes; "" if they can."""
    if importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    try:
        mpirun_path()
    except DistributedError as error:
        return str(error)
    return ""


needs_mpi = [
    pytest.mark.distributed,
    pytest.mark.numtape_only("processes"),
    pytest.mark.cpu_only("each process uses the CPU"),
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "MPI is installed"),
]


def start(ranks, program, *arguments, **variables):
    """Start a program of `PROGRAMS`."""
    command = [sys.executable, "-P", "-m", "numtape", "launch", "-n", str(ranks)]
    return subprocess.Popen(
        [*command, str(PROGRAMS / program), *map(str, arguments)],
        env=environment(NUMTAPE_QUIET=1, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def launch(ranks, program, *arguments, timeout=60, **variables):
    """Run a program of `PROGRAMS`. Return its exit status, its output and its errors."""
    job = start(ranks, program, *arguments, **variables)
    try:
        printed, errors = job.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        printed, errors = job.communicate()
        raise AssertionError(f"did not end\n{printed}\n{errors}") from None
    return job.returncode, printed, errors


def output(ranks, program, *arguments, **options):
    """Run a program, which must succeed. Return its output."""
    status, printed, errors = launch(ranks, program, *arguments, **options)
    assert status == 0, f"exit status {status}\n{printed}\n{errors}"
    return printed
