"""Errors of layers: which layer failed, and hints for names of PyTorch and older Keras.

Tracebacks omit numtape's lines: without the name of the layer, they would end at ``model.fit``.
"""

from __future__ import annotations

from typing import Any

from ..errors import OpError


def add_location(error: OpError, layer: Any, *inputs: object) -> None:
    """Add the name of a layer or loss to an op's error, unless an inner one was added before.

    Args:
      error: The error, which is modified.
      layer: The layer or loss. Nothing is added for a user's class: the traceback shows its line.
      *inputs: The inputs of the call.
    """
    cls = type(layer)
    if not cls.__module__.startswith("numtape.") or getattr(error, "located", False):
        return
    shapes = [str(tuple(x.shape)) for x in inputs if hasattr(x, "shape")]
    description = f", for shapes {' and '.join(shapes)}" if shapes else ""
    kind_name = "loss" if cls.__name__ == "LossFunction" else cls.__name__
    error.message = f"{error.message} In {kind_name} {layer.name!r}{description}."
    error.args = (error.message, *error.args[1:])
    error.located = True  # type: ignore[attr-defined]


_NEW_EACH_TIME = "nothing: every tape gives its own gradients"
_MODE = "model(x, training={}): fit, evaluate and predict set it themselves"

LAYER = {
    "children": "x.submodules, or x.layers of a model",
    "eval": _MODE.format(False),
    "forward": "x(inputs), and call the method `call`",
    "load_state_dict": "x.set_weights(arrays), or load_weights(path) of a model",
    "named_parameters": "[(v.path, v) for v in x.trainable_weights]",
    "parameters": "x.trainable_weights",
    "register_buffer": "x.add_weight(shape, initializer, trainable=False)",
    "register_parameter": "x.add_weight(shape, initializer)",
    "requires_grad_": "x.trainable = False",
    "state_dict": "x.get_weights(), or save_weights(path) of a model",
    "train": _MODE.format(True),
}

_BUILD_FIRST = "layer.build(input_shape) first, or call the layer: both create its weights"
KERNEL = {"kernel": _BUILD_FIRST, "bias": _BUILD_FIRST}
EMBEDDINGS = {"embeddings": _BUILD_FIRST}

MODEL = {
    "evaluate_generator": "model.evaluate(generator)",
    "fit_generator": "model.fit(generator)",
    "partial_fit": "model.train_on_batch(x, y)",
    "predict_classes": "model.predict(x).argmax(axis=-1)",
    "predict_generator": "model.predict(generator)",
    "predict_proba": "model.predict(x)",
    "score": "model.evaluate(x, y)",
}

OPTIMIZER = {
    "add_param_group": "an optimizer for each group of variables",
    "get_weights": "[v.numpy() for v in optimizer.variables]",
    "load_state_dict": "tf.train.Checkpoint(optimizer=optimizer).restore(path)",
    "lr": "optimizer.learning_rate",
    "minimize": "the loss in a `tf.GradientTape`, and optimizer.apply_gradients("
    "zip(tape.gradient(loss, variables), variables))",
    "param_groups": "optimizer.learning_rate and the other attributes",
    "set_weights": "tf.train.Checkpoint(optimizer=optimizer).restore(path)",
    "state_dict": "optimizer.variables, or tf.train.Checkpoint(optimizer=optimizer).save(path)",
    "step": "optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))",
    "weights": "optimizer.variables",
    "zero_grad": _NEW_EACH_TIME,
}
