"""Random programs: ways to create an object x ways to read it x changes of its classes and state.

A program is a function `f(x)` that creates or obtains an object in one of many ways, reads it in
one or two ways, and multiplies ``x`` by the values. Between calls the object's classes, its state,
or the dependencies of its methods change. The program runs as plain Python and recorded.
"""

# ruff: noqa: E501

import random
import re
import textwrap
import warnings

import numpy as np

import numtape as tf

# In these texts P is a number, N a small integer and B a bool, drawn at each occurrence.

_METHODS = """
    k = P
    n = N
    t = B
    p = property(lambda self: self.k)
    d = Field()
    u = Shown()
    def m(self, a=P): return self.k + a
    def sup(self): return getattr(super(), "k", P)
    @classmethod
    def c(cls): return cls.k
    @staticmethod
    def s(): return G
    @functools.cached_property
    def cp(self): return self.k
    def __len__(self): return self.n
    def __bool__(self): return self.t
    def __float__(self): return self.k
    def __int__(self): return self.n
    def __index__(self): return self.n
    def __iter__(self): return iter([self.k, P])
    def __contains__(self, a): return self.t
    def __getitem__(self, a):
        if type(a) is int and a > 2: raise IndexError
        return self.k
    def __call__(self, *a): return self.k
    def __add__(self, a): return self.k
    def __radd__(self, a): return self.k
    def __mul__(self, a): return self.k
    def __rmul__(self, a): return self.k
    def __iadd__(self, a): return self.k
    def __neg__(self): return self.k
    def __abs__(self): return self.k
    def __round__(self, n=0): return self.n
    def __floor__(self): return self.n
    def __enter__(self): return self.k
    def __exit__(self, *a): return self.t
    def __eq__(self, a): return self.t
    def __hash__(self): return self.n
    def __lt__(self, a): return self.t
    def __le__(self, a): return self.t
    def __gt__(self, a): return self.t
    def __format__(self, a): return str(self.k)
    def __str__(self): return str(self.k)
    def __repr__(self): return str(self.k)
    def __reversed__(self): return iter([self.k])
    def __setitem__(self, a, v): OWN.append(self.k)
    def __delitem__(self, a): OWN.append(self.k)
    def keys(self): return ["a"]
    __match_args__ = ("k", "n")
"""

BEGIN = """
import abc, builtins, collections, contextlib, copy, dataclasses, enum, functools, itertools, math
import operator, types, typing, weakref
import numpy as np
import numtape as tf
G = P
values = [P, P, P, P, P, P, P, P, P, P, P]
table = {k: P for k in range(12)}
DICT = {"k": P, "i": P}
OWN = collections.deque(maxlen=0)
T = typing.TypeVar("T")
class Field:
    v = P
    def __get__(self, o, t): return self.v
    def __set_name__(self, o, n): pass
class Shown:
    v = P
class Meta(type):
    mk = P
    z3 = P
    def mm(cls): return cls.k
class Mix:
    r = P
class Bound:
    i = N
    def __index__(self): return self.i
bound = Bound()
class Iter:
    v = P
    def __init__(self): self.left = 2
    def __iter__(self): return self
    def __next__(self):
        self.left -= 1
        if self.left < 0: raise StopIteration
        return self.v
class Goes:
    def __iter__(self): return Iter()
class Shape(abc.ABC):
    k = P
@typing.runtime_checkable
class HasZ(typing.Protocol):
    z: float
@functools.singledispatch
def single(a): return P
"""

# Definitions of its classes, C derived from A, and of an object O that outlives calls.
_BODY = "class A:" + _METHODS
LAYOUTS = {
    "plain": _BODY + "class C(A, Mix): pass\n",
    "own __new__": _BODY
    + "class C(A, Mix):\n    def __new__(cls, *a): return super().__new__(cls)\n",
    "object.__new__": _BODY + "class C(A):\n    def __new__(cls, *a): return object.__new__(cls)\n",
    "__init__": _BODY + "class C(A):\n    def __init__(self): self.i = P\n",
    "__init__ of the base": "class A:" + _METHODS + "    def __init__(self): self.i = G\n"
    "class C(A, Mix): pass\n",
    "slots": "class A:\n    __slots__ = ()"
    + _METHODS.replace("    @functools.cached_property\n    def cp(self): return self.k\n", "")
    + "class C(A):\n    __slots__ = ('i', 'j')\n",
    "metaclass": "class A(metaclass=Meta):" + _METHODS + "class C(A): pass\n",
    "metaclass that calls": "class Meta2(Meta):\n    def __call__(cls, *a): return super().__call__()\n"
    "class A(metaclass=Meta2):" + _METHODS + "class C(A): pass\n",
    "abstract": "class A(Shape):" + _METHODS + "class C(A): pass\n",
    "generic": "class A(typing.Generic[T]):" + _METHODS + "class C(A[int]): pass\n",
    "dataclass": "@dataclasses.dataclass(eq=False)\nclass A:"
    + _METHODS
    + "@dataclasses.dataclass(eq=False)\nclass C(A):\n    i: float = P\n",
    "frozen dataclass": "class A:"
    + _METHODS
    + "@dataclasses.dataclass(eq=False, frozen=True)\nclass C(A):\n    i: float = P\n",
    "error": "class A(Exception):" + _METHODS + "class C(A): pass\n",
    "error, own __new__": "class A(Exception):" + _METHODS + "class C(A):\n"
    "    def __new__(cls, *a): return super().__new__(cls)\n",
    "getattr": _BODY + "class C(A):\n    def __getattr__(self, n): return G\n",
    "getattribute": _BODY + "class C(A):\n    def __getattribute__(self, n):\n"
    "        return G if n == 'z' else super().__getattribute__(n)\n",
    "few": "class A:\n    k = P\n    n = N\n    t = B\n    def m(self, a=P): return a\nclass C(A): pass\n",
    "few, own __new__": "class A:\n    k = P\n    n = N\n    def m(self, a=P): return a\nclass C(A):\n"
    "    def __new__(cls): return object.__new__(cls)\n",
    "tuple": "class A(tuple):\n    k = P\n    n = N\n    def m(self, a=P): return self.k\n"
    "class C(A, Mix): pass\n",
    "named tuple": "A = collections.namedtuple('A', 'a', defaults=(P,))\nA.k = P\nA.n = N\n"
    "A.m = lambda self: self.k\nclass C(A): pass\n",
    "list": "class A(list):\n    k = P\n    n = N\n    def m(self, a=P): return self.k\n"
    "class C(A): pass\n",
    "dict": "class A(dict):\n    k = P\n    n = N\n    def m(self, a=P): return self.k\n"
    "class C(A):\n    def __missing__(self, a): return self.k\n",
    "set": "class A(set):\n    k = P\n    n = N\n    def m(self, a=P): return self.k\nclass C(A): pass\n",
    "array": "class A(np.ndarray):\n    k = P\n    n = N\n    def m(self, a=P): return self.k\n"
    "class C(A):\n    def __new__(cls, *a): return np.ones(3).view(cls)\n",
    "float": "class A(float):\n    k = P\n    n = N\n    def m(self, a=P): return self.k\n"
    "class C(A): pass\n",
    "int": "class A(int):\n    k = P\n    n = N\n    def m(self, a=P): return self.k\nclass C(A): pass\n",
    "str": "class A(str):\n    k = P\n    n = N\n    def m(self, a=P): return self.k\nclass C(A): pass\n",
    "namespace": "class A(types.SimpleNamespace):\n    k = P\n    n = N\n    def m(self): return self.k\n"
    "class C(A): pass\n",
    "user dict": "class A(collections.UserDict):\n    k = P\n    n = N\n    def m(self): return self.k\n"
    "class C(A): pass\n",
    "deque": "class A(collections.deque):\n    k = P\n    n = N\n    def m(self): return self.k\n"
    "class C(A): pass\n",
    "module": "class A(types.ModuleType):\n    k = P\n    n = N\n    def __init__(self): "
    "super().__init__('q')\n    def m(self): return self.k\nclass C(A): pass\n",
    "enum": "class A(enum.Enum):\n    def m(self): return self.k\nclass C(A):\n    RED = 1\n    BLUE = 2\n"
    "    def __new__(cls, v=1):\n        q = object.__new__(cls)\n        q._value_ = v\n"
    "        return q\nC.k = P\nA.n = N\n",
}

# Ways in which the function obtains the object q; some use an object that outlives calls.
BIRTHS = {
    "call": "q = C()",
    "C.__new__": "q = C.__new__(C)",
    "base's __new__": "q = A.__new__(C)",
    "object.__new__": "q = object.__new__(C)",
    "type.__call__": "q = type.__call__(C)",
    "class method": "q = (lambda cls: cls.__new__(cls))(C)",
    "partial": "q = functools.partial(C)()",
    "map": "q = [*map(lambda _: C(), [0])][0]",
    "map of a class": "q = next(map(C, [()]))",
    "generator": "q = next(C() for _ in [0])",
    "comprehension": "q = [C() for _ in range(2)][1]",
    "starred": "q = C(*[])",
    "default factory": "q = collections.defaultdict(C)[0]",
    "from a dict": "q = {'a': C}['a']()",
    "its type": "q = type(O)()",
    "its class": "q = O.__class__()",
    "copied": "q = copy.copy(O)",
    "deeply copied": "q = copy.deepcopy(C())",
    "subclass": "class E(C): pass\nq = E()",
    "subclass with names": "class E(C):\n    k2 = P\n    z2 = P\nq = E()",
    "subclass by type": "q = type('E', (C,), {'k2': P})()",
    "subclass of both": "class E(C, Shown): pass\nq = E()",
    "the class": "q = C",
    "a subclass": "class E(C): pass\nq = E",
    "other class": "q = C()\nq.__class__ = E0",
    "dict from outside": "q = C()\nq.__dict__ = DICT",
    "setattr of dict": "q = C.__new__(C)\nsetattr(q, '__dict__', DICT)",
    "dict copied": "q = C()\nq.__dict__.update(DICT)",
    "dict of its own": "q = C()\nq.__dict__ = {'k': P}",
    "own attribute": "q = C()\nq.i = P",
    "own k": "q = C()\nq.k = G",
    "raised": "try:\n    raise C\nexcept Exception as e:\n    q = e",
    "raised object": "try:\n    raise C()\nexcept Exception as e:\n    q = e",
    "raised from": "try:\n    raise ValueError from C\nexcept Exception as e:\n    q = e.__cause__",
    "entered": "with contextlib.nullcontext(C()) as q: pass",
    "closing": "with contextlib.ExitStack() as e:\n    q = e.enter_context(contextlib.nullcontext(C()))",
    "view": "q = np.zeros(2).view(C)",
    "part of an array": "q = np.ones(4).view(C)[1:]",
    "sum of an array": "q = np.ones(4).view(C) + 1",
    "part of one that lives": "q = O[1:]",
    "outside": "q = O",
    "outside, in a list": "q = [O, P][0]",
    "by a function": "def make(): return C()\nq = make()",
    "by next": "q = next(iter([C()]))",
    "default": "q = (lambda a=C(): a)()",
    "with an argument": "q = C(1)",
    "with a list": "q = C([1, 2])",
    "member": "q = C.RED",
    "member by value": "q = C(1)",
    "member by name": "q = C['RED']",
    "replaced": "q = dataclasses.replace(C(), i=P)",
    "_make": "q = C._make([P])",
    "_replace": "q = C()._replace(a=P)",
    "a local class": "class E:\n    k = G\n    n = N\n    def m(self): return A.k\nq = E()",
    "a local class of a base": "class E(A):\n    def __new__(cls): return super().__new__(cls)\nq = E()",
    "generic": "q = C[int]()",
    "bound": "q = C().m.__self__",
    "weak": "h = C()\nq = weakref.proxy(h)",
    "singleton": "q = C.__dict__.get('only') or C()",
    "reduce": "q = functools.reduce(lambda a, b: b, [1, C()])",
    "max": "q = max([C()], key=lambda a: 1)",
    "pop": "q = [C()].pop()",
    "unpacked": "q, _ = C(), 1",
    "swapped": "h = C()\nq, h = h, None",
    "argument": "q = (lambda *a, **b: b['a'])(a=C())",
    "yielded": "def g(): yield C()\nq = [*g()][0]",
}

# How it is read: the result is v. (CPython 3.12 and 3.13 raise one error for ``super(C, None).m``
# at first, and another one later.) The words say what it depends on.
READS = {
    "v = q.k": "k",
    "v = q.n": "n",
    "v = q.i": "i k",
    "v = q.p": "p k",
    "v = q.d": "d Field",
    "v = q.u.v": "u Shown",
    "v = q.r": "r Mix",
    "v = q.cp": "cp k",
    "v = getattr(q, 'k', P)": "k",
    "v = getattr(q, 'z', P)": "z __getattr__",
    "v = getattr(q, NAME, P)": "k z",
    "v = hasattr(q, 'z')": "z __getattr__",
    "try:\n    v = q.z\nexcept AttributeError:\n    v = P": "z __getattr__",
    "v = q.m()": "m k",
    "h = q.m\nv = h()": "m k",
    "v = q.sup()": "sup k",
    "v = q.c()": "c k",
    "v = q.s()": "s G",
    "v = type(q).k": "k",
    "v = q.__class__.k": "k",
    "v = getattr(type(q), 'z', P)": "z z3",
    "v = type(q).m(q)": "m k",
    "v = operator.attrgetter('k')(q)": "k",
    "v = operator.methodcaller('m')(q)": "m k",
    "v = vars(q).get('k', P)": "k",
    "v = q.__dict__.get('i', P)": "i",
    "v = len(q)": "__len__ n",
    "v = P if q else P": "__bool__ __len__ t n",
    "v = P if not q else P": "__bool__ t",
    "v = bool(q) + P": "__bool__ __len__ t n",
    "v = q and P or P": "__bool__ t",
    "v = float(q)": "__float__ __index__ k",
    "v = int(q)": "__int__ __index__ n",
    "v = operator.index(q)": "__index__ n",
    "v = math.floor(q)": "__floor__ n",
    "v = round(q)": "__round__ n",
    "v = abs(q)": "__abs__ k",
    "v = -q": "__neg__ k",
    "v = q + 1": "__add__ k",
    "v = 1 + q": "__radd__ k",
    "v = q * 2": "__mul__ k",
    "v = 2 * q": "__rmul__ k",
    "v = q\nv += 1": "__iadd__ __add__ k",
    "v = sum([q], 0)": "__radd__ k",
    "v = P if q == 1 else P": "__eq__ t",
    "v = P if 1 == q else P": "__eq__ t",
    "v = P if q != 1 else P": "__ne__ __eq__ t",
    "v = P if q < q else P": "__lt__ t",
    "v = P if q <= 1 else P": "__le__ t",
    "v = P if max(q, q) is q else P": "__gt__ t",
    "v = hash(q) % 7 if type(q).__hash__ not in (object.__hash__, types.GenericAlias.__hash__) else P": "__hash__ n",
    "v = float(f'{q}')": "__format__ __str__ k",
    "v = float(f'{q!s}')": "__str__ __repr__ k",
    "v = float(str(q))": "__str__ __repr__ k",
    "v = float(repr(q))": "__repr__ k",
    "v = float('%s' % q)": "__str__ __repr__ k",
    "v = float(format(q, ''))": "__format__ __str__ k",
    "v = [*q][0]": "__iter__ k",
    "v = [a for a in q][0]": "__iter__ k",
    "v = sum(q)": "__iter__ k",
    "a, b = q\nv = a": "__iter__ k",
    "a, *b = q\nv = a": "__iter__ k",
    "v = max(q)": "__iter__ k",
    "v = list(q)[0]": "__iter__ k",
    "v = next(iter(q))": "__iter__ k",
    "v = list(zip(q, q))[0][0]": "__iter__ k",
    "v = (lambda a, *b: a)(*q)": "__iter__ k",
    "v = list(enumerate(q))[0][1]": "__iter__ k",
    "v = sorted(q)[0]": "__iter__ k",
    "v = list(reversed(q))[0]": "__reversed__ k",
    "v = np.sum([*q])": "__iter__ k",
    "v = P if 2 in q else P": "__contains__ __iter__ t",
    "v = q[0]": "__getitem__ k __missing__",
    "v = q['a']": "__getitem__ k __missing__",
    "v = q[0:1]": "__getitem__ k",
    "v = operator.getitem(q, 0)": "__getitem__ k __missing__",
    "v = q()": "__call__ k",
    "v = P if callable(q) else P": "__call__",
    "v = [*map(q, [1])][0]": "__call__ k",
    "v = functools.partial(q)()": "__call__ k",
    "v = P\nwith q as h: v = h": "__enter__ __exit__ k",
    "v = P\nwith q: raise ValueError\nv += P": "__exit__ __enter__ t",
    "match q:\n    case C(k=h): v = h\n    case _: v = P": "k __match_args__",
    "match q:\n    case C(h): v = h\n    case _: v = P": "__match_args__ k n",
    "match q:\n    case C(z=h): v = h\n    case _: v = P": "z",
    "match q:\n    case [h, *_]: v = h\n    case {'a': h}: v = h\n    case _: v = P": "get __iter__",
    "match q:\n    case HasZ(): v = P\n    case Shape(k=h): v = h\n    case _: v = P": "z k Shape",
    "v = P if isinstance(q, Mix) else P": "Mix",
    "v = P if isinstance(q, (int, (Mix, Shape))) else P": "Mix Shape",
    "v = P if isinstance(q, Shape | Mix) else P": "Mix Shape",
    "v = P if isinstance(q, HasZ) else P": "z",
    "v = P if issubclass(type(q), Shape) else P": "Shape",
    "v = single(q)": "single",
    "v = values[q]": "__index__ n values",
    "v = sum(values[q:])": "__index__ n values",
    "v = sum(values[:q])": "__index__ n values",
    "v = (P, P, P, P, P, P, P, P, P, P, P)[q]": "__index__ n",
    "v = sum(values[1:q])": "__index__ n values",
    "v = sum(values[bound:])": "bound values",
    "v = values[bound]": "bound values",
    "v = sum(values[bound:7:2])": "bound values",
    "v = values[operator.index(bound)]": "bound values",
    "v = table[bound.i]": "bound table",
    "v = table.get(q, P)": "__hash__ __eq__ n t table",
    "v = P if q in table else P": "__hash__ n t",
    "v = {q: P, 1: P}.get(1)": "__hash__ __eq__ n t",
    "v = len({q, 1, 2, 3, 4, 5})": "__hash__ n t",
    "v = len({a: 1 for a in [q, 1, 2, 3, 4, 5]})": "__hash__ n t",
    "h = {1: 2, 2: 2, 3: 3, 4: 4}\nh[q] = 5\nv = len(h)": "__hash__ n t",
    "h = {1, 2, 3, 4, 5}\nh.add(q)\nv = len(h)": "__hash__ n t",
    "h = [1, 2, q]\nv = h.index(2) + h.count(2)": "__eq__ t",
    "h = [2, q]\nv = P if h == [2, 1] else P": "__eq__ t",
    "v = len(range(q))": "__index__ n",
    "h = [C(), C()]\nh[0].i, h[1].i = P, P\nh.sort()\nv = h[0].i": "__lt__ t",
    "v = sorted([q, q], key=lambda a: a.k)[0].k": "k",
    "v = np.zeros(9)[q] + P": "__index__ n",
    "v = np.arange(12.0)[q:].sum()": "__index__ n",
    "v = len(np.zeros(q))": "__index__ n",
    "v = tf.range(12.0)[q]": "__index__ n",
    "v = [P] * q\nv = len(v)": "__index__ n",
    "v = len('abc' * q)": "__index__ __mul__ n",
    "v = {**q}['a']": "keys __getitem__ k",
    "v = dict(q)['a']": "keys __getitem__ k",
    "v = (lambda a: a)(**q)": "keys __getitem__ k",
    "h = {}\nh.update(q)\nv = h['a']": "keys __getitem__ k",
    "q[0] = 1\nv = P": "__setitem__",
    "del q[0]\nv = P": "__delitem__",
    "q.i = P\nv = q.i": "__setattr__ i",
    "q.k = P\nv = q.k + type(q).k": "__setattr__ k",
    "q.i = 1\ndel q.i\nv = getattr(q, 'i', P)": "__delattr__ i",
    "v = sum(Goes())": "Iter",
    "v = [*Goes()][0]": "Iter",
    "a, b = Goes()\nv = a": "Iter",
    "v = 0\nfor a in Goes(): v += a": "Iter",
    "v = next(iter(Goes()))": "Iter",
    "v = Iter.v if P else 0": "Iter",
    "v = list(zip(Goes(), [1]))[0][0]": "Iter",
    "class E(C):\n    w = Field()\nv = E.w": "Field __init_subclass__",
    "class E(A): pass\nv = E.k": "k __init_subclass__",
    "v = getattr(type('E', (C,), {}), 'k')": "k",
    "v = super(C, q).k if q is not None else P": "k",
    "v = super(C, q).m() if q is not None else P": "m k",
    "v = getattr(C, 'mk', P)": "mk",
    "v = getattr(C, 'mm', lambda: P)()": "mm k",
    "v = getattr(C, 'z3', P)": "z3",
    "v = len(q.__doc__ or '')": "__doc__",
    "v = len(type(q).__mro__)": "Mix",
    "v = len(C.__annotations__)": "__annotations__",
    "v = copy.copy(q).k": "k",
    "v = (lambda: (yield from q))().__next__()": "__iter__ k",
    "try:\n    raise ValueError\nexcept (C, ValueError) if isinstance(C, type) and issubclass(C, Exception) else ValueError:\n    v = C.k": "k",
    "v = C.RED.k": "k",
    "v = [a for a in C][1].k": "k",
    "v = C(2).n": "n",
    "v = q.a": "a",
    "v = q[0:][0]": "",
    "v = getattr(q.m, '__self__').k": "k m",
    "v = q.m.__func__(q)": "m k",
    "v = len(q.m.__defaults__ or ())": "m",
    "v = inner(q)": "k",
    "v = C.m(q)": "m k",
    "v = operator.truth(q) + P": "__bool__ t",
    "v = any([q]) + P": "__bool__ t",
    "v = len(list(filter(None, [q, 1])))": "__bool__ t",
    "v = len(list(filter(q, [1, 2])))": "__call__ k",
    "v = P\nwhile not q and v < 5: v += 1": "__bool__ t",
    "assert q\nv = P": "__bool__ t",
    "v = [P for a in [q] if a]\nv = sum(v)": "__bool__ t",
    "v = divmod(q, 2)[0]": "__divmod__",
    "v = complex(q).real": "__complex__ __float__ k",
    "v = operator.length_hint(q)": "__len__ __length_hint__ n",
    "v = q @ 1": "__matmul__",
    "v = float(np.float64(q))": "__float__ k",
    "v = tf.constant(float(q))": "__float__ k",
    "v = min([q, q], key=lambda a: a.n).k": "k n",
    "v = sum(map(float, [q, q]))": "__float__ k",
}

# Results of special methods after a replacement.
_GIVES = {
    "__len__": "N",
    "__bool__": "B",
    "__float__": "P",
    "__int__": "N",
    "__index__": "N",
    "__iter__": "iter([P, P])",
    "__contains__": "B",
    "__enter__": "P",
    "__exit__": "B",
    "__eq__": "B",
    "__ne__": "B",
    "__hash__": "N",
    "__lt__": "B",
    "__le__": "B",
    "__gt__": "B",
    "__format__": "'P'",
    "__str__": "'P'",
    "__repr__": "'P'",
    "__reversed__": "iter([P])",
    "keys": "['a']",
    "__setattr__": "None",
    "__delattr__": "None",
    "__floor__": "N",
    "__round__": "N",
    "__divmod__": "(P, P)",
    "__complex__": "complex(P)",
    "__length_hint__": "N",
    "__setitem__": "1/0",
    "__delitem__": "1/0",
    "get": "P",
    "__getitem__": "P if a[0] in (0, 1, 'a') else [][0]",
}

# Changes of other dependencies, by the words that name these.
_OTHER = {
    "Field": [
        "Field.v = P",
        "Field.__get__ = lambda self, o, t: P",
        "A.d.v = P",
        "vars(A)['d'].v = P",
        "Field.__set__ = lambda self, o, v: None",
        "Field.__set_name__ = lambda self, o, n: setattr(o, 'k', P)",
    ],
    "Shown": ["Shown.v = P", "vars(A)['u'].v = P", "Shown.__get__ = lambda self, o, t: Field()"],
    "Mix": ["Mix.r = P", "C.__bases__ = (A,)", "C.__bases__ = (A, Mix)"],
    "G": ["G = P"],
    "values": [
        "values[N] = P",
        "values.append(P)",
        "values[1:3] = [P]",
        "values[2] = P",
        "values = [P, *values[1:]]",
    ],
    "table": ["table[N] = P", "table[2] = P", "table.pop(2, 0)"],
    "bound": ["bound.i = N", "Bound.i = N", "Bound.__index__ = lambda self: N", "bound = Bound()"],
    "Iter": [
        "Iter.v = P",
        "Iter.__next__ = lambda self: P if self.__dict__.pop('left', 0) else next(iter(()))",
        "Goes.__iter__ = lambda self: iter([P, P])",
    ],
    "Shape": ["Shape.register(C)", "Shape.register(A)", "Shape.k = P"],
    "single": [
        "single.register(A, lambda a: P)",
        "single.register(C, lambda a: P)",
        "single.register(object, lambda a: P)",
    ],
    "m": ["A.m.__defaults__ = (P,)", "A.m.__code__ = (lambda self, a=1: a + 1).__code__"],
    "mk": ["Meta.mk = P"],
    "z3": ["Meta.z3 = P", "Meta.z = P"],
    "mm": ["Meta.mm = lambda cls: P"],
    "__match_args__": ["A.__match_args__ = ('n', 'k')", "C.__match_args__ = ()"],
    "__init_subclass__": ["A.__init_subclass__ = classmethod(lambda cls: setattr(cls, 'k', P))"],
    "__annotations__": ["C.__annotations__['y'] = int"],
    "p": ["A.p = property(lambda self: P)", "A.p = P", "C.p = P"],
    "d": ["A.d = P", "C.d = Field()"],
    "c": ["A.c = classmethod(lambda cls: P)", "C.c = lambda self=0: P"],
    "s": ["A.s = staticmethod(lambda: P)", "C.s = lambda self: P"],
    "i": ["O.i = P", "DICT['i'] = P"],
}
_ALWAYS = [
    "C.k = P",
    "A.k = P",
    "del C.k",
    "O.k = P",
    "O.__dict__['k'] = P",
    "del O.k",
    "G = P",
    "DICT['k'] = P",
    "NAME = 'z' if NAME == 'k' else 'k'",
    "E0.k = P",
    "C.__bases__ = (E0,)",
    "C.__bases__ = (A,)",
    "O.__class__ = E0",
    "O = C()",
    "C.only = C()",
    "A.z = P",
    "C.z = P",
    "Meta.k = P",
    "C.__init__ = lambda self, *a: object.__setattr__(self, 'k', P)",
    "C.__new__ = lambda cls, *a: A.__new__(cls)",
    "C.__getattr__ = lambda self, n: P",
    "C.__getattribute__ = lambda self, n: P if n == 'k' else object.__getattribute__(self, n)",
    "C.k = property(lambda self: P)",
    "C.k = Field()",
    "C.m = lambda self, a=P: a",
    "Shape.k = P",
    "E0.z = P",
    "C, E0 = E0, C",
    "table[2] = P",
    "values[3] = P",
    "C.n = N",
    "A.n = N",
    "A.t = not getattr(A, 't', B)",
    "O.n = N",
    "inner.__defaults__ = (P,)",
    "O[0] = 1",
    "O.append(1)",
    "C.RED = P",
    "C.__dict__['m'].__defaults__ = (P,)",
]


class Program:
    """A random program.

    Attributes:
      source: The code that defines ``f``.
      steps: Changes; None stands for a call of ``f``.
    """

    def __init__(self, seed):
        self.draw = draw = random.Random(seed)
        layout, birth = draw.choice(sorted(LAYOUTS)), draw.choice(sorted(BIRTHS))
        if draw.random() < 0.5:  # prefer ways that work with most reads
            layout = draw.choice(
                ("plain", "own __new__", "__init__", "slots", "metaclass", "error")
            )
        reads = draw.sample(sorted(READS), draw.choice((1, 1, 2)))
        known = LAYOUTS[layout]
        source = [
            BEGIN,
            known,
            "class E0(A): pass",
            "NAME = 'k'",
            "def inner(a, b=P): return a.k * b",
            "try: O = C()",
            "except Exception: O = None",
            "def f(x):",
            "    OWN = collections.deque(maxlen=0)",
        ]
        form = draw.randrange(4)
        body = [BIRTHS[birth]]
        for read in reads:
            body += [read, "x = x * v"]
            if form == 1:
                body = [f"for _ in range(2):\n{textwrap.indent(chr(10).join(body), '    ')}"]
        if form == 2:
            body = [
                "def run(x):",
                textwrap.indent("\n".join([*body, "return x"]), "    "),
                "x = run(x)",
            ]
        source += [textwrap.indent("\n".join(body), "    "), "    return x"]
        self.source = self._filled("\n".join(source))
        words = [word for read in reads for word in READS[read].split()]
        changes = [change for word in words for change in _changes(word)]
        self.steps = [None] * draw.choice((1, 2, 2, 3))
        for _ in range(draw.randint(2, 5)):
            many = changes if changes and draw.random() < 0.75 else _ALWAYS
            self.steps.append(self._filled(draw.choice(many)))
            self.steps += [None] * draw.choice((1, 1, 2))

    def _filled(self, text):
        text = re.sub(r"\bP\b", lambda _: f"{self.draw.randint(2, 40) / 8}", text)
        text = re.sub(r"\bN\b", lambda _: str(self.draw.randint(1, 6)), text)
        return re.sub(r"\bB\b", lambda _: self.draw.choice(("True", "False")), text)

    def text(self):
        """The program as readable text."""
        return "\n".join([self.source, *(step or "f(x)" for step in self.steps)])


def _changes(word):
    """Changes of the dependency that a word names, on all classes that may have it."""
    found = list(_OTHER.get(word, ()))
    if word.startswith("__") or word in _GIVES:
        value = f"lambda self, *a: {_GIVES.get(word, 'P')}"
    elif word == "m":
        value = "lambda self, a=P: a"
    elif word in ("n", "t", "k", "z", "r", "i", "cp", "sup", "a"):
        value = {"n": "N", "t": "B", "sup": "lambda self: P"}.get(word, "P")
    else:
        return found
    found += [f"{kind}.{word} = {value}" for kind in ("A", "C", "C", "E0", "Meta", "O")]
    return [*found, f"del C.{word}", f"del A.{word}"]


def compare(program):
    """Run a program as Python and with its function recorded.

    Returns:
      The first difference, or None; how often the recorded function was replayed; and how often
      Python raised no error.
    """
    worlds, good = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function in (lambda f: f, tf.function):
            space = {"__name__": "program"}
            try:
                exec(compile(program.source, "<program>", "exec"), space)
            except Exception as error:
                return None if not worlds else f"it cannot be made: {error!r}", 0, 0
            space["called"] = function(space["f"])
            worlds.append(space)
        draw = random.Random(1)
        for k, step in enumerate(program.steps):
            found = []
            x = tf.constant(draw.choice((1.0, 2.0, -1.0)))
            for space in worlds:
                try:
                    if step is None:
                        found.append(np.asarray(space["called"](x)).tolist())
                    else:
                        exec(compile(step, "<step>", "exec"), space)
                        found.append(None)
                except Exception as error:
                    found.append(type(error).__name__)
            good += step is None and type(found[0]) is not str
            if repr(found[0]) != repr(found[1]):
                return f"at step {k} Python gives {found[0]}, a function {found[1]}", 0, good
    return None, sum(path.hits for path in worlds[1]["called"].paths()), good
