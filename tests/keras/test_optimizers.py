"""Optimizers and schedules: against formulas in NumPy, and against an installed Keras."""

import copy
import importlib.util
import inspect
import os
import pickle

import numpy as np
import optimizer_formulas as formulas
import pytest
from log_queries import fresh_log

OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"learning_rate": 0.1, "clipnorm": 1.0}),
    ("SGD", {"learning_rate": 0.1, "clipvalue": 0.5}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.5, "global_clipnorm": 1.5}),
    ("SGD", {"learning_rate": 0.1, "weight_decay": 0.5, "loss_scale_factor": 4.0}),
    ("SGD", {"learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.5}),
    ("RMSprop", {}),
    ("RMSprop", {"rho": 0.5, "momentum": 0.5, "centered": True}),
    ("Adam", {}),
    ("Adam", {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.9, "amsgrad": True}),
    ("Adam", {"learning_rate": 0.1, "gradient_accumulation_steps": 2, "clipnorm": 1.0}),
    (
        "Adam",
        {
            "learning_rate": 0.1,
            "use_ema": True,
            "ema_momentum": 0.5,
            "ema_overwrite_frequency": 2,
            "gradient_accumulation_steps": 2,
        },
    ),
    ("AdamW", {}),
    ("AdamW", {"learning_rate": 0.1, "weight_decay": 0.3}),
    ("Adamax", {}),
    ("Nadam", {}),
    ("Nadam", {"learning_rate": 0.1, "gradient_accumulation_steps": 2}),
    ("Adagrad", {}),
    ("Adadelta", {}),
    ("Adadelta", {"learning_rate": 1.0, "rho": 0.5, "epsilon": 1e-2}),
    ("Ftrl", {}),
    (
        "Ftrl",
        {
            "learning_rate": 0.1,
            "learning_rate_power": -0.25,
            "beta": 0.5,
            "l1_regularization_strength": 1.0,
            "l2_regularization_strength": 0.1,
            "l2_shrinkage_regularization_strength": 0.1,
        },
    ),
    ("Lion", {}),
    ("Lion", {"learning_rate": 0.1, "weight_decay": 0.1}),
    ("Adafactor", {"learning_rate": 0.1}),
    ("Adafactor", {"learning_rate": 0.9, "relative_step": False, "clip_threshold": 0.5}),
    ("Lamb", {"learning_rate": 0.1}),
    ("ScheduleFreeAdamW", {"learning_rate": 0.1, "warmup_steps": 3}),
    ("Muon", {"learning_rate": 0.1}),
    ("Muon", {"learning_rate": 0.1, "nesterov": False, "rms_rate": None}),
]
SCHEDULES = [
    ("ExponentialDecay", (0.5, 3, 0.7), {}, formulas.exponential),
    ("ExponentialDecay", (0.5, 3, 0.7), {"staircase": True}, formulas.exponential),
    ("PiecewiseConstantDecay", ([2, 4, 7], [0.5, 0.25, 0.125, 0.1]), {}, formulas.piecewise),
    ("PiecewiseConstantDecay", ([3], [0.5, 0.25]), {}, formulas.piecewise),
    ("PolynomialDecay", (0.5, 4), {}, formulas.polynomial),
    ("PolynomialDecay", (0.5, 4, 0.1, 2.0), {"cycle": True}, formulas.polynomial),
    ("InverseTimeDecay", (0.5, 3, 0.7), {}, formulas.inverse_time),
    ("InverseTimeDecay", (0.5, 3, 0.7), {"staircase": True}, formulas.inverse_time),
    ("CosineDecay", (0.5, 5), {}, formulas.cosine),
    ("CosineDecay", (0.1, 5, 0.1), {"warmup_target": 0.5, "warmup_steps": 3}, formulas.cosine),
    ("CosineDecay", (0.1, 5), {"warmup_target": 0.5}, formulas.cosine),
    ("CosineDecayRestarts", (0.5, 2), {}, formulas.restarts),
    ("CosineDecayRestarts", (0.5, 3, 1.0, 0.5, 0.1), {}, formulas.restarts),
    ("CosineDecayRestarts", (0.5, 2, 3.0, 0.5), {}, formulas.restarts),
]
optimizers = pytest.mark.parametrize(
    "name, options", OPTIMIZERS, ids=lambda x: x if isinstance(x, str) else ",".join(x)
)
schedules = pytest.mark.parametrize(
    "name, arguments, options, formula", SCHEDULES, ids=lambda x: x if isinstance(x, str) else ""
)
BASES = {"Optimizer", "LearningRateSchedule"}
WRAPPERS = {"LossScaleOptimizer", "MultiOptimizer", "OptimizerMap"}
ours_only = pytest.mark.numtape_only

random = np.random.default_rng(0)
START = [random.normal(size=(3, 2)), random.normal(size=3)]
STEPS = [[random.normal(size=x.shape) * 2.0 for x in START] for _ in range(5)]


def made(tf, name, options):
    return getattr(tf.keras.optimizers, name)(**options)


def variables_of(tf, dtype="float32"):
    return [tf.Variable(x, dtype=dtype) for x in START]


def walk(tf, optimizer, dtype="float32", steps=STEPS, replayed=False):
    """The values of variables after each step."""
    variables = variables_of(tf, dtype)

    def step(*gradients):
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    step = tf.function(step) if replayed else step
    for gradients in steps:
        step(*(g if isinstance(g, tf.IndexedSlices) else tf.constant(g, dtype) for g in gradients))
        yield [v.numpy() for v in variables]


def close(found, wanted, rtol):
    for a, b in zip(found, wanted, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


@ours_only("of numtape's names")
def test_each_has_a_row(tf):
    known = {
        n for n in tf.keras.optimizers.__all__ if inspect.isclass(getattr(tf.keras.optimizers, n))
    }
    assert known - BASES - WRAPPERS == {name for name, _ in OPTIMIZERS}
    plans = tf.keras.optimizers.schedules
    known = {n for n in plans.__all__ if inspect.isclass(getattr(plans, n))}
    assert known - BASES == {name for name, *_ in SCHEDULES}


@optimizers
def test_steps_are_those_of_the_formula(tf, name, options):
    wanted = list(formulas.positions(name, options, START, STEPS))
    # Differences such as 1 - 0.999 lose up to four digits.
    rtol = 2e-4 if name == "RMSprop" and options.get("centered") else 2e-5
    close(walk(tf, made(tf, name, options)), wanted, rtol)
    if tf.__name__ == "numtape":  # Keras stores its betas in float32
        close(walk(tf, made(tf, name, options), "float64"), wanted, 1e-12)


@ours_only("TensorFlow's functions compute other bits")
@optimizers
def test_replayed_steps_have_the_bits_of_python(tf, name, options):
    found, again = made(tf, name, options), made(tf, name, options)
    for a, b in zip(walk(tf, found), walk(tf, again, replayed=True), strict=True):
        assert [x.tobytes() for x in a] == [x.tobytes() for x in b]
    for a, b in zip(found.variables, again.variables, strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


@schedules
def test_schedules(tf, name, arguments, options, formula):
    schedule = getattr(tf.keras.optimizers.schedules, name)(*arguments, **options)
    wanted = [formula(step, *arguments, **options) for step in range(13)]
    found = [schedule(tf.constant(step, "int64")) for step in range(13)]
    assert {x.dtype.name for x in found} == {"float32"}
    np.testing.assert_allclose([float(x) for x in found], wanted, rtol=2e-6, atol=1e-7)


@schedules
def test_replayed_steps_follow_the_schedule(tf, name, arguments, options, formula):
    schedule = getattr(tf.keras.optimizers.schedules, name)(*arguments, **options)
    optimizer, v = tf.keras.optimizers.SGD(schedule), tf.Variable(0.0)

    @tf.function
    def step():
        optimizer.apply_gradients([(tf.constant(-1.0), v)])
        return optimizer.learning_rate

    place = 0.0
    for k in range(8):
        rate = float(step())
        assert rate == pytest.approx(formula(k + 1, *arguments, **options), rel=2e-6, abs=1e-7)
        place += formula(k, *arguments, **options)
        assert float(v) == pytest.approx(place, rel=2e-6)
    assert len(optimizer.variables) == 1
    with pytest.raises(TypeError, match="not settable"):
        optimizer.learning_rate = 0.1


@ours_only("Keras squares repeated slices one by one")
@optimizers
def test_slices_do_what_their_tensor_does(tf, name, options):
    def slices(g):
        indices = np.array([2, 0, 2])
        return tf.IndexedSlices(tf.constant(g, "float32"), tf.constant(indices), None)

    def whole(g):
        g = g.astype("f4")
        return np.stack([g[1], np.zeros_like(g[0]), g[0] + g[2]])

    sparse = [[slices(g) for g in step] for step in STEPS]
    dense = [[whole(g) for g in step] for step in STEPS]
    found, wanted = (list(walk(tf, made(tf, name, options), steps=s)) for s in (sparse, dense))
    close(found, wanted, 3e-7)
    if not {"momentum", "weight_decay", "gradient_accumulation_steps"} & options.keys() and (
        name in ("SGD", "RMSprop", "Adagrad", "Adadelta")
    ):
        for x, start in zip(found[-1], START, strict=True):  # without a gradient, no update
            np.testing.assert_array_equal(x[1], start.astype("f4")[1])


# --- Errors ---------------------------------------------------------------------------------------


def untouched(tf, optimizer, variables, before):
    assert int(optimizer._nt_iterations) == 0
    for v, x in zip(variables, before, strict=True):
        np.testing.assert_array_equal(v.numpy(), x)


@ours_only("Keras's messages differ, and some are of another class")
def test_errors_change_nothing(tf):
    v, w = variables_of(tf)
    v2 = tf.Variable([1.0, 2.0], name="other")
    before = [v.numpy(), w.numpy()]
    gradients = [tf.ones_like(v), tf.ones_like(w)]
    optimizer = made(tf, "Adam", {})
    for pairs, kind, match in [
        ([(None, v), (None, w)], ValueError, r"No gradients.*\['Variable:0', 'Variable:0'\]"),
        ([], ValueError, "No gradients"),
        ([(v, gradients[0])], TypeError, r"zip\(gradients, variables\)"),
        ([(gradients[0], gradients[0])], TypeError, "not a variable"),
        ([v, w], TypeError, "pairs"),
    ]:
        with pytest.raises(kind, match=match) as caught:
            optimizer.apply_gradients(pairs)
        assert "model.compile" not in str(caught.value)
        untouched(tf, optimizer, [v, w], before)
        assert not optimizer.built
    with pytest.raises(ValueError, match=r"Call `optimizer.build\(trainable_variables\)` first"):
        optimizer.apply(gradients)
    optimizer.apply([])
    optimizer.build([v, w])
    wrong = tf.IndexedSlices(tf.ones((1, 2)), tf.constant([7]))
    for arguments, kind, match in [
        (([gradients[0], tf.ones(5)],), tf.errors.InvalidArgumentError, "shapes must be equal"),
        (([gradients[0]],), ValueError, "does not match"),
        (([tf.ones(2)], [v2]), ValueError, "Unknown variable.*other"),
        (([wrong], [v]), tf.errors.InvalidArgumentError, "7"),
    ]:
        with pytest.raises(kind, match=match):
            optimizer.apply(*arguments)
            v.numpy()
        untouched(tf, optimizer, [v, w], before)
    with pytest.warns(UserWarning, match=r"Gradients do not exist for variables \['Variable:0'\]"):
        optimizer.apply([gradients[0], None])


@ours_only("Keras stops between variables")
@pytest.mark.parametrize("kind", ["constraint", "update_step"])
def test_a_step_that_raises_changes_nothing(tf, kind):
    def stop(*_):
        raise RuntimeError("stop")

    class Broken(tf.keras.optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(gradient, variable, learning_rate)
            if variable is w:
                stop()

    make = Broken if kind == "update_step" else tf.keras.optimizers.SGD
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable(3.0, constraint=stop if kind == "constraint" else None)
    optimizer = make(0.1, momentum=0.5)
    with pytest.raises(RuntimeError, match="stop"):
        optimizer.apply([tf.ones(2), tf.constant(1.0)], [v, w])
    np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])
    assert [np.abs(x.numpy()).sum() for x in optimizer.variables[2:]] == [0.0, 0.0]
    assert int(optimizer.iterations) == 0


@pytest.mark.parametrize(
    "name, options, match",
    [
        ("SGD", {"learning_rate": 1}, "should be float"),
        ("SGD", {"learning_rate": "x"}, "float"),
        ("SGD", {"momentum": 1}, r"\[0, 1\]"),
        ("SGD", {"momentum": 1.5}, r"\[0, 1\]"),
        ("SGD", {"clipnorm": 1.0, "clipvalue": 1.0}, "Only one of"),
        ("SGD", {"gradient_accumulation_steps": 1}, ">= 2"),
        ("SGD", {"use_ema": True, "ema_momentum": 2.0}, r"\[0, 1\]"),
        ("SGD", {"use_ema": True, "ema_overwrite_frequency": 0.5}, "integer >= 1"),
        ("AdamW", {"weight_decay": None}, "must be a float"),
        ("SGD", {"clipnorm": "x"}, "a number"),
        ("Adam", {"beta_1": [0.5]}, "`beta_1` must be a number"),
        ("Lion", {"beta_1": 0.0}, "beta_1"),
        ("Ftrl", {"learning_rate_power": 0.5}, "negative or zero"),
        ("Ftrl", {"l1_regularization_strength": -1.0}, "l1_reg"),
    ],
)
def test_arguments_that_are_refused(tf, name, options, match):
    with pytest.raises(ValueError, match=match):
        made(tf, name, options)


def test_schedules_that_are_refused(tf):
    plans = tf.keras.optimizers.schedules
    with pytest.raises(ValueError, match="must be > 0"):
        plans.ExponentialDecay(0.1, 0, 0.5)
    with pytest.raises(ValueError, match="1 less than"):
        plans.PiecewiseConstantDecay([1], [0.1])
    with pytest.raises(NotImplementedError, match="must override"):
        plans.LearningRateSchedule()(0)


# --- Configs, saving, copying ---------------------------------------------------------------------


@optimizers
def test_configs(tf, name, options):
    optimizers = tf.keras.optimizers
    optimizer = made(tf, name, options)
    config = optimizer.get_config()
    base = {**formulas.BASE, **formulas.DEFAULTS[name], **options}
    assert set(config) == {*base, "name"}
    for key, value in base.items():
        assert config[key] == (float(np.float32(value)) if key == "learning_rate" else value)
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert type(again) is type(optimizer) and again.get_config() == config
    assert type(optimizers.get(name.lower())) is type(optimizer)
    assert optimizers.get(optimizer) is optimizer


@schedules
def test_configs_of_schedules(tf, name, arguments, options, formula):
    plans = tf.keras.optimizers.schedules
    schedule = getattr(plans, name)(*arguments, **options)
    again = plans.deserialize(plans.serialize(schedule))
    assert type(again) is type(schedule) and again.get_config() == schedule.get_config()
    optimizer = tf.keras.optimizers.SGD(schedule)
    again = tf.keras.optimizers.SGD.from_config(optimizer.get_config())
    assert float(again.learning_rate) == float(schedule(0))


@pytest.mark.parametrize("identifier", ["nosuch", 3, [], {"a": 1}, {"class_name": "nosuch"}])
def test_unknown_identifiers(tf, identifier):
    with pytest.raises((ValueError, KeyError), match=r"Could not interpret|Unknown|class_name"):
        tf.keras.optimizers.get(identifier)


@ours_only("Keras's optimizers cannot be copied")
@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@optimizers
def test_copies_go_on_with_and_without_their_variables(tf, name, options, how):
    optimizer, variables = made(tf, name, options), variables_of(tf)
    for gradients in STEPS[:3]:
        optimizer.apply([tf.constant(g, "float32") for g in gradients], variables)
    together = how((optimizer, variables))
    apart = how(optimizer), how(variables)
    for own, trained in ((optimizer, variables), together, apart):
        for gradients in STEPS[3:]:
            own.apply([tf.constant(g, "float32") for g in gradients], trained)
    for own, trained in (together, apart):
        for x, y in zip(
            [*own.variables, *trained], [*optimizer.variables, *variables], strict=True
        ):
            assert x.numpy().tobytes() == y.numpy().tobytes()


@ours_only("Keras's optimizers cannot be copied")
def test_a_copy_takes_no_other_variables(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = made(tf, "Adam", {})
    optimizer.apply([tf.ones(2)], [v])
    for other in (tf.Variable([1.0, 2.0], name="w"), tf.Variable(1.0, name="v")):
        with pytest.raises(ValueError, match="Unknown variable"):
            copy.deepcopy(optimizer).apply([tf.ones_like(other)], [other])
    again = copy.deepcopy(optimizer)
    again.apply([tf.ones(2)], [tf.Variable([1.0, 2.0], name="v")])
    with pytest.raises(ValueError, match="Unknown variable"):  # its variables exist by now
        again.apply([tf.ones(2)], [v])


@optimizers
def test_state_is_saved_and_loaded(tf, name, options):
    first, second = made(tf, name, options), made(tf, name, options)
    for _ in walk(tf, first):
        pass
    store = {}
    first.save_own_variables(store)
    second.build(variables_of(tf))
    second.load_own_variables(store)
    for a, b in zip(first.variables, second.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    with pytest.warns(UserWarning, match="Skipping variable loading"):
        second.load_own_variables({})


# --- Other uses -----------------------------------------------------------------------------------


def test_learning_rate_of_a_function(tf):
    rate = [0.5]
    optimizer, v = tf.keras.optimizers.SGD(lambda: rate[0]), tf.Variable(0.0)
    optimizer.apply_gradients([(tf.constant(-1.0), v)])
    rate[0] = 0.25
    optimizer.apply_gradients([(tf.constant(-1.0), v)])
    assert float(v) == 0.75
    assert optimizer.learning_rate == 0.25


def test_variables_are_what_attributes_give(tf):
    optimizer = tf.keras.optimizers.SGD(0.5, momentum=0.9)
    optimizer.build([tf.Variable([1.0, 2.0], name="v")])
    copies = [copy.deepcopy(optimizer)] if tf.__name__ == "numtape" else []  # Keras's lose some
    for one in (*copies, optimizer):
        count, rate, slot = one.variables
        assert count is one.iterations and rate is one.learning_rate
        assert (count.name, rate.name) == ("iteration", "learning_rate")
        assert slot is one.variables[2] and "momentum" in slot.path
        rate.assign(0.25)
        assert float(one.learning_rate) == 0.25
        one.learning_rate = 0.125
        assert one.learning_rate is rate and float(rate) == 0.125
    optimizer.learning_rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
    assert len(optimizer.variables) == 2 and optimizer.variables[0] is optimizer.iterations
    own = optimizer.add_variable((2,), name="own")
    assert optimizer.variables[2] is own


@pytest.mark.records
def test_steps_that_leave_variables_out_are_replayed(tf):
    used, unused = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD(0.5)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = used * x
        first, none = tape.gradient(loss, [used, unused])
        optimizer.apply_gradients([(first, used), (none, unused)])

    with pytest.warns(UserWarning, match="Gradients do not exist") as said:
        for _ in range(4):
            step(tf.constant(1.0))
    assert (used.numpy(), unused.numpy()) == (-1.0, 1.0)
    if tf.__name__ == "numtape":
        assert len(said) == 2 and "2 hits" in str(step.paths())


def test_fit_takes_the_scale_of_losses_away_again(tf):
    found = []
    for scale in (None, 4.0):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile(tf.keras.optimizers.SGD(0.25, loss_scale_factor=scale), "mse")
        history = model.fit(np.ones((4, 2)), np.zeros((4, 1)), 4, 2, 0).history["loss"]
        found.append([*history, *model.get_weights()[0].ravel()])
    assert found[0] == found[1] and found[0][1] < found[0][0]


def test_constraints_come_after_the_step(tf):
    v = tf.Variable([1.0, 2.0], constraint=lambda x: tf.clip_by_value(x, 0.0, 1.5))
    tf.keras.optimizers.SGD(1.0).apply_gradients([(tf.constant([2.0, 0.25]), v)])
    np.testing.assert_array_equal(v.numpy(), [0.0, 1.5])


def test_excluded_from_weight_decay(tf):
    kernel, bias, scale = (tf.Variable(1.0, name=n) for n in ("kernel", "bias", "scale"))
    optimizer = tf.keras.optimizers.SGD(1.0, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_list=[scale], var_names=["bias"])
    zero = tf.constant(0.0)
    optimizer.apply_gradients([(zero, kernel), (zero, bias), (zero, scale)])
    assert [float(x) for x in (kernel, bias, scale)] == [0.5, 1.0, 1.0]


@pytest.mark.parametrize("replayed", [False, True])
@pytest.mark.parametrize("steps", [None, 2])
def test_an_optimizer_written_like_keras(tf, steps, replayed):
    """The example of Keras's documentation: momentum in its own variables."""

    class Momentum(tf.keras.optimizers.Optimizer):
        def __init__(self, **options):
            super().__init__(**options)
            self.momentum = 0.9

        def build(self, variables):
            super().build(variables)
            self.momentums = []
            for variable in variables:
                self.momentums.append(
                    self.add_variable_from_reference(reference_variable=variable, name="momentum")
                )

        def update_step(self, gradient, variable, learning_rate):
            m = self.momentums[self._get_variable_index(variable)]
            self.assign(m, m * self.momentum - gradient * learning_rate)
            self.assign_add(variable, m)

    options = {"learning_rate": 0.1, "weight_decay": 0.1, "gradient_accumulation_steps": steps}
    mine = Momentum(**options)
    if replayed and steps and tf.__name__ != "numtape":
        pytest.skip("Keras makes the variables of its accumulators in the function")
    theirs = tf.keras.optimizers.SGD(momentum=0.9, **options)
    close(walk(tf, mine, replayed=replayed), walk(tf, theirs), 1e-6)
    assert len(mine.variables) == len(theirs.variables)


@ours_only("of numtape's plan")
@pytest.mark.parametrize("name", ["SGD", "Adam", "Adamax", "Nadam", "Adagrad", "Adadelta", "Lion"])
def test_rows_of_a_step_do_not_grow_but_by_those_of_variables(tf, name):
    """Common terms of all variables, such as beta**t, are computed once."""

    def rows(count):
        optimizer = getattr(tf.keras.optimizers, name)()
        variables = [tf.Variable([1.0, 2.0]) for _ in range(count)]
        optimizer.build(variables)
        gradients = [tf.constant([1.0, 1.0]) for _ in variables]
        with fresh_log() as log:
            optimizer.apply(gradients, variables)
            return log.n

    one, two, three = rows(1), rows(2), rows(3)
    assert three - two == two - one <= 24
    assert one - (two - one) <= 44


@ours_only("of numtape's plan")
@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Adam", "Nadam", "Ftrl"])
def test_a_step_is_one_plan_of_few_loops(tf, name, monkeypatch):
    """The number of loops does not depend on the number of variables."""
    from numtape.core.plan.plan import Planner

    plans, planned = [], Planner.plan_for

    def noted(self, *args):
        plans.append(planned(self, *args))
        return plans[-1]

    for count in (1, 3):
        optimizer = made(tf, name, {})
        variables = [tf.Variable(tf.ones((40, 30))) for _ in range(count)]
        optimizer.build(variables)
        gradients = [tf.constant(np.ones((40, 30), "f4")) for _ in variables]
        for v in [*variables, *optimizer.variables]:
            v.numpy()
        with fresh_log(), monkeypatch.context() as patch:
            patch.setattr(Planner, "plan_for", noted)
            optimizer.apply(gradients, variables)
            variables[0].numpy()
    one, three = [len(plan.arrays["groups"]) for plan in plans if plan is not None]
    assert one == three <= 3


@pytest.mark.parametrize(
    "change",
    [
        {"weight_decay": 0.1},
        {"clipnorm": 0.5},
        {"momentum": 0.25},
        {"learning_rate": 0.5},
        {"loss_scale_factor": 2.0},
    ],
    ids=lambda change: next(iter(change)),
)
@ours_only("TensorFlow's functions keep what they saw first")
def test_replays_follow_what_is_set(tf, change):
    found = []
    for decorate in (tf.function, lambda step: step):
        optimizer, v = made(tf, "SGD", {"momentum": 0.5}), tf.Variable([1.0, 2.0])

        def step(optimizer=optimizer, v=v):
            optimizer.apply_gradients([(tf.constant([3.0, 4.0]), v)])

        step = decorate(step)
        for k in range(6):
            if k == 3:
                for key, value in change.items():
                    setattr(optimizer, key, value)
            step()
        found.append(v.numpy().tolist())
    assert found[0] == found[1]


@ours_only("Keras's optimizers cannot be copied")
def test_a_layer_and_its_optimizer_are_copied_apart(tf):
    layer, optimizer = tf.keras.layers.Dense(2, name="dense"), made(tf, "Adam", {})
    x = tf.constant([[1.0, -2.0], [0.5, 3.0]])

    def step(layer, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x) ** 2)
        gradients = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
        return float(loss)

    step(layer, optimizer)
    assert [v.name for v in optimizer.variables[2:]] == [
        "dense_kernel_momentum",
        "dense_kernel_velocity",
        "dense_bias_momentum",
        "dense_bias_velocity",
    ]
    twins = copy.deepcopy(layer), copy.deepcopy(optimizer)
    wanted = [step(layer, optimizer) for _ in range(3)]
    assert [step(*twins) for _ in range(3)] == wanted


@ours_only("of numtape's hints")
def test_hints(tf):
    with pytest.raises(AttributeError, match="apply_gradients"):
        tf.keras.optimizers.SGD().minimize(lambda: 0.0, [])
    assert not hasattr(tf.keras.optimizers.SGD(), "minimize")
    for name, hint in [
        ("legacy", "tf.keras.optimizers"),
    ]:
        for module in (tf.keras.optimizers, tf.optimizers):
            with pytest.raises(AttributeError, match=hint):
                getattr(module, name)


# --- Against Keras --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keras():
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    return pytest.importorskip("tensorflow")


against_keras = pytest.mark.skipif(
    not importlib.util.find_spec("tensorflow"), reason="needs TensorFlow"
)


@against_keras
@ours_only("compares with Keras")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@optimizers
def test_steps_are_those_of_keras(tf, keras, name, options, dtype):
    found, wanted = (walk(x, made(x, name, options), dtype) for x in (tf, keras))
    close(found, wanted, 1e-6 if dtype == "float32" else 1e-5)  # Keras's betas are of float32
    assert (
        inspect.signature(getattr(tf.keras.optimizers, name)).parameters.keys() | {"kwargs"}
        == inspect.signature(getattr(keras.keras.optimizers, name)).parameters.keys()
    )


@against_keras
@ours_only("compares with Keras")
@optimizers
def test_slices_are_those_of_keras(tf, keras, name, options):
    if "loss_scale_factor" in options:
        options = {**options, "loss_scale_factor": None}  # Keras cannot divide slices
    found = []
    for x in (tf, keras):

        def slices(g, x=x):
            return x.IndexedSlices(
                x.constant(g[:2], "float32"), x.constant([2, 0]), x.constant(g.shape)
            )

        steps = [list(map(slices, step)) for step in STEPS]
        found.append(walk(x, made(x, name, options), steps=steps))
    close(*found, 1e-6)


@against_keras
@ours_only("compares with Keras")
@schedules
def test_schedules_are_those_of_keras(tf, keras, name, arguments, options, formula):
    ours, theirs = (
        getattr(x.keras.optimizers.schedules, name)(*arguments, **options) for x in (tf, keras)
    )
    assert ours.get_config() == theirs.get_config()
    for step in range(20):
        assert float(ours(step)) == pytest.approx(float(theirs(step)), rel=1e-6, abs=1e-8)
