"""Public names of an installed TensorFlow with their parameters, one per line.

`python tests/support/tensorflow_names.py > numtape/tensorflow_names.txt` writes the file that
`python -m numtape parity` and the hints of missing names read.
"""

import inspect
import os
import warnings

# Modules that numtape implements in part. Other modules count as a single name.
MODULES = """
autodiff bitwise config config.experimental config.optimizer config.threading data
data.experimental debugging dtypes errors experimental experimental.dlpack image initializers io
io.gfile keras keras.activations keras.callbacks keras.config keras.constraints keras.initializers
keras.layers keras.losses keras.metrics keras.mixed_precision keras.models keras.optimizers
keras.optimizers.schedules keras.random keras.regularizers keras.utils keras.wrappers
linalg linalg.experimental lookup lookup.experimental losses math math.special metrics nest nn
nn.experimental optimizers optimizers.schedules ragged random random.experimental sets signal
sparse strings summary summary.experimental train version
""".split()


def parameters(value):
    """The parameter names of a function or class; empty if unknown."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in found if p.kind not in kinds and p.name != "self"]


def names(tf):
    """Lines: a full name, then its parameters."""
    for path in ("", *MODULES):
        module = tf
        for part in filter(None, path.split(".")):
            module = getattr(module, part)
        for name in sorted(vars(module).keys() | set(dir(module))):
            value = getattr(module, name, None)
            if name.startswith("_") or (value is None and name != "newaxis"):
                continue
            full = ".".join(filter(None, ("tf", path, name)))
            taken = parameters(value) if callable(value) else []
            yield " ".join([full, *taken])


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tensorflow as tf

        print(*names(tf), sep="\n")


if __name__ == "__main__":
    main()
