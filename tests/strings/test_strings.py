"""`tf.strings` and `tf.lookup`: results of TensorFlow 2.21 for the same arguments."""

import numpy as np
import pytest

import numtape as tf


def plain(x):
    """A result as nested lists, bytes and numbers."""
    if isinstance(x, tf.RaggedTensor):
        return x.to_list()
    return np.asarray(x).tolist()


# What TensorFlow returns.
CASES = (
    (lambda S: S.join([["a", "b"], "c"], separator="-"), [b"a-c", b"b-c"]),
    (lambda S: S.join(["a", "b"]), b"ab"),
    (lambda S: S.join([]), b""),
    (lambda S: S.lower("ABÉ"), b"ab\xc3\x89"),
    (lambda S: S.lower("ABÉ", encoding="utf-8"), b"ab\xc3\xa9"),
    (lambda S: S.upper("straße", encoding="utf-8"), b"STRASSE"),
    (lambda S: S.strip([" a\t\n", "\x0bq\x00 "]), [b"a", b"q\x00"]),
    (lambda S: S.length(["abc", "é", ""]), [3, 2, 0]),
    (lambda S: S.length(["abc", "é", ""], unit="UTF8_CHAR"), [3, 1, 0]),
    (lambda S: S.substr(["hello", "hé"], -1, 2), [b"o", b"\xa9"]),
    (lambda S: S.substr(["hello", "abc"], [1, 2], [2, 1]), [b"el", b"c"]),
    (lambda S: S.substr("hello", [1, 2], [2, 1]), [b"el", b"l"]),
    (lambda S: S.substr("hello", 5, 2), b""),
    (lambda S: S.substr("hello", 1, -1), b"ello"),
    (lambda S: S.substr(["héllo", "hé"], 1, 1, unit="UTF8_CHAR"), [b"\xc3\xa9", b"\xc3\xa9"]),
    (lambda S: S.regex_replace("abxd", "x*", "-"), b"-a-b-d-"),
    (lambda S: S.regex_replace("hello world", "o", "0", replace_global=False), b"hell0 world"),
    (lambda S: S.regex_replace("ab", "(a)(b)", r"\2\1\0"), b"baab"),
    (lambda S: S.regex_replace("a.b", r"\.", r"\\"), b"a\\b"),
    (lambda S: S.regex_replace("a$b\n", "b$", ""), b"a$b\n"),
    (lambda S: S.regex_replace("aXb", "(?i)x", "-"), b"a-b"),
    (lambda S: S.regex_replace("é1٣", r"[\d\w]", "-"), b"\xc3\xa9-\xd9\xa3"),
    (lambda S: S.regex_replace("ab", "a", r"\3"), b"ab"),
    (lambda S: S.regex_replace("ab", "a", r"\x"), b"b"),
    (lambda S: S.regex_replace("日本", ".", "-"), b"--"),
    (lambda S: S.regex_replace("ab1", "[[:alpha:]]", "-"), b"--1"),
    (
        lambda S: S.regex_replace("a-b[c]^", r"[!\"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']", ""),
        b"abc",
    ),
    (lambda S: S.regex_full_match(["abc", "abcd", "abc\n"], "abc"), [True, False, False]),
    (
        lambda S: S.to_number(["1", " -2.5e3", "0x1F", "1e400", "-inf", ".5"]),
        [1.0, -2500.0, 31.0, float("inf"), -float("inf"), 0.5],
    ),
    (lambda S: S.to_number(["1", " 1 ", "-3", "+4"], tf.int32), [1, 1, -3, 4]),
    (
        lambda S: S.as_string([3.14159, 1e10, float("nan"), float("inf")]),
        [b"3.141590", b"10000000000.000000", b"nan", b"inf"],
    ),
    (lambda S: S.as_string([True, False]), [b"true", b"false"]),
    (lambda S: S.as_string(3.14159, precision=2), b"3.14"),
    (lambda S: S.as_string(3.14159, scientific=True), b"3.141590e+00"),
    (lambda S: S.as_string(3.14159, shortest=True), b"3.14159"),
    (lambda S: S.as_string([5, 12], width=4, fill="0"), [b"0005", b"0012"]),
    (lambda S: S.as_string(5, width=4, fill="-"), b"5   "),
    (lambda S: S.as_string(tf.constant(1 + 2j)), b"(1.000000,2.000000)"),
    (
        lambda S: S.format("a {} b {}", (tf.range(8), tf.constant("q"))),
        b'a [0 1 2 ... 5 6 7] b "q"',
    ),
    (lambda S: S.format("%% {}", [tf.constant([[1.0, 2.5]])], placeholder="%%"), b"[[1 2.5]] {}"),
    (lambda S: S.reduce_join([["a", "b"], ["c", "d"]]), b"abcd"),
    (lambda S: S.reduce_join([["a", "b"], ["c", "d"]], [0, 1]), b"acbd"),
    (
        lambda S: S.reduce_join([["a", "b"], ["c", "d"]], 1, keepdims=True, separator=" "),
        [[b"a b"], [b"c d"]],
    ),
    (lambda S: S.reduce_join([["a", "b"], ["c", "d"]], [-1, 0], separator=","), b"a,b,c,d"),
    (lambda S: S.reduce_join(tf.zeros([2, 0], tf.string), 1), [b"", b""]),
    (
        lambda S: S.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 3, separator=":"),
        [b"b", b"a:c", b""],
    ),
    (
        lambda S: S.unsorted_segment_join([["a", "b"], ["c", "d"]], [[0, 1], [1, 0]], 2),
        [b"ad", b"bc"],
    ),
    (lambda S: S.split("a b  c"), [b"a", b"b", b"c"]),
    (lambda S: S.split(["a b", "c", ""]), [[b"a", b"b"], [b"c"], []]),
    (lambda S: S.split(["a,b,", "c", ""], sep=","), [[b"a", b"b", b""], [b"c"], [b""]]),
    (lambda S: S.split([" a b c "], maxsplit=1), [[b"a", b"b c "]]),
    (lambda S: S.split(["a "], maxsplit=1), [[b"a", b""]]),
    (lambda S: S.split([["a b", "c"], ["d", ""]]), [[[b"a", b"b"], [b"c"]], [[b"d"], []]]),
    (lambda S: S.bytes_split(["ab", "", "c"]), [[b"a", b"b"], [], [b"c"]]),
    (
        lambda S: S.ngrams(["a", "b", "c"], [1, 2], pad_values=("L", "R")),
        [b"a", b"b", b"c", b"L a", b"a b", b"b c", b"c R"],
    ),
    (
        lambda S: S.ngrams(S.split(["a b c", "d", ""]), 3, pad_values=("L", "R"), padding_width=1),
        [[b"L a b", b"a b c", b"b c R"], [b"L d R"], []],
    ),
    (
        lambda S: S.ngrams(S.split(["a b c", "d", ""]), [2, 3], preserve_short_sequences=True),
        [[b"a b", b"b c", b"a b c"], [b"d"], []],
    ),
    (lambda S: S.unicode_decode(["hé", "", "a"], "UTF-8"), [[104, 233], [], [97]]),
    (lambda S: S.unicode_decode(b"a\xf0\x9fb", "UTF-8", replacement_char=63), [97, 63, 98]),
    (lambda S: S.unicode_decode(b"a\xffb", "UTF-8", errors="ignore"), [97, 98]),
    (lambda S: S.unicode_decode("a\tb", "UTF-8", replace_control_characters=True), [97, 65533, 98]),
    (lambda S: S.unicode_decode("é".encode("utf-16-be"), "UTF-16-BE"), [233]),
    (lambda S: S.unicode_decode_with_offsets("hé😊", "UTF-8")[1], [0, 1, 3]),
    (lambda S: S.unicode_split(["hé", "q"], "UTF-8"), [[b"h", b"\xc3\xa9"], [b"q"]]),
    (
        lambda S: S.unicode_encode([[104, 233], [1, 2]], "UTF-16-BE"),
        [b"\x00h\x00\xe9", b"\x00\x01\x00\x02"],
    ),
    (lambda S: S.unicode_encode([0xD800, 65], "UTF-8"), b"\xef\xbf\xbdA"),
    (lambda S: S.unicode_transcode(b"a\xff", "UTF-8", "UTF-8", replacement_char=32), b"a "),
    (
        lambda S: S.to_hash_bucket_fast(
            ["a", "hello", "", "abcdefgh", "x" * 17, "y" * 33, "z" * 65, "w" * 200], 2**40
        ),
        [
            436859794915,
            726675229928,
            254201053263,
            178522695945,
            695575064485,
            984302882558,
            273332821813,
            31020218240,
        ],
    ),
    (
        lambda S: S.to_hash_bucket(["a", "hello", "", "abcdefgh", "x" * 17], 2**40),
        [825286642172, 798522768714, 142163811899, 519226784850, 522267767094],
    ),
    (
        lambda S: S.to_hash_bucket_strong(["a", "hello", "", "abcdefgh", "x" * 17], 2**40, [1, 2]),
        [201166748918, 34011838614, 231421486971, 921343509916, 732235822672],
    ),
    (lambda S: S.upper(S.split(["a b", "c"])), [[b"A", b"B"], [b"C"]]),
    (lambda S: S.reduce_join(S.split(["a b", "c"]), axis=-1, separator="+"), [b"a+b", b"c"]),
    (lambda S: S.join([S.split(["a b", "c"]), "!"]), [[b"a!", b"b!"], [b"c!"]]),
)


@pytest.mark.parametrize(("call", "expected"), CASES)
def test_results(call, expected):
    assert plain(call(tf.strings)) == expected


ERRORS = (
    (lambda S: S.substr("hello", 6, 2), "pos 6 out of range for string b'hello' at index 0"),
    (lambda S: S.join([["a", "b"], ["c"]]), "Input shapes do not match"),
    (lambda S: S.upper("a", encoding="latin1"), "only utf-8"),
    (lambda S: S.length("a", unit="Z"), "not in the list of allowed values"),
    (lambda S: S.regex_replace("a", "(", ""), r"Invalid pattern: \("),
    (lambda S: S.regex_replace("ab", "(?=b)", "-"), "invalid perl operator"),
    (lambda S: S.to_number("1_0"), "could not correctly convert string: 1_0"),
    (lambda S: S.to_number("2147483648", tf.int32), "could not correctly convert"),
    (lambda S: S.to_number("1", tf.uint8), "not in the list of allowed values"),
    (lambda S: S.as_string(5, precision=2), "precision not supported for datatype int32"),
    (lambda S: S.as_string(1.5, scientific=True, shortest=True), "Cannot select both"),
    (lambda S: S.reduce_join([["a"]], [0, 0]), "Duplicate reduction dimension 0"),
    (lambda S: S.unsorted_segment_join(["a"], [5], 2), "segment_ids are not allowed to exceed"),
    (lambda S: S.to_hash_bucket_fast("a", 0), "at least minimum 1"),
    (lambda S: S.to_hash_bucket_strong("a", 3, [1]), "Key must have 2 elements"),
    (lambda S: S.unicode_decode(b"\xff", "UTF-8", errors="strict"), "Invalid formatting"),
    (lambda S: S.unicode_decode("a", "UTF-9"), "Could not create converter"),
    (lambda S: S.unicode_encode([0x110000], "UTF-8", errors="strict"), "out of range"),
    (lambda S: S.lower([1]), "Cannot convert"),
)


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_errors(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call(tf.strings)


def test_unicode_classes_are_refused():
    with pytest.raises(tf.errors.UnimplementedError, match="class of Unicode characters"):
        tf.strings.regex_replace("é", r"\pL", "-")


def test_ngrams_check_their_options():
    with pytest.raises(ValueError, match="must be greater than 0"):
        tf.strings.ngrams(["a"], 0)
    with pytest.raises(TypeError, match="pad_values must be"):
        tf.strings.ngrams(["a", "b"], 2, pad_values=1)
