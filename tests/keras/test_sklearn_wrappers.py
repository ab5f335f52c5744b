"""Estimators of scikit-learn that train models: its own checks, clones and pipelines."""

import numpy as np
import pytest

import numtape as tf

keras = tf.keras
sklearn = pytest.importorskip("sklearn")
pytestmark = pytest.mark.numtape_only("numtape's own names")
wrappers = keras.wrappers
X = np.random.default_rng(0).normal(size=(24, 3))
LABELS = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]


def make(X, y, loss="mse", activation=None):
    layers = [keras.Input(X.shape[1:]), keras.layers.Dense(y.shape[1], activation)]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.SGD(0.5), loss)
    return model


def classifier(**options):
    options = {"epochs": 20, "verbose": 0, **options}
    model_options = {"loss": "categorical_crossentropy", "activation": "softmax"}
    return wrappers.SKLearnClassifier(make, model_kwargs=model_options, fit_kwargs=options)


def test_classifier():
    fitted = classifier().fit(X, LABELS)
    assert fitted.classes_.tolist() == ["no", "yes"] and fitted.epoch_ == 20
    assert fitted.score(X, LABELS) > 0.8
    best = fitted.decision_function(X).argmax(1)
    assert (fitted.classes_[best] == fitted.predict(X)).all()
    for labels, message in ((np.zeros(24, int), "one class"), (X[:, 0], "binary and multiclass")):
        with pytest.raises(ValueError, match=message):
            classifier().fit(X, labels)


def test_regressor_and_transformer():
    model = make(X, X[:, :1])
    regressor = wrappers.SKLearnRegressor(model, fit_kwargs={"epochs": 20, "verbose": 0})
    regressor.fit(X, X[:, 1])
    assert regressor.predict(X).shape == (24,) and regressor.score(X, X[:, 1]) > 0.9
    assert regressor.model_ is not model
    with pytest.raises(RuntimeError, match="compiled"):
        wrappers.SKLearnRegressor(keras.Sequential([keras.layers.Dense(1)])).fit(X, X[:, 1])
    transformer = wrappers.SKLearnTransformer(make, fit_kwargs={"verbose": 0})
    assert transformer.fit_transform(X, X[:, 1]).shape == (24, 1)


def test_warm_starts_and_clones():
    model = make(X, X[:, :1])
    warm = wrappers.SKLearnRegressor(model, warm_start=True, fit_kwargs={"verbose": 0})
    assert warm.fit(X, X[:, 1]).model_ is model
    assert warm.fit(X, X[:, 1], epochs=2).model_ is model and warm.epoch_ == 2
    clone = sklearn.base.clone(warm)
    assert clone.model is not model and not hasattr(clone, "model_")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        clone.predict(X)


def test_pipelines():
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), classifier())
    assert cross_val_score(pipeline, X, LABELS, cv=2).shape == (2,)
