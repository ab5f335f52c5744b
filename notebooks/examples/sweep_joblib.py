"""A hyperparameter sweep: train a model for each setting, in the processes of joblib.

Run it after ``pip install "numtape[dask]"``::

    python notebooks/examples/sweep_joblib.py --epochs 5 --jobs 2

Each process uses its share of the cores, and all share the cache of compiled kernels. A trained
model comes back as the result of its task: the best one is evaluated here, and trained further.
"""

import argparse
import itertools

from joblib import Parallel, delayed

import numtape as nt
from numtape import keras

IMAGES, LABELS = nt.datasets.load_digits()
TRAIN, TEST = (IMAGES[:1500] / 16.0, LABELS[:1500]), (IMAGES[1500:] / 16.0, LABELS[1500:])


def train(width, rate, epochs):
    """Train a model on images of digits. Return it, and its loss on other images."""
    keras.utils.set_random_seed(1)
    hidden = keras.layers.Dense(width, activation="relu")
    model = keras.Sequential([keras.layers.Flatten(), hidden, keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(rate), loss)
    model.fit(*TRAIN, epochs=epochs, batch_size=64, verbose=0)
    return model, model.evaluate(*TEST, verbose=0)


def main(jobs, epochs):
    """Train with each setting, and print the losses."""
    settings = list(itertools.product([16, 64], [0.001, 0.01]))
    tasks = (delayed(train)(width, rate, epochs) for width, rate in settings)
    results = Parallel(n_jobs=jobs)(tasks)
    for (width, rate), (_, loss) in zip(settings, results, strict=True):
        print(f"width {width}, learning rate {rate}: loss {loss:.5f}  {loss.hex()}")
    model, loss = min(results, key=lambda result: result[1])
    assert model.evaluate(*TEST, verbose=0) == loss  # the same bits in another process
    keras.utils.set_random_seed(2)
    model.fit(*TRAIN, batch_size=64, verbose=0)
    loss = model.evaluate(*TEST, verbose=0)
    print(f"the best, trained for one more epoch: loss {loss:.5f}  {loss.hex()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A hyperparameter sweep with joblib.")
    for name, default in (("jobs", 2), ("epochs", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
