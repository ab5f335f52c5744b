"""Optimizer slots are restored to the same variables, in any order."""

import copy
import json

import numpy as np
import pytest

numtape_only = pytest.mark.numtape_only("Keras goes by the order of variables")
pytestmark = numtape_only

# Different gradients, so that slots differ.
GRADIENTS = {"a": [1.0, -2.0], "b": [30.0, 5.0], "c": [-0.5, 0.25], "d": [7.0, 9.0]}


def made(tf, names):
    return {name: tf.Variable([1.0, 2.0], name=name) for name in names}


def step(tf, optimizer, variables, order):
    optimizer.apply_gradients([(tf.constant(GRADIENTS[n]), variables[n]) for n in order])


OPTIMIZERS = {
    "Adam": {"amsgrad": True},
    "Nadam": {},
    "Adafactor": {},
    "SGD": {"momentum": 0.9, "use_ema": True, "gradient_accumulation_steps": 2},
}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_another_order_goes_on_as_if_never_stopped(tf, tmp_path, name, late):
    def optimizer():
        return getattr(tf.keras.optimizers, name)(learning_rate=0.1, **OPTIMIZERS[name])

    first, variables = optimizer(), made(tf, "abc")
    for _ in range(3):
        step(tf, first, variables, "abc")
    path = tf.train.Checkpoint(v=variables, optimizer=first).write(str(tmp_path / "ck"))
    for _ in range(2):
        step(tf, first, variables, "abc")
    second, others = optimizer(), made(tf, "abc")
    if not late:
        second.build([others[n] for n in "cba"])
    status = tf.train.Checkpoint(optimizer=second, v=others).read(path)
    for _ in range(2):
        step(tf, second, others, "cba")
    status.assert_consumed()
    for n in "abc":
        assert np.array_equal(variables[n], others[n]), n
    kept = {v.name: v.numpy() for v in first.variables}
    for v in second.variables:
        assert np.array_equal(v, kept[v.name]), v.name


def test_added_and_removed_variables_leave_those_of_others_in_place(tf, tmp_path):
    first, variables = tf.keras.optimizers.Adam(0.1), made(tf, "abc")
    step(tf, first, variables, "abc")
    path = tf.train.Checkpoint(optimizer=first, v=variables).write(str(tmp_path / "ck"))
    kept = {v.name: v.numpy() for v in first.variables}
    for order in ("dcba", "cb", "bd"):
        second, others = tf.keras.optimizers.Adam(0.1), made(tf, order)
        second.build([others[n] for n in order])
        status = tf.train.Checkpoint(optimizer=second, v=others).read(path)
        for v in second.variables:
            assert np.array_equal(v, kept.get(v.name, np.zeros(2))), (order, v.name)
        with pytest.raises(AssertionError):
            status.assert_consumed()
        if "d" not in order:
            status.assert_existing_objects_matched()


def test_variables_that_are_bound_later_bring_what_is_kept_for_them(tf, tmp_path):
    first, variables = tf.keras.optimizers.SGD(0.1, momentum=0.5), made(tf, "ab")
    step(tf, first, variables, "ab")
    path = tf.train.Checkpoint(optimizer=first, **variables).write(str(tmp_path / "ck"))
    second, others = tf.keras.optimizers.SGD(0.1, momentum=0.5), made(tf, "ab")
    second.build([others["b"], others["a"]])
    checkpoint = tf.train.Checkpoint(optimizer=second)
    status = checkpoint.read(path)
    assert not any(v.numpy().any() for v in second.variables[2:])
    with pytest.raises(AssertionError):
        status.assert_consumed()
    checkpoint.a, checkpoint.b = others["a"], others["b"]
    status.assert_consumed()
    kept = [v.numpy().tolist() for v in first.variables[2:]]
    assert [v.numpy().tolist() for v in second.variables[2:]] == kept[::-1]


@pytest.mark.parametrize("as_root", [False, True])
def test_optimizers_alone_go_by_order_and_refuse_another(tf, tmp_path, as_root):
    def checkpoint(optimizer):
        given = tf.train.Checkpoint
        return given(optimizer) if as_root else given(optimizer=optimizer)

    first, variables = tf.keras.optimizers.Adam(0.1), made(tf, "ab")
    step(tf, first, variables, "ab")
    path = checkpoint(first).write(str(tmp_path / "ck"))
    found = [name.partition("/.ATTR")[0] for name, _ in tf.train.list_variables(path)]
    start = "" if as_root else "optimizer/"
    assert found == [
        f"{start}{n}"
        for n in (
            "_iterations",
            "_learning_rate",
            "_variables/0",
            "_variables/1",
            "_variables/2",
            "_variables/3",
        )
    ]
    second, others = tf.keras.optimizers.Adam(0.1), made(tf, "ab")
    second.build(list(others.values()))
    checkpoint(second).read(path).assert_consumed()
    assert all(map(np.array_equal, first.variables, second.variables))
    third, others = tf.keras.optimizers.Adam(0.5), made(tf, "ab")
    third.build([others["b"], others["a"]])
    with pytest.raises(ValueError, match=r"'momentum 0' for a variable 'a'.*has 'b' at this index"):
        checkpoint(third).read(path)
    assert third.iterations.numpy() == 0 and third.learning_rate.numpy() == np.float32(0.5)


def test_a_copy_takes_what_is_kept_when_it_knows_its_variables(tf, tmp_path):
    first, variables = tf.keras.optimizers.Adam(0.1), made(tf, "abc")
    step(tf, first, variables, "abc")
    apart = copy.deepcopy(first)
    step(tf, first, variables, "cab")
    path = tf.train.Checkpoint(optimizer=first, **variables).write(str(tmp_path / "ck"))
    step(tf, first, variables, "abc")
    others = made(tf, "abc")
    status = tf.train.Checkpoint(optimizer=apart, **others).read(path)
    step(tf, apart, others, "abc")
    status.assert_consumed()
    for n in "abc":
        assert np.array_equal(variables[n], others[n]), n


def test_variables_of_ones_own_optimizer(tf, tmp_path):
    class Own(tf.keras.optimizers.Optimizer):
        def build(self, variables):
            if not self.built:
                super().build(variables)
                self.sums, self.last = self.add_optimizer_variables(variables, ["sum", "last"])
                self.total = self.add_variable((), name="total")

        def update_step(self, gradient, variable, learning_rate):
            k = self._get_variable_index(variable)
            self.assign_add(self.sums[k], gradient)
            self.assign(self.last[k], gradient)
            self.assign_add(self.total, tf.reduce_sum(gradient))

    first, variables = Own(0.1), made(tf, "abc")
    step(tf, first, variables, "abc")
    step(tf, first, variables, "abc")
    path = tf.train.Checkpoint(v=variables, optimizer=first).write(str(tmp_path / "ck"))
    others = made(tf, "dca")
    second = Own(0.1)
    status = tf.train.Checkpoint(v=others, optimizer=second).read(path)
    second.build([others[n] for n in "dca"])
    for k, n in enumerate("dca"):
        expected = np.zeros(2) if n == "d" else np.array(GRADIENTS[n])
        assert second.sums[k].numpy().tolist() == (2 * expected).tolist(), n
        assert second.last[k].numpy().tolist() == expected.tolist(), n
    assert second.total.numpy() == 2 * sum(sum(GRADIENTS[n]) for n in "abc")
    status.expect_partial()


def test_a_frozen_layer_changes_nothing_for_the_others(tf, tmp_path):
    keras = tf.keras

    def model(frozen):
        found = keras.Sequential([keras.Input((2,)), *(keras.layers.Dense(2) for _ in range(3))])
        found.layers[0].trainable = not frozen
        found.compile("adam", "mse")
        return found

    x = np.eye(2, dtype=np.float32)
    first = model(frozen=False)
    first.fit(x, x, epochs=2, verbose=0)
    path = str(tmp_path / "model.weights.safetensors")
    first.save_weights(path)
    second = model(frozen=True)
    second.load_weights(path)
    assert all(map(np.array_equal, first.get_weights(), second.get_weights()))
    # Without step counter and rate: two slots for each of six variables, then of the last four.
    kept = np.array([v.numpy().sum() for v in first.optimizer.variables[2:]])
    found = np.array([v.numpy().sum() for v in second.optimizer.variables[2:]])
    assert np.array_equal(found, kept[4:]) and kept.any()


def test_values_that_go_by_order_alone_are_refused(tf, tmp_path):
    """Older files have `_variables/0` in the graph, which does not identify the variable."""
    from numtape.train.arrays import pack, unpack

    optimizer, variables = tf.keras.optimizers.SGD(0.1, momentum=0.5), made(tf, "ab")
    step(tf, optimizer, variables, "ab")
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, v=variables)
    path = checkpoint.write(str(tmp_path / "ck"))
    file = tmp_path / "ck.safetensors"
    arrays, description = unpack(file.read_bytes(), "it")
    text = json.dumps(description)
    number = {key: k for k, key in enumerate(description["checkpoint"]) if isinstance(key, str)}
    for k, n in enumerate("ab"):
        place = number[f"v/{n}/.ATTRIBUTES/VARIABLE_VALUE"]
        assert f'"momentum of {place}"' in text
        text = text.replace(f'"momentum of {place}"', f'"_variables/{k}"')
    file.write_bytes(pack(arrays, json.loads(text)))
    variables["a"].assign([5.0, 5.0])
    with pytest.raises(tf.errors.UnimplementedError, match="does not record the variables"):
        checkpoint.read(path)
    assert variables["a"].numpy().tolist() == [5, 5]
