"""State of numtape's own objects: a recorded function sees changes, or runs as plain Python.

The first part finds state in the API modules that is set outside of `__init__`, and requires a
reason why recorded functions cannot miss a change of it. The second part reads state in a function,
changes it outside, and compares with plain Python.
"""

import ast
import os
import warnings

import numpy as np
import pytest
from processes import PACKAGE

import numtape as tf
from numtape.core.replay.observe.ownership import _PROGRAM_LIKE_FILES

# Reasons why recorded functions cannot miss a change.
CACHE = "results are the same with and without it"
NEW = "it belongs to an object that was just made, before anybody else has it"
LOG = "it is a part of recording: logs, tapes and functions themselves"
MEASURE = "profiles and tracebacks show it; results do not depend on it"
COMPARED = "who reads it calls `depends`, and who sets it refuses"
INPUT = "each replay reads it again, and moves it on"
COLLECTIVE = "it belongs to the transfers of collectives, which each replay starts again"
JOINED = "it is set once, and functions that need it raise an error before"
REFUSED = "who reads it or sets it in a recorded call makes the call run as Python"
FILES = "what sets it reads or writes files, which is refused"
REFUSED = "functions that read it run as Python"

STATE = {
    "train/options.py": {"copied.experimental_write_callbacks": NEW},
    "summary/__init__.py": {"state.condition": COMPARED},
    "summary/experimental.py": {"state.step": COMPARED},
    "summary/tensorboard.py": {
        "self._is_closed": FILES,
        "state.step": COMPARED,
        "state.writer": COMPARED,
    },
    "tensor_array.py": {
        "self._cleared": COMPARED,
        "self._element_shape": COMPARED,
        "self._elements": COMPARED,
    },
    "lookup/tables.py": {
        "self._index": REFUSED,
        "self._items": REFUSED,
        "self._sorted": NEW,
        "self._values": REFUSED,
    },
    "debugging/assertions.py": {
        "check.__doc__": NEW,
        "check.__name__": NEW,
        "check.__qualname__": NEW,
    },
    "array_api/define.py": {
        "call.__doc__": NEW,
        "call.__module__": NEW,
        "call.__name__": NEW,
        "call.__qualname__": NEW,
    },
    "autodiff.py": {
        "self._waiting": LOG,
        "self._tangents": LOG,
        "log.eager": LOG,
    },
    "compat/argument_errors.py": {"_DONE": CACHE},
    "compat/docstrings.py": {"obj.__doc__": NEW},
    "composites/ragged_elementwise.py": {"call.__name__": NEW},
    "composites/ragged_tensor.py": {
        "result._passed": NEW,
        "self._partition": NEW,
        "self._passed": NEW,
        "self._row_splits": NEW,
        "self._values": NEW,
    },
    "composites/sparse_tensor.py": {
        "self._dense_shape": NEW,
        "self._indices": NEW,
        "self._sizes": NEW,
        "self._values": NEW,
    },
    "io/gfile.py": {"self._open_file": FILES},
    "config/__init__.py": {
        "settings.run_eagerly": COMPARED,
        "settings.eager": COMPARED,
    },
    "config/experimental.py": {
        "settings.nondeterministic_scatter": COMPARED,
        "settings.tensor_float_32": COMPARED,
    },
    "custom_gradients.py": {"self.noted": LOG, "successor.noted": NEW, "local.log": LOG},
    "data/ahead.py": {
        "channel.is_finished": INPUT,
        "channel.items": INPUT,
        "self._channel.items": INPUT,
        "self._stream.number": INPUT,
        "self.is_stopped": INPUT,
        "self.items": INPUT,
        "self.number": INPUT,
        "self.process": INPUT,
        "self.thread": INPUT,
        "self.waiting": INPUT,
    },
    "data/dataset.py": {
        "dataset._count": NEW,
        "dataset._has_spec": NEW,
        "dataset._kind": NEW,
        "dataset._parts": NEW,
        "dataset._spec": NEW,
    },
    "data/files.py": {
        "dataset._has_spec": NEW,
        "dataset._spec": NEW,
        "self._kind": NEW,
        "self._records": INPUT,
        "self.has_failed": INPUT,
        "self.number": INPUT,
    },
    "data/pipeline.py": {
        "_peek.is_active": CACHE,
        "dataset._begin": NEW,
        "dataset._count": NEW,
        "dataset._has_spec": NEW,
        "dataset._inputs": NEW,
        "dataset._is_computed": NEW,
        "dataset._kind": NEW,
        "dataset._own_options": NEW,
        "dataset._spec": NEW,
        "dataset._token": NEW,
        "dataset._waiting": NEW,
        "self._arrays": NEW,
        "self._begin": NEW,
        "self._has_spec": CACHE,
        "self._iterations": INPUT,
        "self._order": NEW,
        "self._source": INPUT,
        "self._spec": CACHE,
        "self._waiting": INPUT,
        "self.key": INPUT,
    },
    "data/saving.py": {
        "self.is_reading": INPUT,
        "self.number": INPUT,
        "self.position": INPUT,
        "self.sources": INPUT,
    },
    "data/source.py": {
        "_threads.log": LOG,
        "_threads.log.has_reads": LOG,
        "local.journal": LOG,
        "local.log": LOG,
        "self._elements": INPUT,
        "self._entries": INPUT,
        "self._pending_elements": INPUT,
        "self._restored": INPUT,
        "self.has_reads": LOG,
        "self.taken": INPUT,
    },
    "data/stages.py": {
        "self._block_state": INPUT,
        "self._current": INPUT,
        "self._items": INPUT,
        "self._iterator": INPUT,
        "self._numbers": INPUT,
        "self._open": INPUT,
        "self._random.bit_generator.state": INPUT,
        "self.buffer": INPUT,
        "self.carried": INPUT,
        "self.count": INPUT,
        "self.counts": INPUT,
        "self.element": INPUT,
        "self.exhausted": INPUT,
        "self.groups": INPUT,
        "self.index": INPUT,
        "self.is_done": INPUT,
        "self.is_draining": INPUT,
        "self.is_empty": INPUT,
        "self.is_exhausted": INPUT,
        "self.is_reading": INPUT,
        "self.items": INPUT,
        "self.next": INPUT,
        "self.number": INPUT,
        "self.position": INPUT,
        "self.random.bit_generator.state": INPUT,
        "self.seen": INPUT,
        "self.slot": INPUT,
        "self.sources": INPUT,
        "self.states": INPUT,
        "self.template": INPUT,
        "self.to_skip": INPUT,
        "self.window": INPUT,
    },
    "data/structure.py": {
        "optional._has_value": NEW,
        "optional._spec": NEW,
        "optional._value": NEW,
    },
    "distribute/callback.py": {"self._is_broadcast": "callbacks run outside of recorded steps"},
    "distribute/collectives.py": {
        "home.eager": LOG,
        **dict.fromkeys(["job.results", "self.count", "self.number", "self.results"], NEW),
    },
    "distribute/engine.py": dict.fromkeys(
        [
            "self._ended",
            "self._failure",
            "self._free_buffers",
            "self._half_ops",
            "self._is_waiting",
            "self._replies",
            "self._sends",
            "self._stopped",
            "self._transfers",
            "self._wake",
            "self.log",
            "self.started",
            "transfer.descriptions",
            "transfer.memory",
            "transfer.pending",
            "transfer.result",
            "transfer.rows",
            "transfer.state",
            "transfer.times",
        ],
        COLLECTIVE,
    ),
    "distribute/gradients.py": {
        "optimizer._nt_reducer": COMPARED,
        "optimizer.gradient_accumulation_steps": COMPARED,
    },
    "distribute/nccl.py": dict.fromkeys(
        [
            "at.host",
            "self._is_waited_for",
            "self._moved",
            "self._packed",
            "self._received",
            "self.result_size",
        ],
        COLLECTIVE,
    ),
    "distribute/process_group.py": dict.fromkeys(
        [
            "_engine",
            "_next_number",
            "_thread",
            "_why_not_nccl",
            "dispatch.after_failed_call",
            "settings.gpu_number",
        ],
        JOINED,
    ),
    "function/control_flow.py": {"local.scope": COMPARED, "self._before": COMPARED},
    "function/function.py": dict.fromkeys(
        [
            "calls.python_calls",
            "_signatures",
            "recent.calls",
            "recent.warnings",
            "self._concrete",
            "leaves.copies_containers",
            "log.reason",
            "bound_function._attribute",
            "copy_._attribute",
            "bound_function._limit",
            "variant._known",
            "variant._plain",
            "variant._training",
            "method.__self__",
            "self._attribute",
            "self._limit.reason",
            "self._known",
            "self._plain",
            "self._repeated_call",
            "self._trained",
        ],
        LOG,
    ),
    "tape.py": {
        **dict.fromkeys(
            [
                "local.log",
                "log.busy",
                "log.eager",
                "recalled.recording",
                "self._tape",
                "self._watched",
                "tape.recalled_adjoints",
                "tape.unconnected",
            ],
            LOG,
        ),
        "_warned": MEASURE,
    },
    "kernel/kernel.py": dict.fromkeys(
        [
            "self._call",
            "self._gradients",
            "self._jacobians",
            "self._max_number",
            "self._rule",
            "self._runs",
            "self._watched",
        ],
        CACHE,
    ),
    "kernel/grad.py": {"self._jitted": CACHE, "self._last_gradient": CACHE},
    "kernel/pickling.py": {
        "_kernels": CACHE,
        "kernel._key": CACHE,
        "kernel._rule": CACHE,
        "linecache.cache": MEASURE,
        "function.__code__": CACHE,
        "function.__qualname__": CACHE,
        "kernel._sources": CACHE,
    },
    "function/pickling.py": dict.fromkeys(
        [
            "copy.__doc__",
            "copy.__kwdefaults__",
            "copy.__module__",
            "copy.__qualname__",
            "function.__qualname__",
        ],
        NEW,
    ),
    "config/devices.py": {
        "_before.stack": LOG,
        "_gpu_is_hidden": COMPARED,
        "_soft_placement": COMPARED,
    },
    "config/logical.py": {"_configurations": COMPARED, "_visible": COMPARED},
    "function/signature.py": dict.fromkeys(
        [
            "self._all_positional",
            "self._defaults",
            "self._known",
            "self._positional",
            "self.value_defaults",
            "self.signature",
        ],
        NEW,
    ),
    "compat/traceback_filter.py": {
        "_state": COMPARED,
        **dict.fromkeys(
            [
                "error.__traceback__",
                "frame.tb_next",
                "chained.__suppress_context__",
            ],
            MEASURE,
        ),
    },
    "io/messages.py": {
        "cls.__signature__": NEW,
        "part._parent": NEW,
        "self._content": REFUSED,
        "self._is_set": REFUSED,
    },
    "io/records.py": {
        "self._file": FILES,
        "self._rest": FILES,
    },
    "train/checkpoint.py": {"self._save_counter": CACHE},
    "train/manager.py": {
        "self._last_step": FILES,
        "self._latest": COMPARED,
        "self._preserved": FILES,
        "self._times": COMPARED,
    },
    "train/restoring.py": {"self.unused": FILES},
}
MUTATORS = {
    "add",
    "append",
    "appendleft",
    "clear",
    "discard",
    "extend",
    "insert",
    "move_to_end",
    "pop",
    "popitem",
    "popleft",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "update",
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _targets(node):
    if isinstance(node, ast.Assign):
        left = [*node.targets]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        left = [node.target]
    elif isinstance(node, ast.Delete):
        left = [*node.targets]
    elif isinstance(node, ast.For | ast.comprehension):
        left = [node.target]
    elif isinstance(node, ast.withitem):
        left = [node.optional_vars]
    elif isinstance(node, ast.NamedExpr):
        left = [node.target]
    else:
        return
    while left:
        target = left.pop()
        if isinstance(target, ast.Tuple | ast.List):
            left += target.elts
        elif isinstance(target, ast.Starred):
            left.append(target.value)
        elif target is not None:
            yield target


def _state_of(tree):
    """Attributes and module globals that a module sets or changes outside of `__init__`."""
    names = {
        node.id
        for statement in tree.body
        if not isinstance(statement, (*FUNCTIONS, ast.ClassDef))
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    found = set()

    def holder(node):
        while isinstance(node, ast.Subscript):
            node = node.value
        return node

    def visit(node, inside):
        if isinstance(node, FUNCTIONS):
            inside = node.name
        if inside not in ("", "__init__"):
            if isinstance(node, ast.Global):
                found.update(node.names)
            held = [(x, holder(x)) for x in _targets(node)]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in MUTATORS:
                    held.append((None, holder(node.func.value)))
            for x, of in held:
                if isinstance(of, ast.Attribute) or (
                    isinstance(of, ast.Name) and of is not x and of.id in names
                ):
                    found.add(ast.unparse(of))
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(tree, "")
    return found


def _is_observed(path):
    """Whether reads by a module are observed, as those of a program are."""
    return str(path).startswith(_PROGRAM_LIKE_FILES)


@pytest.mark.numtape_only("reads the source")
def test_all_state_is_classified():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(("core/", "kernels/", "profiling/")) or _is_observed(path):
            continue
        state = _state_of(ast.parse(path.read_text("utf-8")))
        if state:
            found[name] = state
    missing = {name: state - set(STATE.get(name, ())) for name, state in found.items()}
    assert not {name: state for name, state in missing.items() if state}, (
        "say in STATE why a recorded function cannot miss that these change"
    )
    gone = {name: set(state) - found.get(name, set()) for name, state in STATE.items()}
    assert not {name: state for name, state in gone.items() if state}


def test_the_search_finds_state():
    source = """
known, table = [], {}
class A:
    def __init__(self):
        self.a = 1
    def f(self):
        global total
        self.b, (self.c, *self.d) = 1, (2, 3)
        self.e[0] += 1
        self.g.append(1)
        for self.h in table:
            known.append(1)
        table[1] = 2
        local = []
        local.append(1)
        with open(1) as self.i:
            del self.j
"""
    expected = "total self.b self.c self.d self.e self.g self.h known table self.i self.j"
    assert _state_of(ast.parse(source)) == set(expected.split())


# State that a function reads, and a change outside of the function.


def _manager(folder):
    v = tf.Variable(1.0)
    return tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(folder), 2), v


def _latest(folder):
    manager, _ = _manager(folder)
    return lambda x: (manager.latest_checkpoint or "/none")[-6:], lambda k: manager.save()


def _checkpoints(folder):
    manager, _ = _manager(folder)
    return lambda x: [name[-6:] for name in manager.checkpoints], lambda k: manager.save()


def _saves(folder):
    manager, v = _manager(folder)

    def f(x):
        v.assign_add(x)
        manager.save()
        return x * len(os.listdir(folder))

    return f, lambda k: None


def _latest_of_folder(folder):
    manager, _ = _manager(folder)
    return lambda x: (tf.train.latest_checkpoint(str(folder)) or "/none")[-6:], (
        lambda k: manager.save()
    )


def _reads(folder):
    v = tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.write(str(folder / "a"))

    def f(x):
        checkpoint.read(path)
        return v.assign_add(x) + 0

    return f, lambda k: v.assign(9.0)


def _switch(read, write):
    def case(folder):
        write(True)
        return lambda x: x * (1.0 + read()), lambda k: write(bool(k % 2))

    return case


def _sets_switch(folder):
    def f(x):
        tf.config.set_soft_device_placement(False)
        return x * (1.0 + tf.config.get_soft_device_placement())

    return f, lambda k: tf.config.set_soft_device_placement(True)


def _name_scope(folder):
    def f(x):
        with tf.name_scope("inner") as scope:
            return scope

    return f, lambda k: None


def _generator(folder):
    tf.random.set_global_generator(tf.random.Generator.from_seed(7))
    return lambda x: x + tf.random.get_global_generator().uniform([]), (
        lambda k: tf.random.set_global_generator(tf.random.Generator.from_seed(k // 2))
    )


def _sets_generator(folder):
    def f(x):
        tf.random.set_global_generator(tf.random.Generator.from_seed(3))
        return tf.random.get_global_generator().uniform([]) * x

    return f, lambda k: None


def _reset_generator(folder):
    generator = tf.random.Generator.from_seed(2)
    return lambda x: x * generator.uniform([]), lambda k: generator.reset_from_seed(k // 2)


def _seed(folder):
    return lambda x: x * tf.random.uniform([]), lambda k: tf.random.set_seed(k // 2)


def _seed_generator(folder):
    layer = tf.keras.layers.Dropout(0.5, seed=1)
    return lambda x: layer(x * tf.ones(8), training=True), lambda k: setattr(
        layer, "rate", [0.1, 0.9][k % 2]
    )


def _trainable(folder):
    layer = tf.keras.layers.Dense(2)
    layer.build((None, 3))
    return lambda x: x * len(layer.trainable_variables), lambda k: setattr(
        layer, "trainable", bool(k % 2)
    )


def _moments(folder):
    layer = tf.keras.layers.BatchNormalization()
    layer.build((None, 1))
    data = tf.constant([[1.0], [3.0], [8.0]])
    return lambda x: layer(x * data, training=True), lambda k: setattr(
        layer, "trainable", bool(k % 2)
    )


def _optimizer(name, value):
    def case(folder):
        optimizer, v = tf.keras.optimizers.SGD(0.1, momentum=0.5, clipnorm=5.0), tf.Variable(1.0)

        def f(x):
            optimizer.apply_gradients([(9.0 * x, v)])
            return v + 0

        return f, lambda k: setattr(optimizer, name, value(k))

    return case


def _schedule(folder):
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    return lambda x: schedule(x), lambda k: setattr(schedule, "decay_rate", 0.1 * k + 0.1)


def _iterations(folder):
    optimizer, v = tf.keras.optimizers.Adam(0.1), tf.Variable(1.0)

    def f(x):
        optimizer.apply_gradients([(x, v)])
        return optimizer.iterations + 0

    return f, lambda k: optimizer.iterations.assign(7 * k)


def _metric(folder):
    metric = tf.keras.metrics.Mean()

    def f(x):
        metric.update_state(x)
        return metric.result()

    return f, lambda k: metric.reset_state() if k % 2 else None


def _compiled(folder):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.build((None, 2))
    model.compile("sgd", "mse")
    return lambda x: x * model.optimizer.learning_rate, lambda k: model.compile(
        tf.keras.optimizers.SGD(0.1 * k), "mse"
    )


def _callback(folder):
    stopping = tf.keras.callbacks.EarlyStopping(patience=1)
    return lambda x: x * stopping.patience, lambda k: setattr(stopping, "patience", k)


def _tracked(folder):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(2.0))
    return lambda x: checkpoint.v * x, lambda k: setattr(checkpoint, "v", tf.Variable(float(k)))


def _module(folder):
    module = tf.Module()
    module.scale = 1.0
    return lambda x: module.scale * x, lambda k: setattr(module, "scale", float(k))


def _paths(folder):
    inner = tf.function(lambda x: 2.0 * x)
    return lambda x: x * len(inner.paths()), lambda k: inner(tf.ones(k + 2))


def _options(folder):
    options = tf.data.Options()
    return lambda x: str(options.deterministic), lambda k: setattr(
        options, "deterministic", bool(k % 2)
    )


def _initializer(folder):
    initializer = tf.keras.initializers.GlorotUniform(seed=3)
    return lambda x: x * initializer([2, 2]), lambda k: setattr(initializer, "seed", k)


def _loss(folder):
    loss = tf.keras.losses.Huber()
    return lambda x: loss([9.0 * x, x], [x, x]), lambda k: setattr(
        loss, "reduction", ["sum", "none"][k % 2]
    )


def _names(folder):
    def f(x):
        tf.keras.backend.clear_session()
        return tf.keras.layers.ReLU().name

    return f, lambda k: tf.keras.layers.ReLU()


# Settings of NumPy and Python.

OUTSIDE = np.array([1.0, 0.23456789])


def _print_options(read):
    def case(folder):
        return lambda x: read(x), lambda k: np.set_printoptions(precision=k + 1)

    return case


def _sets_print_options(folder):
    def f(x):
        np.set_printoptions(precision=3)
        return x

    return f, lambda k: np.set_printoptions(precision=8)


def _divides(divide):
    def case(folder):
        def f(x):
            try:
                divide(OUTSIDE)
            except FloatingPointError:
                return x + 1
            return x

        return f, lambda k: np.seterr(divide=["raise", "ignore"][k % 2])

    return case


def _sets_errors(folder):
    def f(x):
        np.seterr(divide="raise")
        return x

    return f, lambda k: np.seterr(divide="ignore")


def _with_errors(folder):
    def f(x):
        with np.errstate(divide="raise"):
            return _divides(lambda a: 1 / (a - a))(None)[0](x)

    return f, lambda k: None


def _warns(folder):
    def f(x):
        try:
            warnings.warn("a warning", UserWarning, stacklevel=1)
        except UserWarning:
            return x + 1
        return x

    return f, lambda k: warnings.simplefilter(["error", "ignore"][k % 2], UserWarning)


def _catches(folder):
    def f(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("a warning", UserWarning, stacklevel=1)
        return x + len(caught)

    return f, lambda k: None


def _sets_filters(folder):
    def f(x):
        warnings.simplefilter("error", UserWarning)
        return x

    return f, lambda k: warnings.simplefilter("ignore", UserWarning)


def _filters(folder):
    kinds = [UserWarning, BytesWarning, DeprecationWarning, ImportWarning, FutureWarning, Warning]
    return lambda x: x + len(warnings.filters), lambda k: warnings.simplefilter("ignore", kinds[k])


CASES = {
    "latest checkpoint": _latest,
    "checkpoints": _checkpoints,
    "saving": _saves,
    "latest checkpoint of a folder": _latest_of_folder,
    "reading a checkpoint": _reads,
    "functions run eagerly": _switch(
        lambda: tf.config.functions_run_eagerly(), tf.config.run_functions_eagerly
    ),
    "soft placement": _switch(
        lambda: tf.config.get_soft_device_placement(), tf.config.set_soft_device_placement
    ),
    "traceback filtering": _switch(
        lambda: tf.debugging.is_traceback_filtering_enabled(),
        lambda on: (
            tf.debugging.enable_traceback_filtering
            if on
            else tf.debugging.disable_traceback_filtering
        )(),
    ),
    "tensor float": _switch(
        lambda: tf.config.experimental.tensor_float_32_execution_enabled(),
        lambda on: tf.config.experimental.enable_tensor_float_32_execution(on),
    ),
    "setting a switch": _sets_switch,
    "name scope": _name_scope,
    "global generator": _generator,
    "setting the generator": _sets_generator,
    "generator": _reset_generator,
    "seed": _seed,
    "dropout": _seed_generator,
    "trainable": _trainable,
    "moments": _moments,
    "learning rate": _optimizer("learning_rate", lambda k: 0.1 * k),
    "clipnorm": _optimizer("clipnorm", lambda k: 0.1 * k + 0.1),
    "momentum": _optimizer("momentum", lambda k: 0.1 * k),
    "schedule": _schedule,
    "iterations": _iterations,
    "metric": _metric,
    "compile": _compiled,
    "callback": _callback,
    "checkpoint attribute": _tracked,
    "module": _module,
    "paths": _paths,
    "options": _options,
    "initializer": _initializer,
    "loss": _loss,
    "layer names": _names,
    "repr of a tensor": _print_options(lambda x: repr(x * OUTSIDE[1] * tf.ones(3))),
    "str of a tensor": _print_options(lambda x: str(x * OUTSIDE[1] * tf.ones(3))),
    "format of a tensor": _print_options(lambda x: f"{x * OUTSIDE[1] * tf.ones(3)}"),
    "repr of a variable": _print_options(lambda x: repr(VARIABLE)),
    "str of an array": _print_options(lambda x: str(OUTSIDE)),
    "print options": _print_options(lambda x: x * np.get_printoptions()["precision"]),
    "setting print options": _sets_print_options,
    "errors of an operator": _divides(lambda a: 1 / (a - a)),
    "errors of a number": _divides(lambda a: a[0] / (a[0] - a[0])),
    "errors of a function": _divides(lambda a: np.divide(a, a - a)),
    "errors in place": _divides(lambda a: np.reciprocal(a - a)),
    "setting errors": _sets_errors,
    "errstate": _with_errors,
    "warning": _warns,
    "catching warnings": _catches,
    "setting filters": _sets_filters,
    "filters": _filters,
}
VARIABLE = tf.Variable([0.123456789, 2.0])


def _state():
    """The settings of Python and NumPy that the function can change."""
    return np.geterr(), np.get_printoptions()["precision"], warnings.filters[0][:3]


@pytest.fixture
def settings():
    """Restore all settings after the test."""
    errors, options = np.geterr(), np.get_printoptions()
    with warnings.catch_warnings():
        yield
    np.seterr(**errors)
    np.set_printoptions(**options)
    tf.config.run_functions_eagerly(False)
    tf.config.set_soft_device_placement(True)
    tf.config.experimental.enable_tensor_float_32_execution(True)
    tf.debugging.enable_traceback_filtering()


@pytest.mark.parametrize("name", CASES)
def test_recorded_functions_see_state_change(name, settings, tmp_path):
    errors, options = np.geterr(), np.get_printoptions()
    rows = []
    for k, wrap in enumerate((lambda f: f, tf.function)):
        folder = tmp_path / str(k)
        folder.mkdir()
        np.seterr(**errors)
        np.set_printoptions(**options)
        row = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tf.random.set_seed(0)
            tf.keras.backend.clear_session()
            f, change = CASES[name](folder)
            f = wrap(f)
            for call in range(6):
                with tf.name_scope(f"outer{call // 2}"):
                    found = f(tf.constant(1.0))
                row += [tf.nest.map_structure(_plain, found), _state()]
                change(call)
        rows.append(row)
    np.testing.assert_equal(rows[1], rows[0])


def _plain(x):
    return x if isinstance(x, str) else np.asarray(x).astype(float).tolist()
