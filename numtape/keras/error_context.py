"""Errors of layers: which layer failed, and hints for names of PyTorch and older Keras.

Tracebacks do not show numtape's lines, so that of ``model.fit`` would be all there is.
"""

from __future__ import annotations

from typing import Any

from ..errors import OpError


def add_location(error: OpError, thing: Any, *inputs: object) -> None:
    """Add a layer or loss to an op's error, unless one within it was added.

    Args:
      error: The error, which is changed.
      thing: The layer or loss. One of the program's classes has a line in the traceback.
      inputs: The inputs of the call.
    """
    kind = type(thing)
    if not kind.__module__.startswith("numtape.") or getattr(error, "located", False):
        return
    shapes = [str(tuple(x.shape)) for x in inputs if hasattr(x, "shape")]
    provided = f", for shapes {' and '.join(shapes)}" if shapes else ""
    what = "loss" if kind.__name__ == "LossFunction" else kind.__name__
    error.message = f"{error.message} In {what} {thing.name!r}{provided}."
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

_MADE = "layer.build(input_shape) first, or call the layer: both create its weights"
KERNEL = {"kernel": _MADE, "bias": _MADE}
EMBEDDINGS = {"embeddings": _MADE}

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
