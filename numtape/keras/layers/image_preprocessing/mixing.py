"""Layers that mix images or apply other layers: MixUp, CutMix, RandAugment, AugMix, Pipeline."""

from __future__ import annotations

import random as python_random
from collections.abc import Callable
from typing import Any

import numtape as tf

from ....core.log.as_tensor import as_tensor
from ....core.log.layer_context import mask_of
from ....core.values.arguments import signature_of
from ....core.values.tensor import Tensor
from ....nest import map_structure
from ...layer import Layer
from ...registry import Decorated
from ..base import deserialize, document, serialize
from .base import ARGUMENTS, RAISES, BaseImagePreprocessingLayer, PixelLayer, column
from .bounding_boxes import Boxes
from .colors import (
    AutoContrast,
    Equalization,
    RandomBrightness,
    RandomColorDegeneration,
    RandomContrast,
    RandomPosterization,
    RandomSharpness,
    Solarization,
    random_windows,
)
from .geometry import RandomRotation, RandomShear, RandomTranslation


def _document(**own: str) -> Callable[[Decorated], Decorated]:
    return document(RAISES, **{**ARGUMENTS, **own})


def _permutation(size: int, seed: Any, dtype: str) -> Tensor:
    from ... import random

    order: Tensor = random.shuffle(tf.range(size, dtype=dtype), seed=seed)
    return order


def _mix(x: Any, weight: Tensor, order: Tensor, rank: int = 4) -> Tensor:
    """Add the elements of a permutation to a tensor of a rank, by weights (batch,)."""
    values = as_tensor(x)
    values = values if values.dtype.is_floating else tf.cast(values, tf.float32)
    share = tf.cast(column(weight, rank), values.dtype)
    return share * values + (1.0 - share) * tf.gather(values, order)


@_document(alpha="The parameter of the beta distribution of the weights.")
class MixUp(BaseImagePreprocessingLayer):
    """Averages each image and its label with another one of the batch, in training.

    See Zhang et al., "mixup: Beyond Empirical Risk Minimization" (2017).

    >>> tf.keras.layers.MixUp()(tf.ones((2, 1, 1, 1)), training=True).numpy().round(3).ravel()
    array([1., 1.], dtype=float32)
    """

    _nt_use_base_factor = False

    def __init__(
        self,
        alpha: float = 0.2,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._nt_set_arguments(alpha=alpha)
        self._nt_set_seed(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the permutation and the weights."""
        from ... import random

        size = self._nt_batch_size(data)
        generator = self.generator if seed is None else seed
        order = _permutation(size, generator, "int64")
        weight = random.beta((size,), self.alpha, self.alpha, seed=generator)
        return {"mix_weight": weight, "permutation_order": order}

    def _nt_mix(self, x: Any, transformation: Any, rank: int = 4) -> Tensor:
        return _mix(x, transformation["mix_weight"], transformation["permutation_order"], rank)

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Average images."""
        x = tf.cast(images, self.compute_dtype)
        return self._nt_mix(x, transformation) if training else x

    def transform_labels(self, labels: Any, transformation: Any, training: bool = True) -> Any:
        """Average labels (batch, classes)."""
        return self._nt_mix(labels, transformation, 2) if training else labels

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Average masks."""
        masks = as_tensor(segmentation_masks)
        return self._nt_mix(masks, transformation) if training else masks

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Append the boxes of the other image."""
        if not training:
            return bounding_boxes
        order = transformation["permutation_order"]
        boxes, labels = bounding_boxes["boxes"], bounding_boxes["labels"]
        # As in Keras, labels are appended along the batch.
        return {
            "boxes": tf.concat([boxes, tf.gather(boxes, order)], 1),
            "labels": tf.concat([labels, tf.gather(labels, order)], 0),
        }


@_document(factor="The parameter of the beta distribution of the weights, or bounds of it.")
class CutMix(BaseImagePreprocessingLayer):
    """Replaces a rectangle of each image by that of another one of the batch, in training.

    See Yun et al., "CutMix" (2019).

    >>> tf.keras.layers.CutMix()(tf.ones((2, 1, 1, 1)), training=True).numpy().ravel()
    array([1., 1.], dtype=float32)
    """

    _nt_use_base_factor = False
    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        factor: Any = 1.0,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._nt_set_factor(factor)
        self._nt_set_seed(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the rectangles, and the permutation; None for a single image."""
        from ... import random

        shape = self._nt_shape(data)
        if not training or len(shape) == 3:
            return None
        generator = self.generator if seed is None else seed
        dtype = self.compute_dtype
        alpha = self._nt_uniform((), self.factor, seed, dtype) + 1e-6
        weight = random.beta((shape[0],), alpha, alpha, dtype, generator)
        ratio = tf.sqrt(1.0 - weight)
        masks, area = random_windows(self, shape, (ratio, ratio), seed)
        order = _permutation(shape[0], generator, "int32")
        return {"permutation_order": order, "batch_masks": masks, "mix_weight": 1.0 - area}

    def _nt_cut(self, x: Any, transformation: Any) -> Tensor:
        values = as_tensor(x)
        other = tf.gather(values, transformation["permutation_order"])
        return tf.where(transformation["batch_masks"], other, values)

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Replace the rectangles."""
        x = tf.cast(images, self.compute_dtype)
        return self._nt_cut(x, transformation) if training and transformation is not None else x

    def transform_labels(self, labels: Any, transformation: Any, training: bool = True) -> Any:
        """Average labels (batch, classes) by the areas."""
        if not training or transformation is None:
            return labels
        return _mix(labels, transformation["mix_weight"], transformation["permutation_order"], 2)

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Replace the rectangles of masks."""
        masks = as_tensor(segmentation_masks)
        is_cut = training and transformation is not None
        return self._nt_cut(masks, transformation) if is_cut else masks


_SHAPES = ("random_shear", "random_translation", "random_rotation")
_VALUES = ("random_posterization", "solarization", "auto_contrast", "equalization")
_COLOURS = (
    "random_brightness",
    "random_color_degeneration",
    "random_contrast",
    "random_sharpness",
)


class _Augmentation(BaseImagePreprocessingLayer):
    """Base class of layers that apply layers of a list."""

    _nt_use_base_factor = False
    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        value_range: Any,
        factor: Any,
        interpolation: str,
        seed: int | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_factor(factor)
        self._nt_set_arguments(value_range=value_range, interpolation=interpolation)
        self._nt_set_seed(seed)

    def _nt_make_layers(self, names: tuple[str, ...], kwargs: dict[str, Any]) -> None:
        """Create the layers, and store them as attributes."""
        high = self.factor[1]
        factor = {"factor": self.factor}
        values = {"value_range": self.value_range}
        seed = {"seed": self.seed}
        moving = {"interpolation": self.interpolation, **seed}
        both = {"addition_factor": self.factor, "threshold_factor": self.factor}
        sizes = {"height_factor": self.factor, "width_factor": self.factor}
        shears = {"x_factor": self.factor, "y_factor": self.factor}
        bits = {"factor": max(1, int(8 * high))}
        makers: dict[str, tuple[Any, dict[str, Any]]] = {
            "random_shear": (RandomShear, {**shears, **moving}),
            "random_translation": (RandomTranslation, {**sizes, **moving}),
            "random_rotation": (RandomRotation, {**factor, **moving}),
            "random_brightness": (RandomBrightness, {**factor, **values, **seed}),
            "random_color_degeneration": (RandomColorDegeneration, {**factor, **values, **seed}),
            "random_contrast": (RandomContrast, {**factor, **values, **seed}),
            "random_sharpness": (RandomSharpness, {**factor, **values, **seed}),
            "random_posterization": (RandomPosterization, {**bits, **values, **seed}),
            "solarization": (Solarization, {**both, **values, **seed}),
            "auto_contrast": (AutoContrast, values),
            "equalization": (Equalization, values),
        }
        common = {k: v for k, v in kwargs.items() if k in ("dtype", "bounding_box_format")}
        for name in names:
            cls, options = makers[name]
            setattr(self, name, cls(**options, data_format=self.data_format, **common))
        self._nt_names = names


@_document(
    num_ops="The number of layers that are applied.",
    factor="The strength of the changes, from 0 to 1, or bounds of it.",
)
class RandAugment(_Augmentation):
    """Applies some layers of a list of eleven, drawn for each batch, in training.

    See Cubuk et al., "RandAugment" (2019).

    >>> tf.keras.layers.RandAugment(num_ops=0)(tf.ones((1, 2, 2, 3)), training=True).shape
    TensorShape([1, 2, 2, 3])
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        num_ops: int = 2,
        factor: Any = 0.5,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            value_range, factor, interpolation, seed, data_format=data_format, **kwargs
        )
        self._nt_set_arguments(num_ops=num_ops)
        names = (*_SHAPES, *_COLOURS, *_VALUES)
        self._nt_make_layers(names, kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the numbers of the layers, and a transformation of each layer."""
        from ... import random

        if not training:
            return None
        generator = self.generator if seed is None else seed
        numbers = random.randint((self.num_ops,), 0, len(self._nt_names), seed=generator)
        transforms = {
            name: getattr(self, name).get_random_transformation(data, seed=generator)
            for name in self._nt_names
        }
        return {"transforms": transforms, "layer_idxes": numbers}

    def _nt_apply(self, x: Tensor, transformation: Any, method: str) -> Tensor:
        """Apply the drawn layers; the others are computed as well, so that replays may differ."""
        numbers = transformation["layer_idxes"]
        for i in range(self.num_ops):
            for k, (name, drawn) in enumerate(transformation["transforms"].items()):
                changed = getattr(getattr(self, name), method)(x, drawn)
                x = tf.where(numbers[i] == k, tf.cast(changed, x.dtype), x)
        return x

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Apply the drawn layers."""
        x = tf.cast(images, self.compute_dtype)
        return self._nt_apply(x, transformation, "transform_images") if training else x

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Apply the drawn layers to masks."""
        masks = as_tensor(segmentation_masks)
        method = "transform_segmentation_masks"
        return self._nt_apply(masks, transformation, method) if training else masks

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Apply the drawn layers to boxes."""
        if not training:
            return bounding_boxes
        result, numbers = dict(bounding_boxes), transformation["layer_idxes"]
        for k, (name, drawn) in enumerate(transformation["transforms"].items()):
            changed = getattr(self, name).transform_bounding_boxes(dict(result), drawn)
            for i in range(self.num_ops):
                for key in ("boxes", "labels"):
                    result[key] = tf.where(numbers[i] == k, changed[key], result[key])
        return result


@_document(
    num_chains="The number of chains of layers.",
    chain_depth="The number of layers in each chain.",
    factor="The strength of the changes, from 0 to 1, or bounds of it.",
    alpha="The parameter of the distributions of the weights.",
    all_ops="Whether to use all layers, or only those that do not change colours.",
)
class AugMix(_Augmentation):
    """Averages images with images that went through chains of random layers, in training.

    Python draws the layers of each call: a recorded function repeats the layers of its recording.

    See Hendrycks et al., "AugMix" (2019).

    >>> tf.keras.layers.AugMix(chain_depth=0)(tf.ones((1, 1, 1, 3)), training=True).shape
    TensorShape([1, 1, 1, 3])
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        num_chains: int = 3,
        chain_depth: int = 3,
        factor: Any = 0.3,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            value_range, factor, interpolation, seed, data_format=data_format, **kwargs
        )
        self._nt_set_arguments(
            num_chains=num_chains, chain_depth=chain_depth, alpha=alpha, all_ops=all_ops
        )
        names = (*_SHAPES, *_VALUES, *(_COLOURS if all_ops else ()))
        self._nt_make_layers(names, kwargs)
        self._nt_choices = python_random.Random(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the weights, the layers of the chains, and their transformations."""
        from ... import random

        if not training:
            return None
        generator = self.generator if seed is None else seed
        draws = random.gamma((self.num_chains,), self.alpha, seed=generator)
        weight = random.beta((), self.alpha, self.alpha, seed=generator)
        chains = []
        for _ in range(self.num_chains):
            choices = [None, *self._nt_names]
            names = [self._nt_choices.choice(choices) for _ in range(self.chain_depth)]
            chains.append(
                [
                    {
                        "layer_name": name,
                        "transformation": getattr(self, name).get_random_transformation(
                            data, seed=generator
                        ),
                    }
                    for name in names
                    if name is not None
                ]
            )
        return {
            "chain_mixing_weights": draws / tf.reduce_sum(draws),
            "weight_sample": weight,
            "chain_transforms": chains,
        }

    def _nt_apply(self, x: Tensor, transformation: Any, method: str) -> Tensor:
        weights = tf.cast(transformation["chain_mixing_weights"], x.dtype)
        share = tf.cast(transformation["weight_sample"], x.dtype)
        total = tf.zeros_like(x)
        for k, chain in enumerate(transformation["chain_transforms"]):
            y = x
            for step in chain:
                layer = getattr(self, step["layer_name"])
                y = tf.cast(getattr(layer, method)(y, step["transformation"]), x.dtype)
            total = total + y * weights[k]
        result: Tensor = share * x + (1 - share) * total
        return result

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Average images."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        mixed = self._nt_apply(x, transformation, "transform_images")
        return tf.clip_by_value(mixed, float(self.value_range[0]), float(self.value_range[1]))

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Average masks."""
        masks = as_tensor(segmentation_masks)
        if not training:
            return masks
        masks = masks if masks.dtype.is_floating else tf.cast(masks, self.compute_dtype)
        return self._nt_apply(masks, transformation, "transform_segmentation_masks")

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Return the boxes."""
        return bounding_boxes


@_document(max_number="The number of boxes.", fill_value="The value of boxes that are added.")
class MaxNumBoundingBoxes(PixelLayer):
    """Cuts or pads the bounding boxes of each image to a number.

    >>> layer = tf.keras.layers.MaxNumBoundingBoxes(2, bounding_box_format="xyxy")
    >>> boxes = {"boxes": tf.zeros((1, 1, 4)), "labels": tf.zeros((1, 1))}
    >>> data = {"images": tf.ones((1, 2, 2, 3)), "bounding_boxes": boxes}
    >>> layer(data)["bounding_boxes"]["labels"].numpy()
    array([[ 0., -1.]], dtype=float32)
    """

    _nt_use_base_factor = False

    def __init__(self, max_number: int, fill_value: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(max_number=int(max_number), fill_value=int(fill_value))

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Return the images."""
        return images

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Cut or pad the boxes and labels."""
        result = dict(bounding_boxes)
        for key in ("boxes", "labels"):
            x = result[key][:, : self.max_number]
            missing = self.max_number - int(x.shape[1])
            widths = [[0, 0], [0, missing], *[[0, 0]] * (x.ndim - 2)]
            fill = tf.cast(self.fill_value, x.dtype)
            result[key] = tf.pad(x, widths, constant_values=fill)
        return result

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes; those of bounding boxes have the layer's number."""
        if not isinstance(input_shape, dict) or "bounding_boxes" not in input_shape:
            return input_shape
        boxes = input_shape["bounding_boxes"]
        unknown = boxes.keys() - {"boxes", "labels"}
        if unknown:
            raise KeyError(
                f"There are unsupported keys in `bounding_boxes`: {sorted(unknown)}. Only `boxes` "
                f"and `labels` are supported."
            )
        shapes = {key: (s[0], self.max_number, *s[2:]) for key, s in boxes.items()}
        return {**input_shape, "bounding_boxes": shapes}


@document(
    "ValueError: In `from_config`, if the configuration has no list of layers.",
    layers="The layers.",
    name="The name of the layer.",
)
class Pipeline(Layer):
    """Applies layers in turn.

    >>> double = tf.keras.layers.Rescaling(2.0)
    >>> tf.keras.layers.Pipeline([double, double])(tf.constant([1.0])).numpy()
    array([4.], dtype=float32)
    """

    _allow_non_tensor_positional_args = True

    def __init__(self, layers: Any, name: str | None = None) -> None:
        super().__init__(name=name)
        self._nt_pipeline_layers = list(layers)

    @property
    def layers(self) -> list[Any]:
        """The layers."""
        return list(self._nt_pipeline_layers)

    def call(self, inputs: Any, training: bool | None = True, mask: Any = None) -> Any:
        """Apply the layers."""
        for layer in self._nt_pipeline_layers:
            names = signature_of(type(layer).call).all
            options = {"training": training, "mask": mask}
            options = {k: v for k, v in options.items() if k in names and v is not None}
            inputs = layer(inputs, **options)
            mask = map_structure(mask_of, inputs)
        return inputs

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return symbolic outputs."""
        for layer in self._nt_pipeline_layers:
            inputs = layer.compute_output_spec(inputs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return {"layers": [serialize(x) for x in self._nt_pipeline_layers], "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a layer from its configuration."""
        layers = config.get("layers")
        if not isinstance(layers, list | tuple):
            raise ValueError(
                f"`Pipeline` config must contain a `layers` key mapping to a list of serialized "
                f"layers. Received config with layers={layers}."
            )
        return cls(**{**config, "layers": [deserialize(x) for x in layers]})
