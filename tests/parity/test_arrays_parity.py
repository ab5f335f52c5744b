"""Array ops, IndexedSlices gradients and variables: each program also runs in TensorFlow."""

import os
import warnings

import numpy as np
import pytest

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]

PROGRAMS = """\
tf.gather_nd([[1,2],[3,4]],[[0,5]])
tf.gather_nd([[1,2],[3,4]],[[0.,1.]])
tf.gather_nd([[1,2],[3,4]],[[0,-1]])
tf.gather_nd([[1,2],[3,4]],[[0,0,0]])
tf.gather_nd([[1,2],[3,4]],1)
tf.gather_nd([[1,2],[3,4]],[1])
tf.gather_nd([[1,2],[3,4]],[])
tf.gather_nd([[1,2],[3,4]],tf.zeros((2,0),tf.int32))
tf.gather_nd(5,[[0]])
tf.gather_nd([[1,2],[3,4]],[[0,1]],bad_indices_policy='IGNORE')
tf.gather_nd([[1,2],[3,4]],[[0,7],[1,1]],bad_indices_policy='IGNORE')
tf.gather_nd([[1,2],[3,4]],[[1],[0]],batch_dims=1)
tf.gather_nd([[1,2],[3,4]],[[[1]],[[0]]],batch_dims=1)
tf.gather_nd([[1,2],[3,4]],[[1],[0]],batch_dims=2)
tf.gather_nd([[1,2],[3,4]],[[1],[0]],batch_dims=-1)
tf.gather_nd([[1,2],[3,4]],[[1],[0],[1]],batch_dims=1)
tf.scatter_nd([[0],[5]],[1.,2.],[3])
tf.scatter_nd([[0],[1]],[1.,2.],[3,2])
tf.scatter_nd([[0],[1]],[1.,2.,3.],[3])
tf.scatter_nd([[0],[1]],[True,False],[3])
tf.scatter_nd([0,1],1.,[3,3])
tf.scatter_nd([[0],[5]],[1.,2.],[3],bad_indices_policy='IGNORE')
tf.scatter_nd([[0],[1]],[1.,2.],[-3])
tf.scatter_nd([[0],[1]],[1.,2.],3)
tf.scatter_nd([[0.],[1.]],[1.,2.],[3])
tf.tensor_scatter_nd_add([1.,2.],[[0]],[1])
tf.tensor_scatter_nd_add([1.,2.],[[3]],[1.])
tf.tensor_scatter_nd_add([1.,2.],[[-1]],[1.])
tf.tensor_scatter_nd_update([True,False],[[1],[1]],[True,False])
tf.tensor_scatter_nd_update([1,2,3],[[1],[1]],[7,8])
tf.tensor_scatter_nd_update(1,[[1],[1]],[7,8])
tf.tensor_scatter_nd_update([1,2,3],[1],[7,8])
tf.tensor_scatter_nd_update([[1,2,3]],[0],[7,8,9])
tf.tensor_scatter_nd_update([1,2,3],[[4]],[7])
tf.tensor_scatter_nd_max([1.,np.nan,3],[[0],[1]],[np.nan,8])
tf.tensor_scatter_nd_sub([-0.0,2],[[1]],[1.])
tf.roll([1,2,3],1,0)
tf.roll([1,2,3],1,1)
tf.roll([1,2,3],[1],[0,0])
tf.roll(1,1,0)
tf.roll([1,2,3],[[1]],[[0]])
tf.roll([1,2,3],1.0,0)
tf.roll([[1,2,3]],[1,1],-1)
tf.roll([[1,2,3]],1,-1)
tf.reverse_sequence([[1,2,3],[4,5,6]],[2,9],1)
tf.reverse_sequence([[1,2,3],[4,5,6]],[2,-1],1)
tf.reverse_sequence([[1,2,3],[4,5,6]],[2,1])
tf.reverse_sequence([[1,2,3],[4,5,6]],[2,1],1,1)
tf.reverse_sequence([[1,2,3],[4,5,6]],[2,1],0,1)
tf.reverse_sequence([[1,2,3],[4,5,6]],[2,1],-1)
tf.reverse_sequence([[1,2,3],[4,5,6]],[2,1],5)
tf.reverse_sequence([[1,2,3],[4,5,6]],[2.,1.],1)
tf.reverse_sequence([[1,2,3],[4,5,6]],[[2,1]],1)
tf.meshgrid([1,2],[3,4,5])
tf.meshgrid([1,2],[3,4,5],indexing='ij')
tf.meshgrid([1,2],[3,4,5],indexing='zz')
tf.meshgrid([1,2],[3,4,5],foo=1)
tf.meshgrid()
tf.meshgrid([1,2])
tf.meshgrid(1.,[2.,3.])
tf.meshgrid([[1,2]],[2.,3.])
tf.meshgrid([True,False],[1,2])
tf.sequence_mask([1,3,2],4)
tf.sequence_mask([1,3,2])
tf.sequence_mask(2,4)
tf.sequence_mask([1.,3.,2.])
tf.sequence_mask([1,3],[4])
tf.sequence_mask([1,3],4,tf.float32)
tf.sequence_mask([-1,-3])
tf.sequence_mask([],3)
tf.sequence_mask([1,3],-1)
tf.sequence_mask(tf.constant([1,3],tf.int64),tf.constant(4))
tf.sequence_mask([1,3],4.0)
tf.nn.space_to_depth(tf.zeros((1,3,2,1)),2)
tf.nn.space_to_depth(tf.zeros((1,4,2)),2)
tf.nn.space_to_depth(tf.zeros((1,4,2,1)),1)
tf.nn.space_to_depth(tf.zeros((1,4,2,1)),2,'NWHC')
tf.nn.space_to_depth(tf.zeros((1,4,2,1)),2.)
tf.nn.depth_to_space(tf.zeros((1,4,2,1)),2)
tf.nn.depth_to_space(tf.reshape(tf.range(32),(1,2,2,8)),2)
tf.space_to_batch(tf.zeros((1,3,2,1)),[2,2],[[0,0],[0,0]])
tf.space_to_batch(tf.zeros((1,3,2,1)),[2,2],[[0,0]])
tf.space_to_batch(tf.zeros((1,3,2,1)),[0,2],[[0,0],[0,0]])
tf.space_to_batch(tf.zeros((1,3,2,1)),[2,2],[[-1,0],[0,0]])
tf.space_to_batch(tf.reshape(tf.range(12),(1,4,3)),[2,3],[[0,0],[1,2]])
tf.space_to_batch_nd(tf.zeros((1,)),[2],[[0,0]])
tf.batch_to_space(tf.zeros((3,1,1,1)),[2,2],[[0,0],[0,0]])
tf.batch_to_space(tf.zeros((4,1,1,1)),[2,2],[[0,0],[2,1]])
tf.batch_to_space(tf.zeros((4,1,1,1)),[2,2],[[0,0],[2,0]])
tf.batch_to_space(tf.zeros((4,1,1,1)),2,[[0,0],[1,0]])
tf.required_space_to_batch_paddings([10,11],[4,4],[[1,0],[0,2]])
tf.required_space_to_batch_paddings([10,11],[4],[[1,0],[0,2]])
tf.image.extract_patches(tf.zeros((1,5,5,1)),[1,6,1,1],[1,1,1,1],[1,1,1,1],'VALID')
tf.image.extract_patches(tf.zeros((1,5,5,1)),[1,2,2,1],[1,1,1,1],[1,1,1,1],'FOO')
tf.image.extract_patches(tf.zeros((1,5,5,1)),[1,2,2],[1,1,1,1],[1,1,1,1],'SAME')
tf.image.extract_patches(tf.zeros((5,5,1)),[1,2,2,1],[1,1,1,1],[1,1,1,1],'SAME')
tf.image.extract_patches(tf.reshape(tf.range(25.),(1,5,5,1)),[1,3,3,1],[1,2,2,1],[1,1,1,1],'SAME')
tf.image.extract_patches(tf.reshape(tf.range(25.),(1,5,5,1)),[1,3,3,1],[1,5,5,1],[1,2,2,1],'SAME')
tf.dynamic_partition([1.,2.,3.],[0,1,0],2)
tf.dynamic_partition([1.,2.,3.],[0,3,0],2)
tf.dynamic_partition([1.,2.,3.],[0,1],2)
tf.dynamic_partition([1.,2.,3.],[0,1,0],0)
tf.dynamic_partition([1.,2.,3.],1,2)
tf.dynamic_partition([1.,2.,3.],[0.,1.,0.],2)
tf.dynamic_partition([1.,2.,3.],tf.constant([0,1,0],tf.int64),2)
tf.dynamic_stitch([[0,2],[1]],[[1.,3.],[2.]])
tf.dynamic_stitch([0,[1,0]],[1.,[2.,5.]])
tf.dynamic_stitch([[0,2],[1]],[[1.,3.]])
tf.dynamic_stitch([],[])
tf.dynamic_stitch([[-1]],[[1.]])
tf.dynamic_stitch([[0]],[[1.,2.]])
tf.dynamic_stitch([[0],[1]],[[1.],[[2.]]])
tf.unravel_index([2,5,7],[3,3])
tf.unravel_index(5,[3,3])
tf.unravel_index(9,[3,3])
tf.unravel_index([[1]],[3,3])
tf.unravel_index([1.],[3,3])
tf.unravel_index([1],[3,0])
tf.unravel_index([1],3)
tf.math.invert_permutation([2,0,1])
tf.math.invert_permutation([2,0,0])
tf.math.invert_permutation([2,0,3])
tf.math.invert_permutation([[2,0,1]])
tf.math.invert_permutation([2.,0.])
tf.bitcast(1.0,tf.int32)
tf.bitcast([1.0,2.0],tf.uint8)
tf.bitcast([1.0,2.0],tf.float64)
tf.bitcast([1,2,3],tf.float64)
tf.bitcast([True],tf.uint8)
tf.bitcast([1],tf.bool)
tf.bitcast(1.0,tf.float64)
tf.broadcast_static_shape(tf.TensorShape([4,2]),tf.TensorShape([3,1]))
tf.broadcast_dynamic_shape([1,2],[3,1])
tf.broadcast_dynamic_shape([4,2],[3,1])
tf.broadcast_dynamic_shape([4,2],[])
tf.broadcast_dynamic_shape([[4,2]],[1])
tf.ensure_shape([1,2],[None])
tf.ensure_shape([1,2],[3])
tf.ensure_shape([1,2],[None,None])
tf.ensure_shape([1,2],None)
tf.shape_n([[1,2],3])
tf.shape_n([])
tf.identity_n([1,2.])
tf.identity_n([])
tf.identity_n(1.)
tf.guarantee_const([1])
tf.tensor_scatter_nd_max([1,2,3],[[0],[0]],[7,8])
""".splitlines()

# Also their derivatives by X, once as a variable and once as a watched tensor.
OF_X = """\
tf.gather(X,[0,2,0])
tf.gather(X,1)
tf.gather(X,tf.constant([[0,1]],tf.int64))
tf.gather(X,[0],axis=1)
tf.gather(X,[0],axis=-2)
tf.gather(X,[[0],[1],[0]],batch_dims=1)
tf.gather(tf.identity(X),[0])
tf.gather(tf.convert_to_tensor(X),[0])
tf.gather(X*2,[0])
[tf.gather(X,[0])*2,tf.gather(X,[1,2])*3]
tf.reduce_sum(tf.gather(X,[0]))+tf.reduce_sum(X)
tf.gather_nd(X,[[0],[2]])
tf.gather_nd(X,[[0,1]])
tf.boolean_mask(X,[True,False,True])
tf.nn.embedding_lookup(X,[0,1])
tf.nn.embedding_lookup(X,[[0,1]],max_norm=1.)
tf.repeat(X,[1,0,2],axis=0)
tf.dynamic_partition(X,[0,1,0],2)
tf.reverse_sequence(X,[1,2,1],1)
tf.roll(X,1,0)
tf.tensor_scatter_nd_update(X,[[1]],[[9.,9.]])
tf.tensor_scatter_nd_max(X,[[1]],[[3.,9.]])
tf.tensor_scatter_nd_min(X,[[1]],[[3.,9.]])
tf.tensor_scatter_nd_sub(X,[[1],[1]],X[:2])
tf.scatter_nd([[3],[1],[3]],X,[4,2])
tf.meshgrid(X[0],X[:,1])
tf.strided_slice(X,[0,0],[3,2],[2,1],shrink_axis_mask=2)
tf.strided_slice(X,[0,0],[3,2],begin_mask=1,end_mask=2,new_axis_mask=1)
tf.strided_slice(X,[1],[2],ellipsis_mask=1)
tf.guarantee_const(X)
tf.bitcast(X,tf.int32)
tf.ensure_shape(X,[3,None])*X
X[1]
X[...,tf.newaxis,-1]
X[::-1,0]
X[tf.constant(1)]
X[1:][0]
X[1.0]
X[[0,1]]
X[5]
X[0,0,0]
X['a']
X[True]
X[...,...]
X[::0]
X[5:]
X[tf.constant(1):]
X[np.array([True,False,True])]
X[tf.constant([True,False,True])]
X[None]
X[:,None,1]
X[-4]
X[1:2,...,0:1]
X[tf.constant([0,1])]
X[np.int64(1)]
X[slice(None,None,tf.constant(2))]
""".splitlines()

STATE = """\
tf.Variable([1.,2.]).constraint
tf.Variable([1.,2.],shape=[3])
tf.Variable([1.,2.],shape=[2])
tf.Variable(1.,constraint=lambda x:x).constraint(5)
tf.Variable(1.,constraint=3)
tf.Variable(1.,aggregation=5)
tf.Variable(1.,aggregation='sum')
tf.Variable(1.,synchronization=5)
tf.Variable(1.,import_scope='a')
tf.Variable(1.,caching_device='/CPU:0')
tf.Variable(1.,validate_shape=False)
tf.Variable(1.,experimental_enable_variable_lifting=True)
tf.Variable(1.,variable_def=None)
tf.Variable(1.,True,True,None,'n').name
tf.Variable(1.,True,True,None,'n',None,tf.float64).dtype
tf.Variable(1,dtype=tf.float64).dtype
tf.Variable(1.,dtype=tf.int32)
tf.Variable(tf.constant(1.),dtype=tf.float64)
tf.Variable()
tf.Variable(None)
tf.Variable(lambda: 3.)
tf.Variable(1.,name=3)
tf.Variable(1.,name='a/b').name
tf.Variable(1.,name='a b').name
tf.Variable(1.,name='').name
tf.Variable(1.,trainable=None).trainable
tf.Variable(1.,trainable='yes')
tf.Variable(1.).is_initialized()
tf.Variable(1.).initial_value
tf.Variable(1.).initializer
tf.Variable(1.).op
tf.Variable(1.).graph
tf.Variable(1.).create
tf.Variable(1.).eval()
tf.Variable(1.).to_proto()
tf.Variable([1.,2.]).set_shape([2])
tf.Variable([1.,2.]).set_shape([3])
len(tf.Variable([1.,2.]))
list(tf.Variable([1.,2.]))
tf.Variable([1.,2.]).device
tf.Variable([1.,2.]).tolist()
tf.Variable([1.,2.]).read_value_no_copy()
tf.Variable([1.,2.]).xyz
bool(tf.Variable([1.,2.]))
bool(tf.Variable(0.))
float(tf.Variable(2.))
int(tf.Variable(2.7))
float(tf.Variable([2.]))
complex(tf.Variable(3.))
tf.Variable([1.,2.]).assign([1.,2.,3.])
tf.Variable([1.,2.]).assign([1.,2.],read_value=False)
tf.Variable([1.,2.]).assign_add(1.)
tf.Variable([1.,2.]).assign_add([1,1])
tf.Variable([1.,2.]).assign(tf.constant([1,2]))
isinstance(tf.constant(1.),tf.Tensor)
isinstance(tf.Variable(1.),tf.Tensor)
isinstance(tf.Variable(1.),tf.Variable)
issubclass(type(tf.Variable(1.)),tf.Variable)
type(tf.Variable(1.)).__name__
tf.constant([1.,2.]).op
tf.constant([1.,2.]).graph
tf.constant([1.,2.]).name
tf.constant([1.,2.]).value_index
tf.constant([1.,2.]).consumers()
tf.constant([1.,2.]).backing_device
tf.constant([1.,2.]).nbytes
tf.constant([1.,2.]).tolist()
tf.constant([1.,2.]).size
tf.constant([1.,2.]).astype
tf.constant([1.,2.]).ravel
tf.constant([1.,2.]).reshape
tf.constant([1.,2.]).transpose
tf.constant([1.,2.]).clip
tf.constant([1.,2.]).mean
tf.constant([1.,2.]).sum
tf.constant([1.,2.]).max
tf.constant([1.,2.]).item
tf.constant([1.,2.]).data
tf.constant([1.,2.]).xyz
tf.constant([1.,2.]).eval()
tf.constant([1.,2.]).is_packed
tf.constant([1.,2.]).set_shape([2])
tf.constant([1.,2.]).set_shape([None])
tf.constant([1.,2.]).set_shape([3])
tf.constant([1.,2.]).set_shape(None)
len(tf.constant([1.,2.]))
len(tf.constant(1.))
list(tf.constant([1.,2.]))
list(tf.constant(1.))
tf.constant([1.,2.]).__array__()
tf.constant([1.,2.]).__array__(np.float64)
np.asarray(tf.constant([1.,2.]),np.int32)
[np.asarray(x).flags.writeable for x in (tf.constant([1.,2.]),tf.constant(1.),tf.Variable([1.]))]
[np.array(x).flags.writeable for x in (tf.constant([1.,2.]),tf.constant(1.),tf.Variable([1.]))]
[x.numpy().flags.writeable for x in (tf.constant([1.,2.]),tf.Variable([1.]))]
np.asarray(tf.constant([1.,2.]),copy=False)
np.asarray(tf.constant([1.,2.]),np.int32,copy=False)
[1,2,3][tf.constant(1)]
float(tf.constant([1.]))
int(tf.constant(3.7))
bool(tf.constant([True]))
bool(tf.constant([True,False]))
bool(tf.constant([]))
hash(tf.constant(1.))
hash(tf.Variable(1.))
tf.constant([1.,2.])[0]
setattr(tf.constant(1.),'shape',1)
tf.constant([1.,2.]).numpy().tolist()
tf.Variable([1.,2.]).value()
tf.Variable(tf.Variable([1.]))
tf.Variable([1.])+1
tf.Variable(np.float64(3.)).dtype
tf.Variable(3).dtype
tf.Variable([1,[2]])
'{:.2f}'.format(tf.Variable(1.))
'{:.2f}'.format(tf.constant(1.))
tf.Variable([1.,2.]).scatter_nd_add([[0]],[1.],name='x')
""".splitlines()


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow")


def outcome(tf, program, **names):
    try:
        return seen(eval(program, {"tf": tf, "np": np, **names}))
    except Exception as error:
        return error


def seen(x):
    """The properties that must agree: kinds, dtypes, shapes, values."""
    if isinstance(x, list | tuple) and type(x).__name__ != "TensorShape":
        return [seen(item) for item in x]
    if type(x).__name__ == "IndexedSlices":
        return ["slices", *map(seen, (x.values, x.indices, x.dense_shape))]
    if hasattr(x, "numpy"):
        array = np.asarray(x.numpy())
        return str(array.dtype), array.shape, array
    return repr(x)


def same(ours, theirs):
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        names = [kind.__name__ for kind in type(ours).__mro__]
        return type(theirs).__name__ in names
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, tuple):
        return ours[:2] == theirs[:2] and np.allclose(
            ours[2], theirs[2], rtol=1e-5, atol=1e-6, equal_nan=True
        )
    return ours == theirs


def compare(program, run):
    tf = tensorflow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = run(tf), run(numtape)
    assert same(ours, theirs), f"{program}: numtape {ours!r}, TensorFlow {theirs!r}"


@pytest.mark.parametrize("program", [*PROGRAMS, *STATE])
def test_program(program):
    compare(program, lambda tf: outcome(tf, program))


@pytest.mark.parametrize("kind", ["Variable", "constant"])
@pytest.mark.parametrize("program", OF_X)
def test_derivative(program, kind):
    def run(tf):
        x = getattr(tf, kind)([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        with tf.GradientTape() as tape:
            tape.watch(x)
            try:
                y = eval(program, {"tf": tf, "np": np, "X": x})
            except Exception as error:
                return error
        try:
            return [seen(y), seen(tape.gradient(y, x))]
        except Exception as error:
            return error

    compare(program, run)
