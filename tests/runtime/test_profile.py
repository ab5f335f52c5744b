"""Profiles: known programs give the expected lines, ops and advice; off means off."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from processes import environment

import numtape
from numtape.core import settings
from numtape.core.cpu.sweeper import Sweeper
from numtape.core.derive.instrumentation import InstrumentedList
from numtape.core.log.log import Log
from numtape.profiling import hooks

pytestmark = [
    pytest.mark.numtape_only("a tool of numtape's own"),
    pytest.mark.cpu_only("profiles the CPU"),
]


def here(text):
    """This file's line that has a comment."""
    with open(__file__, encoding="utf-8") as file:
        (found,) = [k for k, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}")]
    return f"{__file__}:{found}"


def lines(profile, op=None):
    """Lines of a profile's table, those of an op."""
    return [line for line in profile.data()["lines"] if op is None or line["op"] == op]


def said(profile, line):
    """The advice for a line."""
    start = line.rpartition("/")[2] + ":"
    return [text for text in profile.advice() if text.startswith(start)]


def test_lines_ops_and_how_they_were_computed(tf):
    x = tf.Variable(np.ones((70, 30), np.float32))
    with tf.experimental.profile() as profile:
        with tf.GradientTape() as tape:
            y = tf.tanh(x @ tf.ones((30, 20)))  # product
            loss = tf.reduce_mean(y)  # mean
        gradient = tape.gradient(loss, x)  # gradient
        float(loss)  # look
        gradient.numpy()  # second look
    del gradient
    (tanh,) = lines(profile, "Tanh")
    assert tanh["line"] == here("product")
    assert (tanh["calls"], tanh["how"], tanh["bytes"]) == (1, "lane kernel", 70 * 20 * 4)
    products = {line["line"]: line["how"] for line in lines(profile, "MatMul")}
    assert products == {here("product"): "array kernel", here("gradient"): "array kernel"}
    assert {line["how"] for line in lines(profile) if line["line"] == here("look")} >= {
        "Python",
        "evaluations",
        "planning",
    }
    (python,) = [x for x in lines(profile) if (x["line"], x["how"]) == (here("mean"), "Python")]
    assert python["calls"] >= 1
    assert profile.advice() == []
    (below,) = [part for part in str(profile).split("test_profile.py:") if "y = tf.tanh" in part]
    assert "    Tanh, lane kernel\n" in below


@pytest.mark.records
def test_parts_add_up(tf):
    @tf.function
    def step(x):
        return tf.reduce_sum(tf.sin(x) * x)

    with tf.experimental.profile() as profile:
        for k in range(20):
            float(step(tf.fill((300,), float(k))) * 2.0)
    data = profile.data()
    assert sum(data["parts"].values()) == pytest.approx(data["seconds"], abs=1e-5)
    assert sum(line["seconds"] for line in data["lines"]) == pytest.approx(
        data["seconds"], abs=1e-5
    )
    assert min(data["parts"].values()) >= 0.0
    assert all(data["parts"][name] > 0 for name in ("sweeping", "guards", "recording functions"))
    (function,) = data["functions"]
    assert function["name"] == "step"
    assert (function["calls"], function["recorded"]) == (20, 1)
    assert {line["calls"] for line in lines(profile, "Sin")} == {20}
    assert data["memory"]["buffers"] >= 300 * 4
    assert data["memory"]["log"] > 0


@pytest.mark.records
def test_lines_within_functions_that_are_replayed(tf):
    @tf.function
    def step(x):
        y = tf.cosh(x)  # within
        return tf.reduce_sum(y)

    x = tf.Variable(tf.ones(200))
    with tf.experimental.profile() as profile:
        for _ in range(3):
            step(x + 1.0)
            with tf.GradientTape() as tape:
                loss = step(x)
            tape.gradient(loss, x).numpy()
    found = {line["line"]: line["calls"] for line in lines(profile, "Cosh")}
    assert found == {here("within"): 6}


def test_results_are_the_same(tf):
    def program():
        x = tf.constant(np.linspace(0, 1, 700).reshape(70, 10))
        y = tf.sort(tf.sin(x) @ tf.transpose(x), axis=0) * tf.reduce_sum(x)
        z = y[0, 0]
        for _ in range(50):
            z = z * 1.01 + tf.sqrt(z + 2.0)
        return y.numpy(), tf.linalg.qr(y[:5, :5])[1].numpy(), z.numpy()

    expected = program()
    with tf.experimental.profile() as profile:
        found = program()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert {"array kernel", "lane kernel"} <= {line["how"] for line in lines(profile)}


@pytest.mark.records
def test_compiled_loops_are_told_apart(tf):
    @tf.function(jit_compile=True)
    def f(x):
        return tf.sin(x) * x + tf.exp(x)

    with tf.experimental.profile() as profile:
        f(tf.ones(1000)).numpy()
        f(tf.ones(1000)).numpy()
    assert "fused loop" in {line["how"] for line in lines(profile, "Sin")}


def test_rows_by_hand(tf):
    matrix = tf.constant(np.cov(np.random.default_rng(0).standard_normal((120, 400))))
    tf.linalg.eigvalsh(tf.eye(2)).numpy()  # imports what it needs
    with tf.experimental.profile() as profile:
        tf.linalg.eigvalsh(matrix).numpy()  # decomposition
    hosted = [line for line in lines(profile) if line["how"] == "NumPy"]
    assert hosted
    assert {line["line"] for line in hosted} == {here("decomposition")}
    assert any("computed by NumPy or SciPy" in x for x in said(profile, here("decomposition")))


ADVICE = []


def advises(pattern):
    """A program, what is said of it, and a line of it."""

    def entered(program):
        ADVICE.append(pytest.param(program, pattern, id=program.__name__))
        return program

    return entered


@advises(r"30 reads of a value .* read them after the loop")
def evaluating(tf):
    x = tf.constant(1.0)
    for _ in range(30):
        x = x * 1.5
        float(x)  # advice: evaluating


@advises(r"200 elements taken one by one out of an array of 200")
def picking(tf):
    x, total = tf.constant(np.arange(200.0)), 0.0
    for k in range(200):
        total = total + x[k]  # advice: picking
    float(total)


@advises(r"f runs as Python: .*Take that out")
def plain(tf):
    kept = []

    @tf.function  # advice: plain
    def f(x):
        kept.append(x * 2)
        return x

    with pytest.warns(RuntimeWarning, match="runs as plain Python"):
        f(tf.constant(1.0))
    f(tf.constant(1.0))


@advises(r"f was recorded 8 times in 8 calls: the shapes of its arguments change \(\(3,\); ")
def shapes(tf):
    @tf.function  # advice: shapes
    def f(x):
        return x * 2.0

    for n in range(3, 11):
        f(tf.ones(n))


@advises(r"f was recorded 8 times in 8 calls: its arguments or the state it reads")
def numbers(tf):
    @tf.function  # advice: numbers
    def f(x, n):
        return x * n

    for n in range(8):
        f(tf.ones(3), n)


@advises(r"25 steps of an optimizer, each recorded again")
def stepping(tf):
    x, optimizer = tf.Variable(tf.ones(30)), tf.keras.optimizers.SGD(0.1)
    for _ in range(25):
        optimizer.apply_gradients([(x * 2.0, x)])  # advice: stepping


@advises(r"2 conversions between float32 and float64")
def converting(tf):
    for _ in range(2):
        tf.cast(tf.ones(50), tf.float64).numpy()  # advice: converting


@advises(r"a persistent tape computes gradients only once")
def persistent(tf):
    x = tf.Variable(1.0)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:  # advice: persistent
            y = x * x
        tape.gradient(y, x)


@pytest.mark.records
@pytest.mark.parametrize(("program", "pattern"), ADVICE)
def test_advice(tf, program, pattern):
    with tf.experimental.profile() as profile:
        program(tf)
    found = [x for x in said(profile, here(f"advice: {program.__name__}")) if re.search(pattern, x)]
    # The line of a function is that of its decorator.
    assert len(found) == 1, profile.advice()


@pytest.mark.records
def test_no_advice_where_nothing_is_to_be_mended(tf):
    x, optimizer = tf.Variable(tf.ones((50, 40))), tf.keras.optimizers.Adam(0.01)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x * x)
        optimizer.apply_gradients([(tape.gradient(loss, x), x)])
        return loss

    with tf.experimental.profile() as profile:
        losses = [step() for _ in range(40)]
        [float(loss) for loss in losses]
        with tf.GradientTape(persistent=True) as tape:
            y = x * x
        tape.gradient(y, x)
        tape.gradient(y, x)
    assert profile.advice() == []


@pytest.mark.records
def test_half_of_the_floats_of_another_dtype(tf):
    with tf.experimental.profile() as profile:
        tf.reduce_sum(tf.ones(500) * 2.0).numpy()
        tf.reduce_sum(tf.ones(500, tf.float64) * 2.0).numpy()
    (text,) = profile.advice()
    assert re.match(r"50 % of the floats computed are float64", text)


def state():
    """All that a profile replaces."""
    owners = [(owner, name) for owner, name, _ in hooks.TIMED]
    owners += [
        (Sweeper, "run"),
        (Log, "evaluate"),
        (Log, "evaluate_on_device"),
        (InstrumentedList, "listener"),
        (hooks.dispatch.Dispatcher, "__call__"),
        (hooks.GradientTape, "__init__"),
        (hooks.Optimizer, "apply_gradients"),
    ]
    return [vars(owner)[name] for owner, name in owners]


def test_off_means_off(tf):
    @tf.function
    def f(x):
        return x * 2.0

    before, noted = state(), settings.traceback
    f(tf.constant(1.0))
    with tf.experimental.profile() as profile:
        assert all(one is not other for one, other in zip(state(), before, strict=True))
        f(tf.constant(1.0))
        with pytest.raises(RuntimeError, match="A profile is running"), tf.experimental.profile():
            pass
    data = profile.data()
    assert state() == before
    assert (settings.traceback, Log.new_list) == (noted, InstrumentedList if noted else list)
    f(tf.constant(3.0))
    float(tf.constant(2.0) * 3.0)
    assert profile.data() == data
    with pytest.raises(RuntimeError, match="or this one is over"), profile:
        pass
    with pytest.raises(ZeroDivisionError), tf.experimental.profile():
        1 / 0  # noqa: B018
    assert state() == before


def test_other_devices_are_refused(tf):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "device", lambda: "reference")
        with pytest.raises(tf.errors.UnimplementedError, match="what the CPU computes"):
            tf.experimental.profile().__enter__()
    with tf.experimental.profile():
        pass


def test_saved(tf, tmp_path):
    x = tf.ones(500)
    with tf.experimental.profile() as profile:
        tf.sin(x).numpy()  # <&>
    for name in ("a.svg", "a.json", "a.txt"):
        profile.save(tmp_path / name)
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == profile.data()
    assert (tmp_path / "a.txt").read_text("utf-8") == f"{profile}\n"
    text = (tmp_path / "a.svg").read_text("utf-8")
    space = "{http://www.w3.org/2000/svg}"
    drawn = ET.fromstring(text)
    bars = drawn.findall(f"{space}rect")[1:]
    widths = [float(bar.get("width")) for bar in bars]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == 300
    labels = ["".join(x.itertext()) for x in drawn.findall(f"{space}text")]
    assert len(labels) == 1 + 2 * len(bars)
    assert any(label.startswith("Sin, lane kernel") for label in labels)
    assert any("# <&>" in label for label in labels)


SCRIPT = """
import sys
import numtape as tf
assert __name__ == "__main__"
x = tf.fill((300,), float(sys.argv[1]))
print("sum", float(tf.reduce_sum(tf.sin(x) * x)))
{end}
"""


@pytest.mark.parametrize(("end", "status"), [("", 0), ("sys.exit(3)", 3), ("1 / 0", 1)])
def test_command(tmp_path, end, status):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT.format(end=end), encoding="utf-8")
    options = ["--top", "5", "--svg", tmp_path / "a.svg", "--json", tmp_path / "a.json"]
    done = subprocess.run(
        [sys.executable, "-m", "numtape", "profile", *map(str, options), str(script), "2", "--top"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    assert done.stdout.startswith("sum ")
    assert "Suggested changes" not in done.stdout
    data = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert f"{script}:6" in {line["line"] for line in data["lines"] if line["op"] == "Sin"}
    assert (tmp_path / "a.svg").read_text("utf-8").startswith("<svg")
    assert ("ZeroDivisionError" in done.stderr) == (status == 1)
    assert "profiling" not in done.stderr  # no frames above the program's


def test_a_program_that_is_not_there():
    done = subprocess.run(
        [sys.executable, "-m", "numtape", "profile", "nosuch.py"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("error: the program 'nosuch.py' does not exist")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
@pytest.mark.parametrize("command", ["numtape parity", "numtape --help", "benchmarks --help"])
def test_output_that_is_not_read_to_its_end(command):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        env=environment(),
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    os.close(write)
    assert done.stderr == ""


def test_nothing_is_imported_before_it_is_asked_for():
    assert "numtape.profiling" in sys.modules  # by these tests
    done = subprocess.run(
        [sys.executable, "-c", "import sys, numtape; print('numtape.profiling' in sys.modules)"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "False", done.stderr
    assert callable(numtape.experimental.profile)


# Advice by `paths()`.


def paths_of(function):
    """The text of a function's paths, and its advice."""
    text = repr(function.paths())
    return text, [line for line in text.split("\n") if line.startswith("to fix: ")]


@pytest.mark.records
def test_paths_are_aligned(tf):
    f = tf.function(lambda x: x * 2.0 if x > 0.0 else tf.exp(tf.sin(x)) / 3.0 + tf.cos(x))
    for x in [1.0] * 12 + [-1.0, 2.0]:
        f(tf.constant(x))
    text, advice = paths_of(f)
    rows = [line for line in text.split("\n") if re.match(r"\d+:", line)]
    assert [row.index(" hits, ") for row in rows] == [rows[0].index(" hits, ")] * 2
    assert re.fullmatch(r"0: float32\[\]; +\d+ rows, 12 hits, +[\d.]+ µs each", rows[0])
    assert advice == []


@pytest.mark.records
def test_paths_of_a_value_that_is_another_one_each_time(tf):
    def repeat(x):
        for _ in range(int(x[0])):  # repeated
            x = x * 2.0
        return x

    f = tf.function(repeat)
    for n in range(5):
        f(tf.constant([n, 1.0]))
    (advice,) = paths_of(f)[1]
    file, line = here("repeated").split("/")[-1].split(":")
    assert advice.startswith(f"to fix: {file}:{line}: for _ in range(int(x[0])):")
    assert "saw 5 values" in advice
    for _ in range(3):  # now it is replayed
        for n in range(5):
            f(tf.constant([n, 1.0]))
    assert paths_of(f)[1] == []


@pytest.mark.records
def test_paths_of_a_name_that_is_another_one_each_time(tf):
    class State:
        rate = 0.0

    state = State()
    f = tf.function(lambda x: x * state.rate)
    for k in range(4):
        state.rate = 0.5 * k
        f(tf.constant(1.0))
    (advice,) = paths_of(f)[1]
    assert advice.startswith("to fix: state.rate had 4 values")


@pytest.mark.records
def test_paths_of_ever_new_arguments(tf):
    f = tf.function(lambda x, n: x * n)
    for n in range(20):
        f(tf.constant(1.0), n)
    text, (advice,) = paths_of(f)
    assert advice.startswith("to fix: 20 kinds of arguments, most of which occurred once")
    assert "\n... and 8 more\n" in text
    assert len(f.paths()) == 20


@pytest.mark.records
def test_paths_of_functions_that_run_as_python(tf):
    kept = []
    f = tf.function(lambda x: kept.append(x * 2.0) or x)
    with pytest.warns(RuntimeWarning, match="runs as plain Python"):
        f(tf.ones(2))
        f(tf.ones(3))
    text, advice = paths_of(f)
    assert "runs as Python: it stores a tensor of shape (2,)" in text
    assert advice == [
        "to fix: move that out of the function; functions that it calls are then replayed"
    ]


@pytest.mark.records
def test_paths_say_what_numpy_computes(tf):
    f = tf.function(lambda x: tf.linalg.eigvalsh(x) + tf.cast(tf.argmax(x[0]), tf.float64))
    for _ in range(2):
        f(tf.eye(3, dtype=tf.float64))
    (path,) = f.paths()
    assert path.host == ("SelfAdjointEigV2",)
    assert "   NumPy or SciPy computes SelfAdjointEigV2" in repr(f.paths())
    g = tf.function(lambda x: tf.math.cumprod(x) + 1.0)
    for _ in range(2):
        g(tf.ones(2000))
    assert "NumPy or SciPy computes Cumprod" in repr(g.paths())


def test_a_line_is_shown_once_and_no_file_of_numtape(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")
    with tf.experimental.profile() as profile:
        v = tf.Variable(tf.ones((9, 9)))
        [(v.assign_sub(0.1 * v @ v), v.numpy()) for _ in range(3)]
        model.fit(x, y, verbose=0)
    text = str(profile)
    assert text.count("for _ in range(3)]") == 1
    assert text.count("model.fit(x, y, verbose=0)") == 1
    named = set(re.findall(r"\w+\.py:", text))
    assert named == {"test_profile.py:"}
    (total,) = [line.split()[:2] for line in text.split("\n") if "for _ in range(3)" in line]
    below = [x["seconds"] for x in profile.data()["lines"] if x["line"] == profile_line(text)]
    scale = {"s": 1, "ms": 1e-3, "µs": 1e-6}[total[1]]
    assert float(total[0]) * scale == pytest.approx(sum(below), rel=0.01)


def profile_line(text):
    (number,) = re.findall(r"test_profile\.py:(\d+)  .*for _ in range\(3\)", text)
    return f"{__file__}:{number}"
