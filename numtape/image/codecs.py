"""Decoding and encoding of image files, with Pillow.

Files are bytes; a traced call that uses one of these functions runs as Python.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ..core.log.as_tensor import as_tensor
from ..core.log.string_tensor import of_strings, to_bytes
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError, UnimplementedError
from .arguments import describe, to_array
from .colors import convert_image_dtype

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, StringLike, TensorLike

Array = np.ndarray[Any, Any]

_ERRORS = (
    "InvalidArgumentError: If the bytes are not a file of this kind, or an argument is invalid.\n"
    "ImportError: If Pillow is not installed."
)
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
# The first bytes of a file, by format.
_SIGNATURES = {
    "JPEG": b"\xff\xd8\xff",
    "PNG": b"\x89PNG\r\n\x1a\n",
    "GIF": b"GIF8",
    "BMP": b"BM",
}


def import_pillow() -> Any:
    """Return Pillow's module of images."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "Reading and writing images needs Pillow: pip install 'numtape[image]'"
        ) from error
    return Image


def _format_of(contents: bytes) -> str | None:
    for name, start in _SIGNATURES.items():
        if contents.startswith(start):
            return name
    return "WEBP" if contents[:4] == b"RIFF" and contents[8:12] == b"WEBP" else None


def _open(contents: StringLike, formats: tuple[str, ...], op: str) -> Any:
    """Open a file of one of the formats."""
    data = to_bytes(contents)
    if _format_of(data) not in formats:
        raise InvalidArgumentError(
            f"Expected image ({', '.join(formats)}), got unknown format starting with "
            f"{data[:16]!r} [Op:{op}]"
        )
    try:
        picture = import_pillow().open(io.BytesIO(data), formats=formats)
        picture.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidArgumentError(f"Invalid image data: {error} [Op:{op}]") from error
    return picture


def _check_channels(channels: IntLike, accepted: tuple[int, ...], op: str) -> int:
    count = int(channels)
    if count not in accepted:
        raise InvalidArgumentError(f"channels must be one of {accepted}, got {count} [Op:{op}]")
    return count


def _to_pixels(picture: Any, channels: int) -> Array:
    """Return pixels (height, width, channels); 0 channels are those of the file."""
    if picture.mode.startswith(("I", "F")):  # 16 bits
        array = np.asarray(picture).astype(np.uint16)[..., None]
        if channels in (2, 4):
            opaque = np.full_like(array, np.iinfo(np.uint16).max)
            return np.concatenate([np.repeat(array, channels - 1, -1), opaque], -1)
        return np.repeat(array, channels, -1) if channels else array
    if picture.mode == "1":
        picture = picture.convert("L")
    if picture.mode == "P" or (picture.mode in ("CMYK", "YCbCr") and not channels):
        picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
    if channels:
        picture = picture.convert(_MODES[channels])
    array = np.asarray(picture)
    return array[..., None] if array.ndim == 2 else array


@describe(
    "A uint8 tensor (height, width, channels).",
    _ERRORS,
    channels="1 or 3; 0 for the file's number.",
)
def decode_jpeg(
    contents: StringLike,
    channels: IntLike = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode a JPEG file.

    >>> contents = tf.io.encode_jpeg(np.full((8, 8, 3), 100, np.uint8))
    >>> tf.image.decode_jpeg(contents).shape
    TensorShape([8, 8, 3])
    """
    op = "DecodeJpeg"
    count = _check_channels(channels, (0, 1, 3), op)
    if ratio not in (1, 2, 4, 8):
        raise InvalidArgumentError(f"ratio must be 1, 2, 4, or 8, got {ratio} [Op:{op}]")
    if try_recover_truncated or acceptable_fraction != 1 or not fancy_upscaling:
        raise UnimplementedError(
            "numtape decodes whole files, with smooth upscaling: leave out try_recover_truncated, "
            "acceptable_fraction and fancy_upscaling."
        )
    data = to_bytes(contents)
    if _format_of(data) != "JPEG":
        return _decode(data, count, op)
    picture = import_pillow().open(io.BytesIO(data), formats=("JPEG",))
    if ratio > 1:
        picture.draft(None, (picture.width // ratio, picture.height // ratio))
    try:
        return tf.convert_to_tensor(_to_pixels(picture, count))
    except OSError as error:
        raise InvalidArgumentError(f"Invalid JPEG data: {error} [Op:{op}]") from error


@describe(
    "A uint8 tensor (height, width, channels).",
    _ERRORS,
    channels="1 or 3; 0 for the file's number.",
)
def decode_and_crop_jpeg(
    contents: StringLike,
    crop_window: TensorLike,
    channels: IntLike = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode a part of a JPEG file.

    >>> contents = tf.io.encode_jpeg(np.full((8, 8, 3), 100, np.uint8))
    >>> tf.io.decode_and_crop_jpeg(contents, [0, 0, 4, 2]).shape
    TensorShape([4, 2, 3])
    """
    image = decode_jpeg(
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
        dct_method,
    )
    window = [int(n) for n in np.asarray(crop_window).ravel()]
    height, width = (int(n) for n in image.shape[:2])
    if len(window) != 4 or not (
        0 <= window[0] < window[0] + window[2] <= height
        and 0 <= window[1] < window[1] + window[3] <= width
    ):
        raise InvalidArgumentError(f"Invalid JPEG crop window: {window} in {(height, width)}")
    top, left, rows, columns = window
    return image[top : top + rows, left : left + columns]


@describe(
    "A tensor (height, width, channels).",
    _ERRORS,
    channels="1, 3 or 4; 0 for the file's number.",
    dtype="uint8 or uint16.",
)
def decode_png(
    contents: StringLike,
    channels: IntLike = 0,
    dtype: DTypeLike = "uint8",
    name: str | None = None,
) -> Tensor:
    """Decode a PNG file.

    >>> contents = tf.io.encode_png(np.array([[[1], [2]]], np.uint8))
    >>> tf.image.decode_png(contents).numpy().tolist()
    [[[1], [2]]]
    """
    op, kind = "DecodePng", tf.as_dtype(dtype)
    count = _check_channels(channels, (0, 1, 2, 3, 4), op)
    if kind not in (tf.uint8, tf.uint16):
        raise TypeError(f"dtype must be uint8 or uint16, got {kind.name}.")
    return _decode(to_bytes(contents), count, op, kind)


@describe(
    "A uint8 tensor (height, width, channels).",
    _ERRORS,
    channels="3 or 4; 0 for the file's number.",
)
def decode_bmp(contents: StringLike, channels: IntLike = 0, name: str | None = None) -> Tensor:
    """Decode a BMP file.

    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (2, 1), (1, 2, 3)).save(file, "BMP")
    >>> tf.image.decode_bmp(file.getvalue()).numpy().tolist()
    [[[1, 2, 3], [1, 2, 3]]]
    """
    op = "DecodeBmp"
    count = _check_channels(channels, (0, 3, 4), op)
    return tf.convert_to_tensor(_to_pixels(_open(contents, ("BMP",), op), count))


def _frames(contents: StringLike, op: str) -> Array:
    """Return all frames of a GIF file, (frames, height, width, 3)."""
    picture = _open(contents, ("GIF", "JPEG", "PNG"), op)
    frames = []
    for number in range(getattr(picture, "n_frames", 1)):
        picture.seek(number)
        frames.append(np.asarray(picture.convert("RGB")))
    return np.stack(frames)


@describe("A uint8 tensor (frames, height, width, 3).", _ERRORS)
def decode_gif(contents: StringLike, name: str | None = None) -> Tensor:
    """Decode all frames of a GIF file.

    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (2, 1), (255, 0, 0)).save(file, "GIF")
    >>> tf.image.decode_gif(file.getvalue()).numpy().tolist()
    [[[[255, 0, 0], [255, 0, 0]]]]
    """
    return tf.convert_to_tensor(_frames(contents, "DecodeGif"))


@describe(
    "A uint8 tensor (height, width, channels).",
    _ERRORS,
    channels="3 or 4; 0 for the file's number.",
    dtype="Must be uint8.",
)
def decode_webp(
    contents: StringLike, channels: IntLike = 0, dtype: DTypeLike = "uint8", name: str | None = None
) -> Tensor:
    """Decode a WebP file, or its first frame.

    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (2, 1)).save(file, "WEBP", lossless=True)
    >>> tf.image.decode_webp(file.getvalue()).numpy().tolist()
    [[[0, 0, 0], [0, 0, 0]]]
    """
    op = "DecodeWebP"
    if tf.as_dtype(dtype) is not tf.uint8:
        raise TypeError(f"dtype must be uint8, got {tf.as_dtype(dtype).name}.")
    count = _check_channels(channels, (0, 3, 4), op)
    return tf.convert_to_tensor(_to_pixels(_open(contents, ("WEBP",), op), count))


def _decode(contents: bytes, channels: int, op: str, dtype: DTypeLike = tf.uint8) -> Tensor:
    """Decode a still image of any format, or a GIF file of one frame."""
    kind = _format_of(contents)
    if kind == "BMP":
        raise InvalidArgumentError(
            f"Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` "
            f"instead [Op:{op}]"
        )
    _check_channels_of(kind, channels, op)
    if kind == "GIF":
        frames = _frames(contents, op)
        if len(frames) > 1:
            raise InvalidArgumentError(
                f"Got {len(frames)} frames, but animated gifs can only be decoded by decode_gif or "
                f"decode_image [Op:{op}]"
            )
        return tf.convert_to_tensor(frames[0])
    return _to_width(_to_pixels(_open(contents, ("JPEG", "PNG"), op), channels), dtype)


def _check_channels_of(kind: str | None, channels: int, op: str) -> None:
    accepted = {"GIF": (0, 3), "BMP": (0, 3, 4), "JPEG": (0, 1, 3)}.get(kind or "")
    if accepted is not None and channels not in accepted:
        raise InvalidArgumentError(
            f"channels must be one of {accepted} for {kind}, got {channels} [Op:{op}]"
        )


def _to_width(pixels: Array, dtype: DTypeLike) -> Tensor:
    """Convert 8 or 16 bits to 8 or 16 bits."""
    if pixels.dtype == np.uint16 and dtype is tf.uint8:
        pixels = (pixels >> 8).astype(np.uint8)
    elif pixels.dtype == np.uint8 and dtype is tf.uint16:
        pixels = pixels.astype(np.uint16) * 257
    return tf.convert_to_tensor(pixels)


@describe(
    "A tensor (height, width, channels), or (frames, height, width, 3) for a GIF file.",
    _ERRORS,
    dtype="uint8, uint16 or float32; floats lie in [0, 1].",
)
def decode_image(
    contents: StringLike,
    channels: IntLike | None = None,
    dtype: DTypeLike = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decode a BMP, GIF, JPEG or PNG file.

    >>> contents = tf.io.encode_png(np.array([[[0], [255]]], np.uint8))
    >>> tf.io.decode_image(contents, dtype=tf.float32).numpy().ravel()
    array([0., 1.], dtype=float32)
    """
    op, kind = "DecodeImage", tf.as_dtype(dtype)
    count = _check_channels(channels or 0, (0, 1, 3, 4), op)
    if kind not in (tf.uint8, tf.uint16, tf.float32):
        raise TypeError(f"dtype must be uint8, uint16 or float32, got {kind.name}.")
    data = to_bytes(contents)
    file_kind = _format_of(data)
    _check_channels_of(file_kind, count, op)
    if file_kind == "GIF":
        frames = _frames(data, op)
        image = tf.convert_to_tensor(frames if expand_animations else frames[0])
        return convert_image_dtype(image, kind) if kind is not tf.uint8 else image
    pixels = _to_pixels(_open(data, ("JPEG", "PNG", "BMP"), op), count)
    if kind is tf.float32 or file_kind != "PNG":
        return convert_image_dtype(tf.convert_to_tensor(pixels), kind)
    return _to_width(pixels, kind)


@describe("A bool tensor.", "TypeError: If the contents are not bytes.")
def is_jpeg(contents: StringLike, name: str | None = None) -> Tensor:
    """Tell whether bytes begin like a JPEG file.

    >>> tf.io.is_jpeg(b"GIF89a").numpy()
    np.False_
    """
    return tf.constant(to_bytes(contents).startswith(_SIGNATURES["JPEG"]))


@describe("The height, width and number of channels.", _ERRORS)
def extract_jpeg_shape(
    contents: StringLike, output_type: DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """Return the shape of the image in a JPEG file.

    >>> tf.io.extract_jpeg_shape(tf.io.encode_jpeg(np.zeros((4, 6, 3), np.uint8))).numpy()
    array([4, 6, 3], dtype=int32)
    """
    picture = _open(contents, ("JPEG",), "ExtractJpegShape")
    shape = [picture.height, picture.width, len(picture.getbands())]
    return tf.constant(shape, tf.as_dtype(output_type))


def _write(picture: Any, **options: Any) -> Any:
    file = io.BytesIO()
    picture.save(file, **options)
    return of_strings(file.getvalue())


def _to_picture(image: TensorLike, channels: tuple[int, ...], op: str) -> Any:
    pixels = to_array(image, op)
    if pixels.ndim != 3 or pixels.shape[-1] not in channels:
        raise InvalidArgumentError(
            f"image must have shape (height, width, channels) with {channels} channels, got "
            f"{pixels.shape} [Op:{op}]"
        )
    if pixels.dtype == np.uint16:
        if pixels.shape[-1] != 1:
            raise UnimplementedError("Pillow writes 16 bits of one channel only: use uint8.")
        return import_pillow().fromarray(pixels[..., 0])
    if pixels.dtype != np.uint8:
        raise TypeError(f"image must be of uint8, got {pixels.dtype}: use `convert_image_dtype`.")
    count = pixels.shape[-1]
    flat = np.ascontiguousarray(pixels[..., 0] if count == 1 else pixels)
    return import_pillow().fromarray(flat, _MODES[count])


@describe("The bytes of a JPEG file.", _ERRORS, image="A uint8 tensor (height, width, channels).")
def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: IntLike = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Any:
    """Encode an image of one or three channels as JPEG.

    >>> contents = tf.io.encode_jpeg(np.zeros((8, 8, 1), np.uint8))
    >>> tf.io.is_jpeg(contents).numpy()
    np.True_
    """
    op = "EncodeJpeg"
    if format not in ("", "grayscale", "rgb"):
        raise InvalidArgumentError(f"format must be '', 'grayscale' or 'rgb', got {format!r}")
    if not 0 <= int(quality) <= 100:
        raise InvalidArgumentError(f"quality must be in [0,100], got {int(quality)} [Op:{op}]")
    if density_unit not in ("in", "cm"):
        raise InvalidArgumentError(f"density_unit must be 'in' or 'cm', got {density_unit!r}")
    channels = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[format]
    picture = _to_picture(image, channels, op)
    per_inch = 2.54 if density_unit == "cm" else 1.0
    options = {"xmp": xmp_metadata.encode()} if xmp_metadata else {}
    return _write(
        picture,
        format="JPEG",
        quality=int(quality),
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
        dpi=(round(x_density * per_inch), round(y_density * per_inch)),
        **options,
    )


@describe(
    "The bytes of a PNG file.",
    _ERRORS,
    image="A tensor (height, width, channels) of uint8, or of uint16 and one channel.",
)
def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Any:
    """Encode an image of one to four channels as PNG.

    >>> contents = tf.io.encode_png(np.array([[[7]]], np.uint8))
    >>> tf.io.decode_png(contents).numpy()
    array([[[7]]], dtype=uint8)
    """
    if not -1 <= compression <= 9:
        raise InvalidArgumentError(f"compression should be in [-1,9], got {compression}")
    picture = _to_picture(image, (1, 2, 3, 4), "EncodePng")
    options = {} if compression < 0 else {"compress_level": compression}
    return _write(picture, format="PNG", **options)


@describe(raises=_ERRORS, image="An image (height, width, channels) of one or three channels.")
def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: IntLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """Encode and decode an image as JPEG.

    >>> tf.image.adjust_jpeg_quality(tf.ones((8, 8, 3)), 75).shape
    TensorShape([8, 8, 3])
    """
    x = as_tensor(image)
    channels = int(x.shape[-1])
    pixels = convert_image_dtype(x, tf.uint8, saturate=True)
    quality = int(to_array(jpeg_quality, "adjust_jpeg_quality"))
    decoded = decode_jpeg(encode_jpeg(pixels, quality=quality), channels)
    return convert_image_dtype(decoded, x.dtype, saturate=True)
