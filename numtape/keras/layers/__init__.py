"""``tf.keras.layers``: layers, which create their variables on the first call."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from ...compat.argument_errors import name_constructors as _name_constructors
from ...compat.missing_names import tell as _tell
from ...compat.names import getter as _getter
from ...compat.traceback_filter import guard as _guard
from ...core.values.hints import hint_missing_attributes as _elsewhere
from ..error_context import EMBEDDINGS as _EMBEDDINGS, KERNEL as _KERNEL
from ..input import Input, InputLayer
from ..input_spec import InputSpec
from ..layer import Layer
from .activation import ELU, Activation, LeakyReLU, PReLU, ReLU, Softmax
from .attention import (
    AdditiveAttention,
    Attention,
    GroupQueryAttention,
    MultiHeadAttention,
)
from .base import deserialize, serialize
from .conv_lstm import (
    ConvLSTM1D,
    ConvLSTM2D,
    ConvLSTM3D,
)
from .convolution import (
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    DepthwiseConv1D,
    DepthwiseConv2D,
    SeparableConv1D,
    SeparableConv2D,
)
from .dense import (
    Dense,
    EinsumDense,
    Embedding,
    ReversibleEmbedding,
)
from .functional import ActivityRegularization, Identity, Lambda, Masking
from .merging import (
    Add,
    Average,
    Concatenate,
    Dot,
    Maximum,
    Minimum,
    Multiply,
    Subtract,
    add,
    average,
    concatenate,
    dot,
    maximum,
    minimum,
    multiply,
    subtract,
)
from .noise import (
    AlphaDropout,
    Dropout,
    GaussianDropout,
    GaussianNoise,
    SpatialDropout1D,
    SpatialDropout2D,
    SpatialDropout3D,
)
from .normalization import (
    BatchNormalization,
    GroupNormalization,
    LayerNormalization,
    RMSNormalization,
    UnitNormalization,
)
from .padding_cropping import (
    Cropping1D,
    Cropping2D,
    Cropping3D,
    UpSampling1D,
    UpSampling2D,
    UpSampling3D,
    ZeroPadding1D,
    ZeroPadding2D,
    ZeroPadding3D,
)
from .pooling import (
    AdaptiveAveragePooling1D,
    AdaptiveAveragePooling2D,
    AdaptiveAveragePooling3D,
    AdaptiveMaxPooling1D,
    AdaptiveMaxPooling2D,
    AdaptiveMaxPooling3D,
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalAveragePooling3D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    GlobalMaxPooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
)
from .preprocessing import Normalization, Rescaling
from .recurrent import GRU, LSTM, RNN, SimpleRNN
from .recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells
from .reshaping import Flatten, Permute, RepeatVector, Reshape
from .wrappers import (
    Bidirectional,
    SpectralNormalization,
    TimeDistributed,
    Wrapper,
)

# Aliases.
AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
AvgPool3D = AveragePooling3D
Convolution1D = Conv1D
Convolution1DTranspose = Conv1DTranspose
Convolution2D = Conv2D
Convolution2DTranspose = Conv2DTranspose
Convolution3D = Conv3D
Convolution3DTranspose = Conv3DTranspose
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalMaxPool3D = GlobalMaxPooling3D
MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
MaxPool3D = MaxPooling3D
SeparableConvolution1D = SeparableConv1D
SeparableConvolution2D = SeparableConv2D

__all__ = [
    "TFSMLayer",
    "TorchModuleWrapper",
    "FlaxLayer",
    "JaxLayer",
    "MelSpectrogram",
    "STFTSpectrogram",
    "ConvLSTM3D",
    "ConvLSTM2D",
    "ConvLSTM1D",
    "SpectralNormalization",
    "ReversibleEmbedding",
    "GroupQueryAttention",
    "AdaptiveMaxPooling3D",
    "AdaptiveMaxPooling2D",
    "AdaptiveMaxPooling1D",
    "AdaptiveAveragePooling3D",
    "AdaptiveAveragePooling2D",
    "AdaptiveAveragePooling1D",
    "Input",
    "InputLayer",
    "Activation",
    "ActivityRegularization",
    "Add",
    "AdditiveAttention",
    "AlphaDropout",
    "Attention",
    "Average",
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNormalization",
    "Bidirectional",
    "CategoryEncoding",
    "Concatenate",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Convolution1D",
    "Convolution1DTranspose",
    "Convolution2D",
    "Convolution2DTranspose",
    "Convolution3D",
    "Convolution3DTranspose",
    "Cropping1D",
    "Cropping2D",
    "Cropping3D",
    "Dense",
    "DepthwiseConv1D",
    "DepthwiseConv2D",
    "Discretization",
    "Dot",
    "Dropout",
    "ELU",
    "EinsumDense",
    "Embedding",
    "Flatten",
    "GRU",
    "GRUCell",
    "GaussianDropout",
    "GaussianNoise",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAveragePooling3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GlobalMaxPooling3D",
    "GroupNormalization",
    "HashedCrossing",
    "Hashing",
    "Identity",
    "InputSpec",
    "IntegerLookup",
    "LSTM",
    "LSTMCell",
    "Lambda",
    "Layer",
    "LayerNormalization",
    "LeakyReLU",
    "Masking",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "Maximum",
    "Minimum",
    "MultiHeadAttention",
    "Multiply",
    "Normalization",
    "PReLU",
    "Permute",
    "RMSNormalization",
    "RNN",
    "ReLU",
    "RepeatVector",
    "Rescaling",
    "Reshape",
    "SeparableConv1D",
    "SeparableConv2D",
    "SeparableConvolution1D",
    "SeparableConvolution2D",
    "SimpleRNN",
    "SimpleRNNCell",
    "Softmax",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "StackedRNNCells",
    "StringLookup",
    "Subtract",
    "TextVectorization",
    "TimeDistributed",
    "UnitNormalization",
    "UpSampling1D",
    "UpSampling2D",
    "UpSampling3D",
    "Wrapper",
    "ZeroPadding1D",
    "ZeroPadding2D",
    "ZeroPadding3D",
    "add",
    "average",
    "concatenate",
    "deserialize",
    "dot",
    "maximum",
    "minimum",
    "multiply",
    "serialize",
    "subtract",
    "AugMix",
    "AutoContrast",
    "CenterCrop",
    "CutMix",
    "Equalization",
    "MaxNumBoundingBoxes",
    "MixUp",
    "Pipeline",
    "RandAugment",
    "RandomBrightness",
    "RandomColorDegeneration",
    "RandomColorJitter",
    "RandomContrast",
    "RandomCrop",
    "RandomElasticTransform",
    "RandomErasing",
    "RandomFlip",
    "RandomGaussianBlur",
    "RandomGrayscale",
    "RandomHue",
    "RandomInvert",
    "RandomPerspective",
    "RandomPosterization",
    "RandomRotation",
    "RandomSaturation",
    "RandomSharpness",
    "RandomShear",
    "RandomTranslation",
    "RandomZoom",
    "Resizing",
    "Solarization",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_IMAGES = """
AugMix AutoContrast CenterCrop CutMix Equalization MaxNumBoundingBoxes MixUp Pipeline RandAugment
RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast RandomCrop
RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHue
RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness
RandomShear RandomTranslation RandomZoom Resizing Solarization
""".split()
# Layers whose modules are imported when they are first used.
_LAZY = {
    "CategoryEncoding": "categories",
    "Discretization": "categories",
    "HashedCrossing": "categories",
    "Hashing": "categories",
    "IntegerLookup": "lookup",
    "StringLookup": "lookup",
    "TextVectorization": "text_vectorization",
    "FlaxLayer": "foreign",
    "JaxLayer": "foreign",
    "TFSMLayer": "foreign",
    "TorchModuleWrapper": "foreign",
    **dict.fromkeys(_IMAGES, "image_preprocessing"),
    "MelSpectrogram": "spectrogram",
    "STFTSpectrogram": "spectrogram",
}

if _typing.TYPE_CHECKING:
    from .categories import CategoryEncoding, Discretization, HashedCrossing, Hashing
    from .foreign import FlaxLayer, JaxLayer, TFSMLayer, TorchModuleWrapper
    from .image_preprocessing import (
        AugMix,
        AutoContrast,
        CenterCrop,
        CutMix,
        Equalization,
        MaxNumBoundingBoxes,
        MixUp,
        Pipeline,
        RandAugment,
        RandomBrightness,
        RandomColorDegeneration,
        RandomColorJitter,
        RandomContrast,
        RandomCrop,
        RandomElasticTransform,
        RandomErasing,
        RandomFlip,
        RandomGaussianBlur,
        RandomGrayscale,
        RandomHue,
        RandomInvert,
        RandomPerspective,
        RandomPosterization,
        RandomRotation,
        RandomSaturation,
        RandomSharpness,
        RandomShear,
        RandomTranslation,
        RandomZoom,
        Resizing,
        Solarization,
    )
    from .lookup import IntegerLookup, StringLookup
    from .spectrogram import MelSpectrogram, STFTSpectrogram
    from .text_vectorization import TextVectorization


def _load_lazily(name: str) -> _typing.Any:
    if name not in _LAZY:
        return _getter(__name__)(name)
    value = getattr(_import_module(f"{__name__}.{_LAZY[name]}"), name)
    _name_constructors([value])
    _guard([value])
    return value


if not _typing.TYPE_CHECKING:
    __getattr__ = _load_lazily

for _kind in (Dense, EinsumDense, Conv1D, Conv2D, Conv3D):
    _elsewhere(_kind, _KERNEL)
_elsewhere(Embedding, _EMBEDDINGS)
_tell(LSTM, "keras.layers.LSTM")
