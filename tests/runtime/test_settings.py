"""The `NUMTAPE_*` variables: errors for invalid values, and for code of another processor."""

import difflib
import platform
import re
import subprocess
import sys

import pytest
from processes import environment, run, start

from numtape.core import settings
from numtape.core.compile import processor

pytestmark = pytest.mark.numtape_only("numtape's own settings")

# A first use of each setting.
USES = {
    "NUMTAPE_CACHE_LIMIT": "float(tf.constant(1.0) + 1.0)",
    "NUMTAPE_CHECK_REPLAY": "tf.function(lambda x: x + 1.0)(tf.constant(1.0))",
    "NUMTAPE_CPU": "float(tf.constant(1.0) + 1.0)",
    "NUMTAPE_DISTRIBUTED_TIMEOUT": "tf.distribute.init()",
    "NUMTAPE_DEVICE": "float(tf.constant(1.0) + 1.0)",
    "NUMTAPE_NUM_THREADS": "tf.config.threads()",
    "NUMTAPE_QUIET": "float(tf.sin(tf.constant([1.0] * 9))[0])",
    "NUMTAPE_RECORD": "float(tf.constant(1.0) + 1.0)",
    "NUMTAPE_TRACEBACK": "",
}
ANY_VALUE = {"NUMTAPE_CACHE_DIR"}  # an unusable one logs a warning; see test_cache


def test_each_variable_has_a_use():
    assert {*USES} | ANY_VALUE == {*settings.VARIABLES}
    text = settings.__doc__
    assert {*re.findall(r"``(NUMTAPE_\w+)``", text)} == {*settings.VARIABLES}


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize(
    "value",
    [
        "lots",
        *(pytest.param(value, marks=pytest.mark.slow) for value in ("-1", "1e")),
    ],
)
def test_a_wrong_value_is_an_error_where_it_is_needed(name, value, tmp_path):
    options = {"NUMTAPE_CACHE_DIR": str(tmp_path)} if name == "NUMTAPE_QUIET" else {}
    child = start(f"import numtape as tf; {USES[name]}", **{**options, name: value})
    _, error = child.communicate(timeout=120)
    last = error.splitlines()[-1]
    assert child.returncode == 1
    assert last.startswith("ValueError")
    assert name in last
    assert repr(value) in last


def test_an_empty_value_is_the_default():
    uses = "; ".join(filter(None, USES.values()))
    run(f"import numtape as tf; {uses}", **dict.fromkeys(settings.VARIABLES, ""))


@pytest.mark.parametrize(
    ("name", "near"),
    [
        *((name[:-1], name) for name in settings.VARIABLES),
        *((name.replace("NUMTAPE_", "NUMTAPE_X"), name) for name in settings.VARIABLES),
        ("numtape_device", "NUMTAPE_DEVICE"),
        ("NUMTAPE_THREADS", "NUMTAPE_NUM_THREADS"),
    ],
)
def test_a_misspelled_variable_is_a_warning(name, near, monkeypatch):
    monkeypatch.setenv(name, "1")
    with pytest.warns(UserWarning, match=f"variable {name} is not a .* Did you mean {near}\\?"):
        settings.warn_of_unknown_variables()


def test_other_variables_are_listed_against_the_settings(monkeypatch):
    monkeypatch.setenv("NUMTAPE_ZZZZZZZZZZZZZZZZZZ", "1")
    with pytest.warns(UserWarning, match="NUMTAPE_CACHE_DIR"):
        settings.warn_of_unknown_variables()


def test_the_warning_names_the_line_of_the_import(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("\nimport numtape\n")
    done = subprocess.run(
        [sys.executable, script],
        env=environment(NUMTAPE_DEVISE="cpu"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.startswith(f"{script}:2: UserWarning: ")


# --- NUMTAPE_CPU ----------------------------------------------------------------------------------

MACHINE = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
# From wide vectors to narrow ones, without those that the machine lacks.
CPUS = {
    "x86_64": ["skylake-avx512", "haswell", "x86-64-v2", "host,-avx512f", "haswell,-fma"],
    "aarch64": ["neoverse-v1", "cortex-a57", "generic"],
}.get(MACHINE, [])
x86 = pytest.mark.skipif(MACHINE != "x86_64", reason="of x86-64's vectors")

# A loop of Numba's own target, a convolution, a fused loop, a product, a recorded function.
SCALED = """
import numpy as np, numtape as tf

@tf.kernel
def scaled(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2.0 + y[i]

z = np.ones(33)
scaled(np.arange(33.0), z)
"""
PROGRAM = (
    SCALED
    + """
rng = np.random.default_rng(0)
x = tf.Variable(rng.standard_normal((2, 8, 8, 4)), dtype="float32")
w = tf.Variable(rng.standard_normal((3, 3, 4, 16)), dtype="float32")
with tf.GradientTape() as tape:
    y = tf.reduce_sum(tf.tanh(tf.nn.conv2d(x, w, 1, "SAME")) * 0.5)
gx, gw = tape.gradient(y, (x, w))
step = tf.function(lambda x: tf.linalg.matmul(tf.exp(-x * x), x) + 1.0)
seen = [float(y), *gx.numpy().ravel()[:50], *gw.numpy().ravel()[:50], *z]
seen += [*step(tf.reshape(x, (-1, 16, 16))).numpy().ravel()]
print(*(float(value) for value in seen))
"""
)
ASSEMBLY = """
(assembly,) = scaled.njit.inspect_asm().values()
from numtape.kernels.cpu.panels import BYTES
from numtape.core.compile import llvm
machine = llvm._machine()
module = llvm.llvm.parse_assembly('''
    define void @f(ptr noalias %p) {
    e:
      br label %l
    l:
      %i = phi i64 [0, %e], [%j, %l]
      %a = getelementptr float, ptr %p, i64 %i
      %x = load float, ptr %a
      %y = fadd float %x, %x
      store float %y, ptr %a
      %j = add i64 %i, 1
      %c = icmp eq i64 %j, 4096
      br i1 %c, label %d, label %l
    d:
      ret void
    }''')
tuning = llvm.llvm.create_pipeline_tuning_options(speed_level=3)
builder = llvm.llvm.create_pass_builder(machine, tuning)
builder.getModulePassManager().run(module, builder)
print(BYTES)
for text in (assembly, machine.emit_assembly(module)):
    print(*(name for name in ("zmm", "ymm", "xmm", "vfmadd") if name in text))
"""


@pytest.fixture(scope="module")
def on_this_machine():
    return [float(word) for word in run(PROGRAM, NUMTAPE_CPU=None).split()]


@pytest.mark.slow
@pytest.mark.parametrize("cpu", CPUS)
def test_results_are_near_those_of_this_processor(cpu, on_this_machine):
    found = [float(word) for word in run(PROGRAM, NUMTAPE_CPU=cpu, timeout=400).split()]
    assert found == pytest.approx(on_this_machine, rel=2e-5, abs=2e-5)


@x86
@pytest.mark.parametrize(
    ("cpu", "size", "names"),
    [
        ("haswell", 32, {"ymm", "xmm", "vfmadd"}),
        ("host,-avx", 16, {"xmm"}),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (
                ("x86-64-v2", 16, {"xmm"}),
                ("haswell,-avx", 16, {"xmm"}),
                ("haswell,-fma", 32, {"ymm", "xmm"}),
                ("i686", 16, {"xmm"}),
            )
        ),
    ],
)
def test_code_uses_what_the_processor_has(cpu, size, names):
    lines = run(SCALED + ASSEMBLY, NUMTAPE_CPU=cpu, timeout=400).splitlines()
    own = processor.llvm.get_host_cpu_features()
    lacking = {"ymm": not own["avx"], "vfmadd": not own["fma"], "xmm": False}
    expected = {name for name in names if not lacking[name]}
    assert int(lines[0]) == (size if "ymm" in expected or size == 16 else 16)
    numba, direct = (set(line.split()) for line in lines[1:])
    assert numba <= expected
    assert direct <= expected - {"vfmadd"}
    assert ("ymm" in numba) == ("ymm" in direct) == ("ymm" in expected)


def test_the_cache_tells_processors_and_options_of_numba_apart():
    code = """
import sys
from numtape.core import settings
from numtape.core.compile import processor; from numtape.core.compile import cache
for word in sys.argv[1:]:
    name, _, value = word.partition("=")
    before = dict(settings.os.environ)
    settings.os.environ[name] = value
    processor.processor.cache_clear()
    cache._environment.cache_clear()
    print(cache._file("unit", "text"))
    settings.os.environ.clear()
    settings.os.environ.update(before)
"""
    words = [
        "NUMTAPE_CPU=",
        *(f"NUMTAPE_CPU={cpu}" for cpu in CPUS),
        "NUMBA_OPT=1",
        "NUMBA_CPU_NAME=generic",
        "NUMBA_ENABLE_AVX=0",
    ]
    found = run(code, *words, *words, NUMTAPE_CPU=None).split()
    assert found[: len(words)] == found[len(words) :]
    assert len({*found}) == len(words)


def test_every_name_of_llvm_is_taken_and_its_code_runs():
    names = processor.known_names()
    assert len(names) > 30
    code = """
import sys
from numtape.core import settings
from numtape.core.compile import llvm, processor
for name in sys.argv[1:]:
    settings.os.environ["NUMTAPE_CPU"] = name
    processor.processor.cache_clear()
    llvm.compile_text("define double @f(double %x) {\\n %y = fadd double %x, %x\\n"
                      " ret double %y\\n}",
                  ["f"])
print("done")
"""
    child = start(code, *names)
    printed, error = child.communicate(timeout=120)
    assert (printed.strip(), error) == ("done", "")


FIRST = next(iter(processor.llvm.get_host_cpu_features()), None)


@pytest.mark.skipif(FIRST is None, reason="LLVM knows no features of this processor")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nosuch", "LLVM knows no processor 'nosuch' of this architecture"),
        (",+fma", "LLVM knows no processor '' of this architecture"),
        (CPUS[1][:-1] if CPUS else "hos", "Did you mean"),
        ("HOST", "LLVM knows no processor 'HOST'"),
        ("host,+nosuch", "LLVM knows no feature 'nosuch' of this architecture"),
        ("host,", "'' does not begin with + or -"),
        (f"host,{FIRST}", f"'{FIRST}' does not begin with + or -"),
        (f"host,+{FIRST}x", f"Did you mean {FIRST}?"),
        ("host,+soft-float", "no feature 'soft-float'"),
        pytest.param("host,-sse2", "LLVM requires sse2", marks=x86),
        pytest.param("haswell,-64bit", "LLVM requires 64bit", marks=x86),
    ],
)
def test_a_wrong_processor_is_named(monkeypatch, value, message):
    monkeypatch.setenv("NUMTAPE_CPU", value)
    processor.processor.cache_clear()
    try:
        with pytest.raises(ValueError, match=re.escape(message)) as error:
            processor.processor()
        assert str(error.value).startswith(f"NUMTAPE_CPU={value!r}: ")
    finally:
        monkeypatch.undo()
        processor.processor.cache_clear()


def test_a_feature_that_the_machine_lacks_is_named(monkeypatch):
    own = processor.llvm.get_host_cpu_features()
    monkeypatch.setenv("NUMTAPE_CPU", f"host,+{(name := next(iter(own)))}")
    monkeypatch.setattr(processor.llvm, "get_host_cpu_features", lambda: type(own)({name: False}))
    processor.processor.cache_clear()
    try:
        with pytest.raises(ValueError, match=f"this processor lacks {name}"):
            processor.processor()
    finally:
        monkeypatch.undo()
        processor.processor.cache_clear()


@pytest.mark.parametrize("cpu", CPUS[:2])
def test_numba_that_is_imported_before_compiles_for_it_as_well(cpu):
    text = "import numba, numtape as tf; print(*tf.core.compile.processor.processor())"
    text += "; print(numba.core.config.CPU_NAME, numba.core.config.CPU_FEATURES)"
    first, second = run(text, NUMTAPE_CPU=cpu).splitlines()
    assert first == second


@pytest.mark.slow
def test_numba_that_has_compiled_before_is_an_error():
    name = (CPUS or ["host"])[0]
    text = "import numba; numba.njit(lambda x: x + 1)(1)\nimport numtape as tf; "
    child = start(text + "float(tf.constant(1.0) + 1.0)", NUMTAPE_CPU=name)
    _, error = child.communicate(timeout=120)
    assert error.splitlines()[-1].startswith("RuntimeError: NUMTAPE_CPU comes too late")
    run(text + "float(tf.constant(1.0) + 1.0)", NUMTAPE_CPU=None)


@pytest.mark.parametrize("cpu", [*CPUS[:1], "nosuch", None])
def test_info_names_the_processor(cpu):
    done = subprocess.run(
        [sys.executable, "-m", "numtape", "info"],
        env=environment(NUMTAPE_CPU=cpu),
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = re.findall(r"^processor +(.*)$", done.stdout, re.MULTILINE)
    if cpu is None:
        assert line == processor.llvm.get_host_cpu_name()
    elif cpu == "nosuch":
        assert line.startswith("none: NUMTAPE_CPU='nosuch'")
    else:
        assert line == f"{cpu} of NUMTAPE_CPU"


def test_names_near_each_other_are_told_apart():
    for name in settings.VARIABLES:
        assert difflib.get_close_matches(name, settings.VARIABLES, 1) == [name]


THREADS = "import numtape as tf; print(tf.config.threads())"


@pytest.mark.parametrize(
    ("openmp", "own", "threads"),
    [("1", None, 1), ("1,2", "", 1), ("1", "3", 3), ("0", None, None), ("many", None, None)],
)
def test_workers_of_dask_and_joblib_use_their_share_of_the_cores(openmp, own, threads):
    """They set `OMP_NUM_THREADS`."""
    found = int(run(THREADS, OMP_NUM_THREADS=openmp, NUMTAPE_NUM_THREADS=own))
    assert found == (threads or settings._cores())
