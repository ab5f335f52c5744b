"""``python -m numtape demo``, ``info``, ``parity``, ``profile``, ``launch``, ``cache``.

Without a command the help is printed; ``--version`` prints the version.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable

_UNUSABLE = ", cannot be used: each process compiles its kernels again"


def info() -> None:
    """Print versions, the device, threads, and the cache folder and its size."""
    import importlib.metadata

    from . import __version__
    from .core import settings
    from .core.compile.processor import processor
    from .core.cpython.report import report
    from .errors import DeviceError

    try:
        device = settings.device()
    except (ValueError, DeviceError) as error:
        device = f"none: {error}"
    try:
        threads = str(settings.threads())
    except ValueError as error:
        threads = f"none: {error}"
    try:
        cpu = processor().name + (" of NUMTAPE_CPU" if settings.cpu() else "")
    except (ValueError, RuntimeError, ImportError) as error:
        cpu = f"none: {error}"
    reason, probes = report()
    rows = [
        ("numtape", __version__),
        ("Python", f"{platform.python_version()} on {platform.platform()}"),
        *(
            (name, importlib.metadata.version(name))
            for name in ("numpy", "numba", "llvmlite", "scipy", "optree")
        ),
        ("processor", cpu),
        ("device", device),
        ("GPU", _gpu()),
        ("threads", f"{threads} share a large sweep, on {os.cpu_count()} cores"),
        ("recorders", _recorders()),
        ("evaluations", _evaluations()),
        ("gradients", _gradients()),
        ("replays", _replays()),
        ("CPython", reason or f"{len(probes)} probes of its internals:"),
        *((f"  {name}", text) for name, text in probes.items()),
        ("cache", _cache()),
    ]
    for name, value in rows:
        print(f"{name:<11} {value}")


def _cache() -> str:
    """Describe the folder of compiled kernels: its path, files, size and limit."""
    from .core import settings
    from .core.compile import cache

    folder = settings.cache_dir() or "no home folder"
    files, size = cache.size()
    try:
        limit = settings.cache_limit()
        limit_text = "no limit" if limit is None else f"of {limit / 2**20:.0f} MiB"
        status = "" if cache.writable() else _UNUSABLE
    except ValueError as error:
        limit_text, status = f"cannot be used: {error}", ""
    return f"{folder} ({files} kernels, {size / 1024:.0f} KiB, {limit_text}){status}"


def _recorders() -> str:
    """Describe how ops are recorded, and why not by machine code if so."""
    from .core.native import patch

    try:
        patch.enable_from_settings()
    except ValueError as error:
        return f"none: {error}"
    return patch.describe()


def _evaluations() -> str:
    """Describe how repeated evaluations run, and why not as machine code if so."""
    from .core.cpu import repeated_evaluation

    try:
        return repeated_evaluation.describe()
    except ValueError as error:
        return f"none: {error}"


def _gradients() -> str:
    """Describe how repeated gradients are recorded, and why not by machine code if so."""
    from .core.derive.repeated_gradients import describe_backend

    try:
        return describe_backend()
    except ValueError as error:
        return f"none: {error}"


def _replays() -> str:
    """Describe how replays are called, and why not by machine code if so."""
    from .core.replay import repeated_calls
    from .function.function import Function

    try:
        return repeated_calls.describe_executor(Function)
    except ValueError as error:
        return f"none: {error}"


def _gpu() -> str:
    """Describe the GPU and its compiler, or why there is none."""
    from .core.cuda.runtime.device import device
    from .errors import DeviceError

    try:
        gpu = device()
    except DeviceError as error:
        return f"none: {str(error).partition(' Set ')[0]}"
    major, minor = gpu.capability
    return f"{gpu.name}, compute capability {major}.{minor}; {gpu.toolkit()}"


def _profile(options: argparse.Namespace) -> int:
    """Run a program, then print its profile. Returns the program's exit status."""
    import traceback

    from .profiling.profile import run

    profile, exit_error = run(options.script, options.args)
    if isinstance(exit_error, BrokenPipeError):
        raise exit_error
    if exit_error is not None and not isinstance(exit_error, SystemExit):
        traceback.print_exception(exit_error)
    print(profile.report(options.top), flush=True)
    for path in (options.svg, options.json):
        if path:
            profile.save(path, options.top)
    if isinstance(exit_error, SystemExit):
        raise exit_error
    return int(exit_error is not None)


def _launch(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run a program in several processes. Returns the exit status of the job."""
    from .distribute.launch import launch
    from .errors import DistributedError

    program = ["-m", *options.m] if options.m else options.program
    if not program:
        parser.error("name a program")
    if options.n < 1:
        parser.error(f"the number of processes must be positive, not {options.n}")
    if not options.m and not os.path.exists(program[0]):
        parser.error(f"the program {program[0]!r} does not exist")
    try:
        return launch(options.n, program, options.mpi_option)
    except (ValueError, DistributedError) as error:
        parser.error(str(error))


def _warm(dtypes: list[str], processes: int | None) -> int:
    """Fill the cache. Returns the exit status."""
    import time

    from .core.compile import cache
    from .warm import warm

    start = time.monotonic()
    try:
        failures = warm(dtypes, processes)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    files, size = cache.size()
    seconds = time.monotonic() - start
    print(f"{files} kernels, {size / 1024:.0f} KiB, after {seconds:.0f} s")
    for name in failures:
        print(f"could not compile {name}", file=sys.stderr)
    return int(bool(failures))


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Returns the exit status."""
    from . import __version__

    parser = argparse.ArgumentParser(prog="python -m numtape", description="numtape's commands")
    parser.add_argument("--version", action="version", version=f"numtape {__version__}")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("demo", help="the guide's gradients, then a small classifier")
    commands.add_parser("info", help="versions, device, cache")
    cache_parser = commands.add_parser("cache", help="the folder of compiled kernels, and its size")
    actions = cache_parser.add_subparsers(dest="action")
    actions.add_parser("clear", help="remove all compiled kernels")
    warm_parser = actions.add_parser("warm", help="compile the kernels that most programs need")
    warm_parser.add_argument(
        "--dtype",
        action="append",
        choices=["float32", "float64"],
        help="a dtype of kernels (float32); may be repeated",
    )
    warm_parser.add_argument("--processes", type=int, help="how many compile (one a core)")
    parity = commands.add_parser("parity", help="which of TensorFlow's names there are")
    parity.add_argument("module", nargs="?", default="", help="one module, such as math")
    profile = commands.add_parser("profile", help="run a program; say where its time goes")
    profile.add_argument("--top", type=int, default=20, help="how many lines of the table (20)")
    profile.add_argument("--svg", metavar="FILE", help="draw it as bars")
    profile.add_argument("--json", metavar="FILE", help="write all numbers")
    profile.add_argument("script", help="the program")
    profile.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    launch_parser = commands.add_parser("launch", help="run a program in several processes, by MPI")
    launch_parser.add_argument("-n", type=int, required=True, help="how many processes")
    launch_parser.add_argument(
        "--mpi-option", action="append", default=[], metavar="OPTION", help="an option of mpirun"
    )
    launch_parser.add_argument(
        "-m", nargs=argparse.REMAINDER, metavar="MODULE", help="a module instead of a script"
    )
    launch_parser.add_argument("program", nargs=argparse.REMAINDER, help="a script, its arguments")
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    if options.command == "launch":
        return _launch(launch_parser, options)
    if options.command == "demo":
        from .demo import main as demo

        return demo()
    if options.command == "info":
        info()
        return 0
    if options.command == "profile":
        if not os.path.exists(options.script):
            profile.error(f"the program {options.script!r} does not exist")
        return _profile(options)
    if options.command == "parity":
        from .compat.names import report

        try:
            print(report(options.module.removeprefix("tf.")))
        except ValueError as error:
            parser.error(str(error))
        return 0
    if options.action == "warm":
        return _warm(options.dtype or ["float32"], options.processes)
    from .core.compile import cache

    if options.action is None:
        print(f"{'cache':<11} {_cache()}")
        print("python -m numtape cache clear removes the kernels, cache warm compiles common ones")
        return 0
    print(f"removed {cache.clear()} files")
    return 0


def run_command(command: Callable[[], int]) -> int:
    """Run a command whose output may not be read to its end: ``... | head`` is not an error.

    Args:
      command: A function that prints, and returns an exit status.

    Returns:
      The exit status; 1 if the reader of the output has closed it.
    """
    try:
        try:
            return command()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python prints what is left when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(run_command(main))
