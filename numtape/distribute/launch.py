"""``python -m numtape launch``: run a program in several processes with ``mpirun``."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core import settings
from ..errors import DistributedError


def mpirun_path() -> str:
    """Return the path of ``mpirun``: that of this Python's environment, else of the system.

    Raises:
      DistributedError: If it is not found.
    """
    own = Path(sys.executable).with_name("mpirun")
    path = str(own) if own.exists() else shutil.which("mpirun")
    if path is None:
        raise DistributedError("mpirun was not found: pip install 'numtape[mpi]'.")
    return path


def launch(ranks: int, program: Sequence[str], mpi_options: Sequence[str] = ()) -> int:
    """Run a Python program in several processes, and return the exit status of the job.

    This process forwards SIGTERM and SIGHUP to ``mpirun`` from then on, and ignores SIGINT.

    Each process gets its share of the cores, unless variables such as ``NUMTAPE_NUM_THREADS`` say
    otherwise.

    Args:
      ranks: The number of processes.
      program: The arguments of Python: a script and its arguments, or ``-m`` and a module.
      mpi_options: Further options of ``mpirun``, such as ``["--hostfile", "hosts"]``.

    Returns:
      0 if all processes succeeded.

    Raises:
      ValueError: If ``ranks`` is not positive.
      DistributedError: If there is no ``mpirun``.
    """
    if ranks < 1:
        raise ValueError(f"The number of ranks must be positive, not {ranks}.")
    mpirun = mpirun_path()
    variables = settings.rank_environment(ranks)
    options = list(mpi_options)
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, env=variables)
    if "Open MPI" in version.stdout:
        options += ["--oversubscribe", "--bind-to", "none"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # containers often run as root
            variables["OMPI_ALLOW_RUN_AS_ROOT"] = variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        # Waiting ranks let others compute: there may be more ranks than cores.
        variables.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
        variables.setdefault("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
    command = [mpirun, "-n", str(ranks), *options, sys.executable, *program]
    with subprocess.Popen(command, env=variables) as job:
        # A terminal sends SIGINT to mpirun as well.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda number, frame: job.send_signal(number))
        return job.wait()
