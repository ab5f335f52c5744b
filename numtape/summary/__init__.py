"""``tf.summary``: numbers, histograms, images and texts for TensorBoard.

The package tensorboardX writes the files (``pip install 'numtape[tensorboard]'``). A function that
writes summaries runs as plain Python, because a recording cannot repeat what it writes. Start
reading at `create_file_writer`.
"""

from __future__ import annotations

import os
import typing as _typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from ..core.log.as_tensor import as_tensor
from ..core.log.log import current_name_scope, local
from ..core.log.variable import Variable
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from . import experimental
from .tensorboard import SummaryWriter, state

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike, TensorLike

__all__ = [
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

Array = np.ndarray[Any, Any]


def create_file_writer(
    logdir: str | os.PathLike[str],
    max_queue: IntLike | None = None,
    flush_millis: IntLike | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
) -> SummaryWriter:
    """Create a writer of TensorBoard's event files.

    Args:
      logdir: The folder.
      max_queue: The number of summaries that are kept before a write; default: 10.
      flush_millis: The longest time in milliseconds between writes; default: two minutes.
      filename_suffix: The end of the file's name.
      name: Not used.
      experimental_trackable: Not used.

    Returns:
      A `SummaryWriter`, with ``as_default``, ``flush`` and ``close``.

    Raises:
      ImportError: If tensorboardX is not installed.

    Example:
      >>> import importlib.util, tempfile
      >>> writer = tf.summary.create_noop_writer()
      >>> if importlib.util.find_spec("tensorboardX"):
      ...     writer = tf.summary.create_file_writer(tempfile.mkdtemp())
      >>> with writer.as_default(step=1):
      ...     _ = tf.summary.scalar("loss", 0.5)
      >>> writer.close()
      >>> type(writer).__name__
      'SummaryWriter'
    """
    if logdir is None:
        return create_noop_writer()
    local.log.refuse("it creates a file")
    return SummaryWriter(
        logdir,
        None if max_queue is None else int(max_queue),
        None if flush_millis is None else int(flush_millis),
        filename_suffix,
    )


def create_noop_writer() -> SummaryWriter:
    """Create a writer that writes nothing.

    Returns:
      A `SummaryWriter`.

    Example:
      >>> with tf.summary.create_noop_writer().as_default():
      ...     bool(tf.summary.scalar("loss", 0.5, step=1))
      False
    """
    return SummaryWriter(None)


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Write what a writer keeps to its file.

    Args:
      writer: The writer; default: the current one.
      name: Not used.

    Example:
      >>> tf.summary.flush() is None
      True
    """
    writer = state.writer if writer is None else writer
    if writer is not None:
        local.log.refuse("it writes to a file")
        writer.flush()


@contextmanager
def record_if(condition: bool | TensorLike | Callable[[], Any]) -> Iterator[None]:
    """Write summaries inside of a ``with`` block only if a condition holds.

    Args:
      condition: A bool, or a function without arguments that is called for each summary.

    Example:
      >>> with tf.summary.record_if(False):
      ...     bool(tf.summary.should_record_summaries())
      False
    """
    outer_condition = state.condition
    state.condition = condition
    try:
        yield
    finally:
        state.condition = outer_condition


def should_record_summaries() -> Tensor:
    """Return whether summaries are written now: there is a writer, and the condition holds.

    Returns:
      A bool tensor.

    Example:
      >>> bool(tf.summary.should_record_summaries())
      False
    """
    local.log.refuse("it asks whether summaries are written")
    return as_tensor(np.bool_(_is_recording()))


def _is_recording() -> bool:
    condition = state.condition
    return state.writer is not None and bool(condition() if callable(condition) else condition)


def _write(name: str, step: Any, data: Any, add: Callable[[Any, str, Any, int], object]) -> Tensor:
    """Write one summary if summaries are written. Return whether it was written."""
    local.log.refuse("it writes a summary")
    if not _is_recording():
        return as_tensor(np.bool_(False))
    at = state.step if step is None else step
    if at is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    tag, number = f"{current_name_scope()}{name}", int(at)
    value = data.numpy() if isinstance(data, Tensor | Variable) else data
    writer = state.writer
    assert writer is not None
    return as_tensor(np.bool_(writer.write(lambda out: add(out, tag, value, number))))


def scalar(
    name: str, data: TensorLike, step: IntLike | None = None, description: str | None = None
) -> Tensor:
    """Write a number.

    Args:
      name: The name, which has the current `name_scope` before it.
      data: A real scalar.
      step: The step; default: that of `tf.summary.experimental.set_step`.
      description: Not used.

    Returns:
      Whether it was written: False without a writer.

    Raises:
      ValueError: If no step is given or set.
      InvalidArgumentError: If it is no scalar.

    Example:
      >>> bool(tf.summary.scalar("loss", 0.5, step=1))
      False
    """

    def add(out: Any, tag: str, value: Any, number: int) -> None:
        array = np.asarray(value)
        if array.size != 1 or array.ndim:
            raise InvalidArgumentError(f"tf.summary.scalar() takes a scalar, got {array.shape}.")
        out.add_scalar(tag, float(array), number)

    return _write(name, step, data, add)


def histogram(
    name: str,
    data: TensorLike,
    step: IntLike | None = None,
    buckets: IntLike | None = None,
    description: str | None = None,
) -> Tensor:
    """Write a histogram of a tensor's elements.

    Args:
      name: The name, which has the current `name_scope` before it.
      data: A real tensor of any shape.
      step: The step; default: that of `tf.summary.experimental.set_step`.
      buckets: The number of buckets; default: 30.
      description: Not used.

    Returns:
      Whether it was written: False without a writer.

    Raises:
      ValueError: If no step is given or set.

    Example:
      >>> bool(tf.summary.histogram("weights", [0.5, 1.5], step=1))
      False
    """

    def add(out: Any, tag: str, value: Any, number: int) -> None:
        values = np.asarray(value, np.float64).ravel()
        edges = np.histogram_bin_edges(values, 30 if buckets is None else int(buckets))
        out.add_histogram(tag, values, number, bins=edges)

    return _write(name, step, data, add)


def image(
    name: str,
    data: TensorLike,
    step: IntLike | None = None,
    max_outputs: IntLike = 3,
    description: str | None = None,
) -> Tensor:
    """Write images.

    Args:
      name: The name, which has the current `name_scope` before it.
      data: Images of shape (images, height, width, channels) with 1 to 4 channels: uint8, or
        floats from 0 to 1.
      step: The step; default: that of `tf.summary.experimental.set_step`.
      max_outputs: The largest number of images to write.
      description: Not used.

    Returns:
      Whether they were written: False without a writer.

    Raises:
      ValueError: If no step is given or set.
      InvalidArgumentError: If ``data`` has another rank.

    Example:
      >>> bool(tf.summary.image("digits", tf.zeros([2, 8, 8, 1]), step=1))
      False
    """

    def add(out: Any, tag: str, value: Any, number: int) -> None:
        images = np.asarray(value)
        if images.ndim != 4 or images.shape[-1] not in (1, 2, 3, 4):
            raise InvalidArgumentError(
                f"tf.summary.image() takes images of shape (images, height, width, channels) with "
                f"1 to 4 channels, got {images.shape}."
            )
        if images.dtype != np.uint8:
            images = np.clip(images.astype(np.float64) * 255.999, 0, 255).astype(np.uint8)
        if images.shape[-1] == 2:  # gray and opacity
            images = images[..., [0, 0, 0, 1]]
        for k, picture in enumerate(images[: int(max_outputs)]):
            picture_tag = f"{tag}/{k}" if len(images) > 1 else tag
            out.add_image(picture_tag, picture, number, dataformats="HWC")

    return _write(name, step, data, add)


def text(
    name: str, data: Any, step: IntLike | None = None, description: str | None = None
) -> Tensor:
    """Write a text, which TensorBoard shows as Markdown.

    Args:
      name: The name, which has the current `name_scope` before it.
      data: A string, or an array of strings, one a paragraph.
      step: The step; default: that of `tf.summary.experimental.set_step`.
      description: Not used.

    Returns:
      Whether it was written: False without a writer.

    Raises:
      ValueError: If no step is given or set.

    Example:
      >>> bool(tf.summary.text("notes", "a text", step=1))
      False
    """

    def add(out: Any, tag: str, value: Any, number: int) -> None:
        parts = np.asarray(value, object).ravel().tolist()
        lines = [x.decode("utf-8") if isinstance(x, bytes) else str(x) for x in parts]
        out.add_text(tag, "\n\n".join(lines), number)

    return _write(name, step, data, add)


def audio(
    name: str,
    data: TensorLike,
    sample_rate: IntLike,
    step: IntLike | None = None,
    max_outputs: IntLike = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Write sounds. The package soundfile encodes them for tensorboardX.

    Args:
      name: The name, which has the current `name_scope` before it.
      data: Sounds of shape (sounds, samples, channels): floats from -1 to 1.
      sample_rate: The number of samples a second.
      step: The step; default: that of `tf.summary.experimental.set_step`.
      max_outputs: The largest number of sounds to write.
      encoding: "wav", the only encoding.
      description: Not used.

    Returns:
      Whether they were written: False without a writer.

    Raises:
      ValueError: If no step is given or set, or another encoding is.
      InvalidArgumentError: If ``data`` has another rank.

    Example:
      >>> bool(tf.summary.audio("tone", tf.zeros([1, 100, 1]), 8000, step=1))
      False
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}. It must be 'wav'.")

    def add(out: Any, tag: str, value: Any, number: int) -> None:
        sounds = np.asarray(value)
        if sounds.ndim != 3:
            raise InvalidArgumentError(
                f"tf.summary.audio() takes sounds of shape (sounds, samples, channels), got "
                f"{sounds.shape}."
            )
        for k, sound in enumerate(sounds[: int(max_outputs)]):
            out.add_audio(f"{tag}/{k}" if len(sounds) > 1 else tag, sound, number, int(sample_rate))

    return _write(name, step, data, add)


_guard_module(__name__)
