"""Argument names, their order and their defaults, as programs written for TensorFlow use them."""

import functools
import inspect

import pytest

SIGNATURES = """
Variable.assign(value)
Variable.assign_add(delta)
Variable.assign_sub(delta)
GradientTape(persistent=False, watch_accessed_variables=True)
GradientTape.watch(tensor)
GradientTape.gradient(target, sources, output_gradients=None)
GradientTape.jacobian(target, sources)
GradientTape.batch_jacobian(target, source)
Module(name=None)
stop_gradient(input)
constant(value, dtype=None, shape=None)
convert_to_tensor(value, dtype=None, dtype_hint=None)
cast(x, dtype)
zeros(shape)
ones(shape)
fill(dims, value)
eye(num_rows, num_columns=None, batch_shape=None)
range(start, limit=None, delta=1, dtype=None)
linspace(start, stop, num)
zeros_like(input, dtype=None)
ones_like(input, dtype=None)
random.normal(shape, mean=0.0, stddev=1.0)
random.uniform(shape, minval=0, maxval=None)
random.set_seed(seed)
reduce_sum(input_tensor, axis=None, keepdims=False)
reduce_mean(input_tensor, axis=None, keepdims=False)
math.reduce_max(input_tensor, axis=None, keepdims=False)
reduce_all(input_tensor, axis=None, keepdims=False)
argmax(input, axis=None)
argmin(input, axis=None)
matmul(a, b, transpose_a=False, transpose_b=False)
tensordot(a, b, axes)
norm(tensor, ord='euclidean', axis=None, keepdims=None)
reshape(tensor, shape)
transpose(a, perm=None)
expand_dims(input, axis)
squeeze(input, axis=None)
broadcast_to(input, shape)
concat(values, axis)
stack(values, axis=0)
unstack(value, num=None, axis=0)
split(value, num_or_size_splits, axis=0)
gather(params, indices)
tile(input, multiples)
pad(tensor, paddings, mode='CONSTANT', constant_values=0)
where(condition, x=None, y=None)
strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0)
boolean_mask(tensor, mask, axis=None)
gather(params, indices, validate_indices=None, axis=None, batch_dims=0)
gather_nd(params, indices, batch_dims=0)
scatter_nd(indices, updates, shape)
tensor_scatter_nd_add(tensor, indices, updates)
tensor_scatter_nd_sub(tensor, indices, updates)
tensor_scatter_nd_update(tensor, indices, updates)
roll(input, shift, axis)
reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None)
sequence_mask(lengths, maxlen=None)
space_to_batch(input, block_shape, paddings)
batch_to_space(input, block_shape, crops)
nn.space_to_depth(input, block_size, data_format='NHWC')
nn.depth_to_space(input, block_size, data_format='NHWC')
image.extract_patches(images, sizes, strides, rates, padding)
dynamic_partition(data, partitions, num_partitions)
dynamic_stitch(indices, data)
add_n(inputs)
clip_by_norm(t, clip_norm, axes=None)
clip_by_global_norm(t_list, clip_norm, use_norm=None)
sort(values, axis=-1, direction='ASCENDING')
argsort(values, axis=-1, direction='ASCENDING', stable=False)
searchsorted(sorted_sequence, values, side='left')
unique(x)
math.top_k(input, k=1, sorted=True)
math.in_top_k(targets, predictions, k)
math.segment_sum(data, segment_ids)
math.unsorted_segment_sum(data, segment_ids, num_segments)
math.cumprod(x, axis=0, exclusive=False, reverse=False)
math.bincount(arr, weights=None, minlength=None, maxlength=None)
math.confusion_matrix(labels, predictions, num_classes=None, weights=None)
math.l2_normalize(x, axis=None, epsilon=1e-12)
nn.weighted_moments(x, axes, frequency_weights, keepdims=False)
clip_by_value(t, clip_value_min, clip_value_max)
sin(x)
math.log(x)
sqrt(x)
add(x, y)
maximum(x, y)
pow(x, y)
equal(x, y)
nn.relu(features)
nn.sigmoid(x)
nn.softplus(features)
nn.softmax(logits, axis=None)
nn.log_softmax(logits, axis=None)
nn.softmax_cross_entropy_with_logits(labels, logits, axis=-1)
nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
nn.sigmoid_cross_entropy_with_logits(labels=None, logits=None)
image.adjust_contrast(images, contrast_factor)
keras.layers.Dense(units, activation=None, use_bias=True)
keras.optimizers.SGD(learning_rate=0.01, momentum=0.0, nesterov=False)
keras.optimizers.Adam(learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-07)
"""


@pytest.mark.parametrize("line", SIGNATURES.split("\n")[1:-1])
def test_leading_arguments(tf, line):
    path, _, arguments = line.rstrip(")").partition("(")
    function = functools.reduce(getattr, path.split("."), tf)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    shown = [str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters]
    expected = arguments.split(", ")
    assert shown[: len(expected)] == expected


def test_keywords_of_a_variable(tf):
    options = {"trainable": False, "name": "x", "dtype": tf.float64}
    v = tf.Variable(initial_value=1, **options)
    assert {name: getattr(v, name) for name in options} == {**options, "name": "x:0"}


@pytest.mark.numtape_only(reason="Keras leaves it to Python's version")
def test_classes_of_layers_show_what_their_constructors_take(tf):
    """Also before Python 3.11.4, which would show the parameters of ``__new__``."""
    for kind in (tf.keras.layers.Dense, tf.keras.Layer, tf.keras.Model):
        wanted = [*inspect.signature(kind.__init__).parameters][1:]
        assert [*kind.__signature__.parameters] == wanted
    assert not hasattr(tf.keras.layers.Dense(2), "__signature__")


def test_every_function_takes_a_name(tf):
    x = tf.constant([1.0, 2.0], name="x")
    for value in (tf.add(x, x, name="a"), tf.sin(x, name="b"), tf.reshape(x, (2, 1), name="c")):
        assert value.shape[0] == 2
    assert tf.reduce_sum(x, name="d").numpy() == 3.0
