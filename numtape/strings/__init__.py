"""``tf.strings``: functions of tensors of strings, computed with Python's bytes.

`text` maps strings to strings and numbers, `parts` splits and joins them, `hashing` assigns them to
buckets. Results with rows of different lengths are ragged tensors.
"""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from . import ragged as _ragged
from .hashing import to_hash_bucket, to_hash_bucket_fast, to_hash_bucket_strong
from .parts import (
    bytes_split,
    ngrams,
    split,
    unicode_decode,
    unicode_decode_with_offsets,
    unicode_encode,
    unicode_split,
    unicode_split_with_offsets,
    unicode_transcode,
)
from .text import (
    as_string,
    format,
    join,
    length,
    lower,
    reduce_join,
    regex_full_match,
    regex_replace,
    strip,
    substr,
    to_number,
    unsorted_segment_join,
    upper,
)

_handlers = _ragged  # imported for the handlers that it registers

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_guard_module(__name__)
if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
