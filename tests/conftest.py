"""Fixtures and options: tests run on numtape, or on TensorFlow with `--against tensorflow`."""

import collections
import contextlib
import functools
import gc
import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
import zlib
from pathlib import Path

import checks
import pytest
from bad_arguments import limited  # noqa: F401
from devices import CHOSEN, DEVICES, EXECUTORS
from log_queries import fresh_log

from numtape.compat import traceback_filter
from numtape.core.compile import cache
from numtape.core.cpython.frames import unsupported_reason

LIBRARIES = ("numtape", "tensorflow")

# `benchmarks` is next to `tests` and not installed. An installed numtape takes precedence.
sys.path.append(str(Path(__file__).resolve().parents[1]))

# All tests in this folder need TensorFlow: without it there is nothing to collect.
collect_ignore = [] if importlib.util.find_spec("tensorflow") else ["parity"]


def pytest_terminal_summary(terminalreporter, config):
    """Print skipped folders and the seed, because `-q` hides pytest's header."""
    for name in collect_ignore:
        terminalreporter.write_line(f"TensorFlow is not installed: left out tests/{name}")
    if not importlib.util.find_spec("keras"):
        terminalreporter.write_line("Keras is not installed: left out comparisons with Keras")
    terminalreporter.write_line(f"seed: {checks.SEED} (--seed {checks.SEED})")


def pytest_addoption(parser):
    parser.addoption(
        "--against",
        choices=LIBRARIES,
        default="numtape",
        help="the library behind the `tf` fixture; tensorflow checks the expectations of the tests",
    )
    parser.addoption(
        "--shard",
        default="0/1",
        metavar="K/N",
        help="only every N-th test, from the K-th on: N processes side by side run all of them",
    )
    parser.addoption(
        "--seed",
        type=int,
        default=0,
        metavar="K",
        help="which part is done by tests that do a part, and which random programs are run",
    )
    parser.addoption(
        "--slow",
        action="store_true",
        help="also what takes minutes: a million rounds, a handler at every place",
    )
    parser.addoption(
        "--programs",
        type=int,
        default=60,
        help="how many random programs are replayed, half of them those of --seed",
    )
    parser.addoption(
        "--parity-seconds",
        type=float,
        default=5.0,
        help="how long each kind of random programs is compared with an installed TensorFlow",
    )
    parser.addoption(
        "--parity-seed", type=int, default=None, help="the first of these programs, to repeat it"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """At most eight processes for `-n auto`: each compiles and caches kernels, and needs 1 GB."""
    return min(len(os.sched_getaffinity(0)), 8) if hasattr(os, "sched_getaffinity") else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Use work stealing: tests take from milliseconds to a minute."""
    if config.getoption("dist") == "load":
        from xdist.scheduler import WorkStealingScheduling

        return WorkStealingScheduling(config, log)
    return None


def pytest_configure(config):
    checks.SEED = config.getoption("--seed")  # before any test module is imported
    if "NUMTAPE_CACHE_DIR" not in os.environ and not cache.writable():  # no writable home
        folder = tempfile.mkdtemp(prefix="numtape-tests-")  # shared by all test processes
        os.environ["NUMTAPE_CACHE_DIR"] = folder
        config.add_cleanup(functools.partial(shutil.rmtree, folder, ignore_errors=True))
    traceback_filter.enable(False)  # failed tests show numtape's frames
    sys.modules[
        "numtape.function.function"
    ].OFTEN = 1  # machine code replays as early as possible, from then on
    os.environ["NUMTAPE_QUIET"] = "1"  # output must not depend on the cache
    if config.getoption("--against") == "tensorflow":
        config.addinivalue_line("filterwarnings", "ignore")
    if unsupported_reason():  # a warning at the first function of a process
        config.addinivalue_line("filterwarnings", "ignore:numtape.function records nothing here")


# Further tests of the rows of subjects, in addition to values and derivatives.
THOROUGH_FILES = {
    "test_bad_arguments",
    "test_batching",
    "test_forward_mode",
    "test_tracebacks",
    "test_vectorized_map",
}
THOROUGH_TESTS = {
    "test_value_of_a_strided_array",
    "test_operands_stay_as_they_are",
    "test_gradient_in_float32",
    "test_third_derivatives",
}


@functools.cache
def rows_of_ops():
    """The ids of the rows of the table of ops."""
    from op_cases import CASES

    return {id(case) for case in CASES}


@functools.cache
def rows_checked_with_slow():
    """Two thirds of the rows of the table of ops: of the rows of one op, two in each three.

    They are chosen by name and index among the rows of that name, so that rows of new ops change no
    others.
    """
    from op_cases import CASES

    chosen, rows = set(), collections.Counter()
    for case in CASES:
        if (zlib.crc32(case.name.encode()) + rows[case.name]) % 3:
            chosen.add(id(case))
        rows[case.name] += 1
    return chosen


def is_in_turn(case, dtype):
    """Whether a dtype is tested: floats always, one of the others depending on the seed."""
    others = [name for name in case.dtypes if "float" not in name]
    # Not the hash itself: its remainder by 3 already chooses the rows of `rows_checked_with_slow`.
    turn = zlib.crc32(case.name.encode()) // 3 + checks.SEED
    return dtype not in others or others[turn % len(others)] == dtype


def is_thorough(item):
    """Whether a test of a row runs with --slow only."""
    if getattr(item, "originalname", "") == "test_executors_agree":
        return True  # their values are compared with exact ones
    chosen = getattr(item, "callspec", None)
    case = chosen and chosen.params.get("case")
    if id(case) not in rows_of_ops():
        return False
    name = getattr(item, "originalname", "")
    if name.startswith("test_value") and not is_in_turn(case, chosen.params.get("dtype")):
        return True
    if id(case) not in rows_checked_with_slow():
        return False
    module = item.module.__name__.rpartition(".")[2]
    again = "reference" in chosen.params.values() or name in THOROUGH_TESTS
    return module in THOROUGH_FILES or (module == "test_ops" and again)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    shard, count = map(int, config.getoption("--shard").split("/"))
    if count > 1:
        config.hook.pytest_deselected(items=[x for k, x in enumerate(items) if k % count != shard])
        items[:] = items[shard::count]
    for item in items:
        if is_thorough(item):
            item.add_marker(pytest.mark.thorough)
    if not config.getoption("--slow"):
        later = {"slow", "thorough"}
        leave_out(config, items, lambda x: later & {m.name for m in x.iter_markers()})
    leave_out(config, items, lambda x: any(m.args[0] is True for m in x.iter_markers("skipif")))
    if any(item.get_closest_marker("gpu") for item in items) and (reason := no_gpu()):
        # Without a GPU, a test of every device does not cover the GPU.
        leave_out(config, items, lambda x: on_each_device(x) and x.get_closest_marker("gpu"))
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason=reason))
    if unsupported_reason():
        for item in items:
            if item.get_closest_marker("records"):
                item.add_marker(pytest.mark.skip(reason=unsupported_reason()))
    names = []
    if config.getoption("--against") == "tensorflow":
        from tensorflow_rows import reason as why

        names = ["numtape_only", "tf_differs"]
        for item in items:
            chosen = getattr(getattr(item, "callspec", None), "params", {})
            if "case" in chosen and (said := why(chosen["case"], chosen.get("dtype"))):
                item.add_marker(pytest.mark.tf_differs(said))
    elif CHOSEN != "cpu":
        names = ["cpu_only"]
    for item in items:
        for name in names:
            marker = item.get_closest_marker(name)
            beside = name == "cpu_only" and item.get_closest_marker("gpu")  # overrides its file's
            if marker is not None and not beside:
                reason = marker.args[0] if marker.args else marker.kwargs.get("reason", "")
                item.add_marker(pytest.mark.skip(reason=f"{name}: {reason}"))


def leave_out(config, items, unwanted):
    """Deselect items, as skipping takes 2 ms for each of thousands."""
    config.hook.pytest_deselected(items=[item for item in items if unwanted(item)])
    items[:] = [item for item in items if not unwanted(item)]


def on_each_device(item):
    """Whether a test is parametrized by device."""
    return not {"device", "executor"}.isdisjoint(getattr(item, "fixturenames", ()))


def no_gpu():
    """The reason why tests cannot run on a GPU; "" if they can."""
    from numtape.core.cuda.runtime.driver import Driver
    from numtape.errors import DeviceError

    try:
        Driver()
    except DeviceError as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def tf(request):
    """The library under test, under its usual name in user programs."""
    library = request.config.getoption("--against")
    if library == "tensorflow":
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return importlib.import_module(library)


@pytest.fixture(params=DEVICES)
def device(tf, request):
    """Run the test on each device."""
    if tf.__name__ != "numtape" and request.param != DEVICES[0]:
        pytest.skip("one device is enough")
    ours = tf.__name__ == "numtape"
    with tf.config.override(request.param) if ours else contextlib.nullcontext():
        yield request.param


@pytest.fixture(params=EXECUTORS)
def executor(request):
    """The name of each compiling device, for tests that select devices themselves."""
    return request.param


@pytest.fixture(scope="session", autouse=True)
def usual_terminal():
    """Make output, also of child processes, independent of the terminal's width."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        yield


@pytest.fixture(scope="module", autouse=True)
def little_to_collect():
    """Exclude existing objects, such as thousands of items, from garbage collection.

    Recording traverses all tracked objects of the process if a call may have left cycles.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def isolated():
    """Run each test with its own log."""
    with fresh_log():
        yield
