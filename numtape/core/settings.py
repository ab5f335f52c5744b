"""Every ``NUMTAPE_*`` variable, read here and nowhere else, and the switches of a process.

This module imports nothing of numtape, so every module may import it. An invalid value is a
ValueError at first use; an unknown ``NUMTAPE_*`` variable is a warning when numtape is imported.

==========================  ============================================================
``NUMTAPE_DEVICE``          ``cpu`` (default), ``cuda``, ``auto`` (``cuda`` if there is a GPU that
                            can be used, else ``cpu``) or ``reference``
``NUMTAPE_DISTRIBUTED_TIMEOUT``  how long a collective of `distribute` may wait, in seconds
                            (default: 300)
``NUMTAPE_CACHE_DIR``       folder of compiled kernels (default: in the user's cache folder)
``NUMTAPE_CACHE_LIMIT``     the size limit of that folder: bytes, ``500 MB``, ``2 GiB``; ``none``:
                            no limit (default: ``1 GiB``). Least recently used files go first
``NUMTAPE_QUIET``           ``1``: no message on stderr when compiling takes over a second
``NUMTAPE_NUM_THREADS``     how many threads may share a sweep (default: one for each core that
                            the process may use, at most ``OMP_NUM_THREADS``, which Dask and joblib
                            set for their workers)
``NUMTAPE_RECORD``          ``native`` (default): machine code records ops and replays functions, if
                            this Python's memory layout is known; or ``python``: Python functions
                            do
``NUMTAPE_CHECK_REPLAY``    ``k``: run every k-th call of a `function` as Python as well, and raise
                            if the replay differs (default: never)
``NUMTAPE_TRACEBACK``       ``1``: note the program's line of each operation
``NUMTAPE_CPU``             the processor that code is compiled for: LLVM's name of it, or ``host``
                            (default), then features, as in ``haswell`` or ``host,-avx512f``
==========================  ============================================================

Attributes:
  PACKAGE: The folder of the package.
  chosen: The process's device once it is chosen; `device` chooses it.
  moved: Whether some thread has ever computed on another device.
  usable: Returns the device for ``cuda`` or ``auto``, or the reason why there is no GPU.
    Set in `core.bindings`.
  eager: Whether every `function` runs as plain Python.
  run_eagerly: Whether the program asked for that.
  checked: Whether every op's result is checked for NaN and infinity.
  traceback: Whether the program's lines are recorded.
  tensor_float_32: Whether float32 products may be computed with TF32, on GPUs that have it.
  nondeterministic_scatter: Whether the GPU may add slices in an order that varies.
  gpu_number: The GPU to compute on, modulo their number. `distribute.init` sets it.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def unset(*_: object) -> Any:
    """Placeholder for a function that `core.bindings` sets."""
    raise RuntimeError("numtape is being imported: nothing can be computed yet.")


PACKAGE = Path(__file__).resolve().parents[1]
DEVICES = ("cpu", "reference", "cuda", "auto")
chosen: str | None = None
moved = False
usable: Callable[[str], str] = unset
eager = False
run_eagerly = False
checked = False
traceback = False
tensor_float_32 = False
nondeterministic_scatter = False
gpu_number = 0
_here = threading.local()
_threads: int | None = None
_check_replay: int | None = None


VARIABLES = (
    "NUMTAPE_CACHE_DIR",
    "NUMTAPE_CACHE_LIMIT",
    "NUMTAPE_CHECK_REPLAY",
    "NUMTAPE_CPU",
    "NUMTAPE_DEVICE",
    "NUMTAPE_DISTRIBUTED_TIMEOUT",
    "NUMTAPE_NUM_THREADS",
    "NUMTAPE_QUIET",
    "NUMTAPE_RECORD",
    "NUMTAPE_TRACEBACK",
)
CPU = "NUMTAPE_CPU"
# Variables that limit the threads of a process.
_THREADS = ("NUMTAPE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# Variables that launchers of MPI programs set.
_MPI_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS")
# Numba's variables that its object code depends on.
_NUMBA = (
    "NUMBA_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "NUMBA_DISABLE_INTEL_SVML",
    "NUMBA_ENABLE_AVX",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_OPT",
    "NUMBA_SLP_VECTORIZE",
)


def warn_of_unknown_variables() -> None:
    """Warn of each ``NUMTAPE_*`` variable that is not a setting, for example misspelled."""
    for name in sorted(os.environ):
        if name.upper().startswith("NUMTAPE_") and name not in VARIABLES:
            warnings.warn(
                f"The environment variable {name} is not a setting of numtape, and is ignored."
                f"{_nearest(name.upper(), VARIABLES) or f' The settings are {VARIABLES}.'}",
                stacklevel=3,
            )


def _nearest(name: str, known: Sequence[str]) -> str:
    """A question that suggests the most similar name; "" if no name is similar."""
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return f" Did you mean {near[0]}?" if near else ""


def wrong_value(variable: str, why: str, part: str = "", known: Sequence[str] = ()) -> ValueError:
    """The error of a variable whose value is not valid.

    Args:
      variable: Its name.
      why: The reason why the value is invalid.
      part: The invalid part.
      known: Valid values for that part; the message names the nearest.

    Returns:
      A ValueError.
    """
    value = os.environ.get(variable, "")
    return ValueError(f"{variable}={value!r}: {why}.{_nearest(part, known)}")


def _flag(variable: str) -> bool:
    value = os.environ.get(variable, "").strip()
    if value not in ("", "0", "1"):
        raise ValueError(f"{variable}={value!r} is neither 0 nor 1.")
    return value == "1"


def traceback_wanted() -> bool:
    """Whether ``NUMTAPE_TRACEBACK`` asks to record the program's lines."""
    return _flag("NUMTAPE_TRACEBACK")


def cpu() -> str | None:
    """The processor to compile for, ``NUMTAPE_CPU``; None for this one."""
    return os.environ.get(CPU, "").strip() or None


def set_numba_cpu(name: str, features: str) -> None:
    """Set the variables that Numba reads when it is imported, in child processes as well."""
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = name, features


def numba_options() -> str:
    """Numba's variables that its object code depends on, as a text."""
    return repr([(name, os.environ[name]) for name in _NUMBA if name in os.environ])


def kernels_folder() -> Path:
    """The folder of the kernels' source: in a checkout, the package's sibling."""
    inside = PACKAGE / "kernels"
    return inside if inside.is_dir() else PACKAGE.parent / "kernels"


def inside_another() -> bool:
    """Whether Python is embedded in an application, which `sys.executable` then names."""
    return not Path(sys.executable or "").name.lower().startswith("python")


def device() -> str:
    """The device that sweeps of this thread run on: ``cpu``, ``reference`` or ``cuda``.

    It is read from ``NUMTAPE_DEVICE`` once, at first use. `numtape.device` overrides it
    temporarily.

    Returns:
      Its name.

    Raises:
      ValueError: If the variable names no device.
      DeviceError: If it is ``cuda``, and no GPU can be used; the message has the reason.

    Example:
      >>> with tf.device("/CPU:0"):
      ...     tf.config.device()
      'cpu'
    """
    global chosen
    if moved:
        here: str | None = getattr(_here, "device", None)
        if here is not None:
            return here
    if chosen is None:
        chosen = _check(os.environ.get("NUMTAPE_DEVICE") or "cpu")
    return chosen


def _check(name: str) -> str:
    choice = name.strip().lower()
    if choice not in DEVICES:
        raise ValueError(f"NUMTAPE_DEVICE={name!r} is not one of {', '.join(DEVICES)}.")
    return usable(choice) if choice in ("cuda", "auto") else choice


def record() -> str:
    """The value of ``NUMTAPE_RECORD``, unchecked."""
    return os.environ.get("NUMTAPE_RECORD") or "native"


def native_recorders() -> bool:
    """Whether machine code records ops if it can.

    Raises:
      ValueError: If ``NUMTAPE_RECORD`` is neither ``native`` nor ``python``.
    """
    if record() not in ("native", "python"):
        raise ValueError(f"NUMTAPE_RECORD={record()!r} is neither 'native' nor 'python'.")
    return record() == "native"


def simulated() -> bool:
    """Whether Numba's simulator of a GPU is switched on, by its own ``NUMBA_ENABLE_CUDASIM``.

    Returns:
      A bool.
    """
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def here() -> str | None:
    """The device that overrides the process's in this thread, or None."""
    return getattr(_here, "device", None)


def move(device: str | None) -> None:
    """Set the device of this thread; None for the process's."""
    global moved
    if device == chosen:
        device = None
    if device is not None:
        moved = True
    _here.device = device


@contextmanager
def override(device: str) -> Iterator[None]:
    """Sweep on another device inside a ``with`` block, in every thread (for tests).

    Args:
      device: ``"cpu"``, ``"reference"``, ``"cuda"`` or ``"auto"``.

    Raises:
      ValueError: If it is none of these.
      DeviceError: If it is ``"cuda"``, and no GPU can be used; the message has the reason.

    Example:
      >>> with tf.config.override("reference"):
      ...     tf.config.device()
      'reference'
    """
    global chosen, moved
    before, chosen = chosen, _check(device)
    moved = moved or "cuda" in (before, chosen)
    try:
        yield
    finally:
        chosen = before


def threads() -> int:
    """How many threads share a large sweep: ``NUMTAPE_NUM_THREADS``, read once, at first use.

    Returns:
      An int; by default the number of cores that the process may use, at most
      ``OMP_NUM_THREADS``. Dask and joblib set that variable to each worker's share of the cores.

    Raises:
      ValueError: If the variable is not a positive integer.

    Example:
      >>> tf.config.threads() >= 1
      True
    """
    global _threads
    if _threads is None:
        chosen = os.environ.get("NUMTAPE_NUM_THREADS")
        if not chosen:
            _threads = min(_cores(), _openmp_threads() or _cores())
        elif chosen.strip().isdecimal() and int(chosen):
            _threads = int(chosen)
        else:
            raise ValueError(f"NUMTAPE_NUM_THREADS={chosen!r} is not a positive integer.")
    return _threads


def _openmp_threads() -> int | None:
    """``OMP_NUM_THREADS``, of which numtape uses the first number; None if it has none."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) or None if first.isdecimal() else None


def _cores() -> int:
    """The number of cores that the process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every platform
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def check_replay() -> int:
    """The interval of checked calls of a function, ``NUMTAPE_CHECK_REPLAY``; 0 for never.

    Raises:
      ValueError: If the variable is not a positive integer.
    """
    global _check_replay
    if _check_replay is None:
        chosen = os.environ.get("NUMTAPE_CHECK_REPLAY") or "0"
        if not chosen.strip().isdecimal():
            raise ValueError(f"NUMTAPE_CHECK_REPLAY={chosen!r} is not a positive integer.")
        _check_replay = int(chosen)
    return _check_replay


def distributed_timeout() -> float:
    """How long a collective may wait, in seconds: ``NUMTAPE_DISTRIBUTED_TIMEOUT``.

    Raises:
      ValueError: If the variable is not a positive number.
    """
    chosen = os.environ.get("NUMTAPE_DISTRIBUTED_TIMEOUT") or "300"
    try:
        seconds = float(chosen)
    except ValueError:
        seconds = 0.0
    if not seconds > 0.0:
        raise ValueError(f"NUMTAPE_DISTRIBUTED_TIMEOUT={chosen!r} is not a positive number.")
    return seconds


def is_started_by_mpi() -> bool:
    """Whether ``mpirun`` or another launcher of MPI programs started this process."""
    return any(name in os.environ for name in _MPI_LAUNCHERS)


def rank_environment(ranks: int) -> dict[str, str]:
    """The environment of processes that share the cores, unless variables limit threads already."""
    environment = dict(os.environ)
    for name in _THREADS:
        environment.setdefault(name, str(max(1, _cores() // ranks)))
    return environment


def numerics() -> tuple[bool, ...]:
    """The switches that affect results on a GPU."""
    return tensor_float_32, nondeterministic_scatter


def cache_dir() -> Path | None:
    """The folder of compiled kernels, which need not exist yet; None if the user has no home."""
    chosen = os.environ.get("NUMTAPE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            chosen = os.environ.get("XDG_CACHE_HOME", "")
            # The XDG standard says to ignore relative paths.
            base = chosen if os.path.isabs(chosen) else Path.home() / ".cache"
    except RuntimeError:  # no HOME, and a user that the system does not know
        return None
    return Path(base) / "numtape"


_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
}


def cache_limit() -> int | None:
    """The size limit of the folder of compiled kernels in bytes: ``NUMTAPE_CACHE_LIMIT``.

    Returns:
      An int; None for no limit.

    Raises:
      ValueError: If the variable is not a size.
    """
    chosen = os.environ.get("NUMTAPE_CACHE_LIMIT") or "1 GiB"
    if chosen.strip().lower() == "none":
        return None
    value = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", chosen)
    if value is None or value[2].upper() not in _UNITS:
        raise ValueError(
            f"NUMTAPE_CACHE_LIMIT={chosen!r} is not a size: a number of bytes, '500 MB', "
            "'2 GiB' or "
            f"'none'."
        )
    return int(float(value[1]) * _UNITS[value[2].upper()])


def quiet() -> bool:
    """Whether to write no messages to stderr: ``NUMTAPE_QUIET``."""
    return _flag("NUMTAPE_QUIET")


def after_fork_in_child(renew: Callable[[], None]) -> None:
    """Have ``renew`` replace locks in a forked child, in which their holders do not exist."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)
