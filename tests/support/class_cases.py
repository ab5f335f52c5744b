"""Cases that read class attributes or call special methods, with changes between calls.

A case consists of a heading, the definition of ``f``, and changes, each after a line of dashes. It
can use the names that `object_programs.BEGIN` defines.
"""

# ruff: noqa: E501

TEXT = """
=== metaclass attr via class made in call
class M(type):
    k = 2.0
class B(metaclass=M): pass
def f(x):
    class K(B): pass
    return x * K.k
---
M.k = 3.0
---
B.k = 4.0
---
del B.k

=== dataclass made in call
class B:
    k = 2.0
def f(x):
    @dataclasses.dataclass
    class K(B):
        a: float = 1.0
    return x * K().k
---
B.k = 3.0

=== dataclass slots made in call
class B:
    __slots__=()
    k = 2.0
def f(x):
    @dataclasses.dataclass(slots=True)
    class K(B):
        a: float = 1.0
    return x * K().k
---
B.k = 3.0

=== namedtuple made in call
class B:
    k = 2.0
def f(x):
    K = collections.namedtuple('K', 'a')
    class L(K, B): pass
    return x * L(1).k
---
B.k = 3.0

=== types.new_class
class B:
    k = 2.0
def f(x):
    K = types.new_class('K', (B,))
    return x * K().k
---
B.k = 3.0

=== mro_entries
class B:
    k = 2.0
class R:
    v = B
    def __mro_entries__(self, bases): return (self.v,)
class D:
    k = 5.0
r = R()
def f(x):
    class K(r): pass
    return x * K().k
---
B.k = 3.0
---
R.v = D
---
R.__mro_entries__ = lambda self, b: (B,)

=== prepare
class M(type):
    @classmethod
    def __prepare__(m, n, b): return {'k': G}
class B(metaclass=M): pass
def f(x):
    class K(B): pass
    return x * K.k
---
G = 3.0
---
M.__prepare__ = classmethod(lambda m, n, b: {'k': 7.0})

=== init_subclass
class B:
    def __init_subclass__(cls): cls.k = G
def f(x):
    class K(B): pass
    return x * K.k
---
G = 3.0
---
B.__init_subclass__ = classmethod(lambda cls: setattr(cls, 'k', 7.0))

=== init_subclass by type
class B:
    def __init_subclass__(cls): cls.k = G
def f(x):
    K = type('K', (B,), {})
    return x * K.k
---
G = 3.0
---
B.__init_subclass__ = classmethod(lambda cls: setattr(cls, 'k', 7.0))

=== set_name
class D:
    def __set_name__(self, o, n): self.v = G
def f(x):
    class K:
        d = D()
    return x * vars(K)['d'].v
---
G = 3.0
---
D.__set_name__ = lambda self, o, n: setattr(self, 'v', 9.0)

=== set_name of an outside one
class D:
    v = 4.0
    def __set_name__(self, o, n): o.w = G
d = D()
def f(x):
    class K:
        pass
    K = type('K', (), {'d': d})
    return x * K.w
---
G = 3.0
---
D.__set_name__ = lambda self, o, n: setattr(o, 'w', 9.0)

=== metaclass call
class M(type):
    def __call__(cls): return type.__call__(cls)
class B(metaclass=M):
    k = 2.0
class D:
    k = 9.0
def f(x): return x * B().k
---
B.k = 3.0
---
M.__call__ = lambda cls: D()

=== raise init
class E(Exception):
    def __init__(self): self.k = 2.0
def f(x):
    try: raise E
    except E as e: return x * e.k
---
E.__init__ = lambda self: setattr(self, 'k', 5.0)

=== raise new
class E(Exception): k = 2.0
class F(E): k = 5.0
def f(x):
    try: raise E
    except E as e: return x * e.k
---
E.__new__ = lambda cls: F()
---
F.k = 6.0

=== except bases
class A0(Exception): pass
class E(A0): k = 2.0
class A1(Exception): pass
def f(x):
    try: raise E
    except A1: return x * 7
    except Exception as e: return x * e.k
---
E.__bases__ = (A1,)
---
E.__bases__ = (A0,)

=== except tuple
class A0(Exception): pass
class E(A0): k = 2.0
class A1(Exception): pass
L = (A1, KeyError)
def f(x):
    try: raise E()
    except L: return x * 7
    except Exception as e: return x * e.k
---
E.__bases__ = (A1,)
---
L = (E,)

=== except group
class A0(Exception): pass
class E(A0): k = 2.0
class A1(Exception): pass
def f(x):
    v = x
    try: raise ExceptionGroup('a', [E()])
    except* A1: v = x * 7
    except* Exception as e: v = x * e.exceptions[0].k
    return v
---
E.k = 8.0
---
E.__bases__ = (A1,)

=== context truth
class S:
    def __enter__(self): return self
    def __exit__(self, *a): return L
L = []
def f(x):
    try:
        with S():
            raise ValueError
    except ValueError: return x * 2
    return x * 3
---
L.append(1)
---
L.clear()

=== contains truth
class S:
    def __contains__(self, a): return L
L = []
def f(x):
    return x * (2.0 if 1 in S() else 3.0)
---
L.append(1)
---
L.clear()

=== eq truth in list
class S:
    def __eq__(self, a): return L
    __hash__ = None
L = []
def f(x):
    return x * (2.0 if 1 in [S()] else 3.0)
---
L.append(1)
---
L.clear()

=== lt truth in sort
class S:
    def __init__(self, v): self.v = v
    def __lt__(self, a): return L
L = []
def f(x):
    a = [S(1.0), S(2.0)]
    a.sort()
    return x * a[0].v
---
L.append(1)
---
L.clear()

=== lt truth in max
class S:
    def __init__(self, v): self.v = v
    def __gt__(self, a): return L
L = []
def f(x):
    return x * max(S(1.0), S(2.0)).v
---
L.append(1)
---
L.clear()

=== bool object class
class R:
    t = True
    def __bool__(self): return self.t
r = R()
class S:
    def __eq__(self, a): return r
    def __contains__(self, a): return r
def f(x):
    return x * (2.0 if 1 in S() else 3.0) * (1.0 if S() == 1 else 5.0)
---
R.t = False
---
r.t = True
---
R.__bool__ = lambda self: False

=== len object
class R:
    def __index__(self): return 3
class S:
    def __len__(self): return R()
def f(x): return x * len(S())
---
R.__index__ = lambda self: 5

=== key lists
class S: pass
LS = {1: [1.0], 2: [2.0]}
def f(x): return x * max(1, 2, key=lambda a: LS[a])
---
LS[1][0] = 5.0
---
LS[2].append(0)

=== sorted key objects
class R:
    def __init__(self, a): self.a = a
    def __lt__(self, o): return self.a < o.a
def f(x): return x * sorted([1, 2], key=lambda a: R(a))[0]
---
R.__lt__ = lambda self, o: self.a > o.a

=== cmp_to_key
def cmp(a, b): return (a > b) - (a < b)
def f(x): return x * sorted([1, 2], key=functools.cmp_to_key(cmp))[0]
---
cmp.__code__ = (lambda a, b: (a < b) - (a > b)).__code__

=== keys replaced
class S:
    def keys(self): return ['a']
    def __getitem__(self, a): return G
def f(x): return x * sum({**S()}.values())
---
S.keys = lambda self: ['a', 'b']
---
G = 9.0

=== keys of class attr object
class S:
    def __getitem__(self, a): return G
class T2:
    pass
s = T2()
def f(x): return x * sum(dict(S()).values())
---
S.keys = lambda self: ['a', 'b']
---
G = 9.0

=== iter other
class It:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n > 2: raise StopIteration
        return G
class S:
    def __iter__(self): return It()
def f(x):
    a, b = S()
    return x * a * sum(S()) * [*S()][0]
---
G = 2.0
---
def nx(self):
    self.n += 1
    if self.n > 2: raise StopIteration
    return 9.0
It.__next__ = nx

=== iter kept outside
class It:
    k = 3.0
    def __iter__(self): return self
    def __next__(self): return self.k
it = It()
class S:
    def __iter__(self): return it
def f(x):
    return x * next(iter(S()))
---
it.k = 2.0
---
It.k = 5.0
---
del it.k
---
It.__next__ = lambda s: 8.0

=== for kept outside
class It:
    k = 3.0
    def __iter__(self): return self
    def __next__(self): return self.k
it = It()
class S:
    def __iter__(self): return it
def f(x):
    for a in S():
        return x * a
---
it.k = 2.0
---
It.k = 5.0
---
del it.k
---
It.__next__ = lambda s: 8.0

=== unpack list iterator kept
class S:
    def __init__(self): self.it = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0] * 3)
    def __iter__(self): return self.it
s = S()
class Two:
    def __iter__(self): return itertools.islice(s.it, 2)
def f(x):
    a, b = Two()
    return x * a

=== unpack list iterator kept 2
class S:
    def __init__(self): self.it = iter([1.0, 2.0])
    def __iter__(self): return self.it
s = S()
def f(x):
    a, b = s
    return x * a

=== star of iterator kept
class S:
    def __init__(self): self.it = iter([1.0, 2.0])
    def __iter__(self): return self.it
s = S()
def f(x):
    return x * sum([1, *s])

=== hash dict
class S:
    h = 1
    def __hash__(self): return self.h
    def __eq__(self, o): return True
s = S()
D0 = {1: 2.0, 2: 3.0}
def f(x): return x * D0[s]
---
S.h = 2
---
D0[1] = 7.0
---
D0[2] = 9.0
---
S.__hash__ = lambda self: 1

=== hash own dict
class S:
    h = 1
    def __hash__(self): return self.h
    def __eq__(self, o): return True
def f(x): return x * {1: 2.0, 2: 3.0}[S()]
---
S.h = 2
---
S.__hash__ = lambda self: 1

=== eq hash in tuple
class S:
    h = 1
    def __hash__(self): return self.h
    def __eq__(self, o): return True
def f(x): return x * {(1, 1): 2.0, (2, 1): 3.0}[(S(), 1)]
---
S.h = 2
---
S.__hash__ = lambda self: 1

=== setdefault own
class S:
    h = 1
    def __hash__(self): return self.h
    def __eq__(self, o): return True
def f(x):
    d = {1: 2.0, 2: 3.0}
    return x * d.setdefault(S(), 5.0) * d.get(S(), 9.0) * d.pop(S(), 8.0)
---
S.h = 2
---
S.__hash__ = lambda self: 7

=== lru_cache
@functools.lru_cache
def g(a): return G
def f(x): return x * g(1)
---
G = 5.0
---
g.cache_clear()

=== total ordering
@functools.total_ordering
class S:
    v = 1
    def __lt__(self, o): return self.v < 2
    def __eq__(self, o): return False
def f(x): return x * (2.0 if S() >= S() else 3.0)
---
S.v = 5
---
S.__lt__ = lambda s, o: True

=== cached_property class
class S:
    k = 2.0
    @functools.cached_property
    def c(self): return self.k
def f(x): return x * S().c
---
S.k = 3.0
---
S.c = 9.0

=== cached_property outside
class S:
    k = 2.0
    @functools.cached_property
    def c(self): return self.k
s = S()
def f(x): return x * s.c
---
S.k = 3.0
---
del s.c
---
s.c = 4.0
---
S.c = 9.0

=== cached property of an own object
class V:
    k = 2.0
    @functools.cached_property
    def c(self): return self.k
def f(x):
    v = V()
    v.__dict__ = {'j': 1.0}
    w = V()
    w.j = 1.0
    return x * v.c * w.c
---
V.c = 5.0
---
V.c = property(lambda s: 7.0)
=== descriptor replaced get
class D:
    def __get__(self, o, t): return 2.0
class S:
    d = D()
    def __new__(cls): return object.__new__(cls)
def f(x): return x * S().d * S.d
---
D.__get__ = lambda s, o, t: 3.0

=== descriptor replaced get own
class D:
    def __get__(self, o, t): return 2.0
class S:
    d = D()
def f(x): return x * S().d
---
D.__get__ = lambda s, o, t: 3.0
---
del D.__get__

=== gains get
class D:
    v = 2.0
    def __mul__(self, o): return o * self.v
class S:
    d = D()
def f(x): return x * S().d.v
---
D.__get__ = lambda s, o, t: E0
class E0:
    v = 5.0

=== property of base replaced
class B:
    @property
    def p(self): return 2.0
class S(B):
    def __new__(cls): return object.__new__(cls)
def f(x): return x * S().p
---
B.p = property(lambda s: 3.0)
---
S.p = 4.0

=== super attr
class B:
    k = 2.0
class Mx(B): pass
class S(Mx):
    k = 1.0
    def __new__(cls): return object.__new__(cls)
    def g(self): return super().k
def f(x): return x * S().g()
---
B.k = 3.0
---
Mx.k = 4.0
---
del Mx.k

=== super property
class B:
    @property
    def k(self): return self.z
    z = 2.0
class S(B):
    def g(self): return super().k
def f(x): return x * S().g()
---
B.z = 3.0
---
B.k = 4.0

=== super class attr
class B:
    k = 2.0
class S(B):
    @classmethod
    def g(cls): return super().k
def f(x): return x * S.g()
---
B.k = 3.0
---
S.k = 4.0

=== super method
class B:
    def m(self): return 2.0
class Mx(B): pass
class S(Mx):
    def __new__(cls): return object.__new__(cls)
    def g(self): return super().m()
def f(x): return x * S().g()
---
B.m = lambda s: 3.0
---
Mx.m = lambda s: 4.0

=== enum
class E(enum.Enum):
    A = 1.0
    B = 2.0
def f(x): return x * E.A.value
---
E.A._value_ = 5.0
---
E.k = 4.0

=== enum attr
class E(enum.Enum):
    A = 1.0
    B = 2.0
E.k = 2.0
def f(x): return x * E(1.0).k * E['A'].k * E.A.k
---
E.k = 5.0
---
E.A.k = 3.0

=== intenum
class E(enum.IntEnum):
    A = 1
    B = 2
L = [1.0, 2.0, 3.0]
def f(x): return x * L[E.A] * sum(L[E.A:])
---
L[1] = 5.0
---
L[2] = 6.0

=== flag
class E(enum.Flag):
    A = 1
    B = 2
E.k = 3.0
def f(x): return x * (E.A | E.B).k
---
E.k = 5.0

=== abc register
class V: k = 2.0
def f(x): return x * (2.0 if isinstance(V(), Shape) else 3.0)
---
Shape.register(V)

=== abc register match
class V: k = 2.0
def f(x):
    match V():
        case Shape(k=h): return x * h
        case _: return x * 9
---
V.k = 4.0
---
Shape.register(V)
---
V.k = 5.0
---
V.k = 6.0

=== subclasshook
class H(abc.ABC):
    @classmethod
    def __subclasshook__(cls, c): return G > 2
class V: k = 2.0
def f(x): return x * (2.0 if isinstance(V(), H) else 3.0)
---
G = 1.0
---
G = 5.0

=== instancecheck
class M(type):
    def __instancecheck__(c, o): return G > 2
class H(metaclass=M): pass
class V: k = 2.0
def f(x):
    match V():
        case H(k=h): return x * h
        case _: return x * 9
---
G = 1.0
---
G = 5.0
---
V.k = 7.0
---
M.__instancecheck__ = lambda c, o: False

=== protocol
@typing.runtime_checkable
class H(typing.Protocol):
    k: float
class V: pass
def f(x): return x * (2.0 if isinstance(V(), H) else 3.0)
---
V.k = 1.0
---
del V.k

=== class property
class S:
    k = 2.0
    @classmethod
    def c(cls): return cls.k
    def __new__(cls): return object.__new__(cls)
def f(x): return x * S().c()
---
S.k = 3.0
---
S.c = classmethod(lambda c: 4.0)

=== vars class
class S: k = 2.0
def f(x): return x * vars(S)['k']
---
S.k = 3.0

=== class dict
class S: k = 2.0
def f(x): return x * S.__dict__['k']
---
S.k = 3.0

=== dict via type
class S: k = 2.0
def f(x): return x * type(S()).__dict__['k']
---
S.k = 3.0

=== dir
class S: k = 2.0
def f(x): return x * len([a for a in dir(S()) if a[0] != '_'])
---
S.z = 3.0

=== getmembers
import inspect
class S: k = 2.0
def f(x): return x * sum(v for n, v in inspect.getmembers(S()) if n[0] != '_')
---
S.z = 3.0
---
S.k = 7.0

=== getattr_static
import inspect
class S: k = 2.0
def f(x): return x * inspect.getattr_static(S(), 'k')
---
S.k = 7.0

=== subclasses
class S: k = 2.0
def f(x): return x * len(S.__subclasses__())
---
class S2(S): pass

=== mro
class S: k = 2.0
class T2(S): pass
class B2: k = 4.0
def f(x): return x * len(T2.__mro__) * len(T2.mro()) * T2.__mro__[1].k
---
S.k = 5.0
---
class S0(S): pass
T2.__bases__ = (S0,)
---
T2.__bases__ = (B2,)

=== name
class S: k = 2.0
def f(x): return x * len(S.__name__) * len(type(S()).__qualname__)
---
S.__name__ = 'Long'
---
S.__qualname__ = 'Longer'

=== repr class
class S: k = 2.0
def f(x): return x * len(f'{S}') * len(repr(S)) * len(str(S))
---
S.__name__ = 'Long'
---
S.__qualname__ = 'Longer'
---
S.__module__ = 'longest'

=== doc
class S:
    'abc'
def f(x): return x * len(S().__doc__)
---
S.__doc__ = 'longer'

=== annotations
class S:
    a: int
def f(x): return x * len(getattr(S(), '__annotations__', 'no')) * len(S.__annotations__)
---
S.__annotations__['b'] = int
---
S.__annotations__ = {}

=== get_type_hints
class S:
    a: int
def f(x): return x * len(typing.get_type_hints(S))
---
S.__annotations__['b'] = int
---
S.__annotations__ = {}

=== fields
@dataclasses.dataclass
class S:
    a: int = 1
def f(x): return x * len(dataclasses.fields(S())) * S().a
---
S.a = 3
---
S.__dataclass_fields__['b'] = S.__dataclass_fields__['a']
---
S.__init__.__defaults__ = (5,)

=== asdict
@dataclasses.dataclass
class S:
    a: int = 1
def f(x): return x * dataclasses.asdict(S())['a']
---
S.__init__.__defaults__ = (5,)
---
del S.__dataclass_fields__['a']

=== replace default factory
@dataclasses.dataclass
class S:
    a: list = dataclasses.field(default_factory=lambda: [G])
def f(x): return x * S().a[0]
---
G = 5.0

=== generic
class S(typing.Generic[T]):
    k = 2.0
def f(x): return x * S[int]().k * S[int].k
---
S.k = 5.0

=== class_getitem
class S:
    k = 2.0
    def __class_getitem__(cls, i): return cls.k
def f(x): return x * S[1]
---
S.k = 5.0
---
S.__class_getitem__ = classmethod(lambda c, i: 9.0)

=== nd array_finalize
class N(np.ndarray):
    def __array_finalize__(self, o): self.k = G
def f(x): return x * np.zeros(2).view(N).k
---
G = 5.0
---
N.__array_finalize__ = lambda s, o: setattr(s, 'k', 8.0)

=== nd array_ufunc
class N(np.ndarray): pass
a = np.ones(2).view(N)
def f(x): return x * float(np.sum(np.add(a, 1)))
---
N.__array_ufunc__ = lambda s, u, m, *i, **k: np.ones(3) * 7

=== nd array_function
class N(np.ndarray): pass
a = np.ones(2).view(N)
def f(x): return x * float(np.sum(np.concatenate([a, a])))
---
N.__array_function__ = lambda s, f, t, a, k: np.ones(3) * 7

=== nd mean
class N(np.ndarray): pass
a = np.ones(2).view(N)
def f(x): return x * float(np.mean(a)) * float(a.sum())
---
N.mean = lambda s, **k: 7.0
---
N.sum = lambda s, *a, **k: 9.0

=== duck mean
class N:
    def mean(self, axis=None, dtype=None, out=None): return G
def f(x): return x * np.mean(N())
---
G = 9.0
---
N.mean = lambda s, **k: 7.0

=== matrix of own
class N(np.ndarray):
    k = 2.0
a = np.ones((2, 2)).view(N)
def f(x): return x * a.T.k * a[0].k * a[:, 0].k * a.copy().k * (a + 1).k * np.sqrt(a).k * a.reshape(4).k
---
N.k = 5.0

=== float subclass
class F(float): k = 2.0
def f(x): return x * F(1.0).k
---
F.k = 5.0

=== str subclass
class F(str):
    k = 2.0
    def __len__(self): return 3
def f(x): return x * F('a').k * len(F('a'))
---
F.k = 5.0
---
F.__len__ = lambda s: 7

=== int from_bytes
class F(int): k = 2.0
def f(x): return x * F.from_bytes(b'a', 'big').k
---
F.k = 5.0

=== dict fromkeys
class F(dict): k = 2.0
def f(x): return x * F.fromkeys('a').k
---
F.k = 5.0

=== dict copy or
class F(dict):
    k = 2.0
    def copy(self): return F(self)
def f(x): return x * F(a=1).copy().k
---
F.k = 5.0
---
F.copy = lambda s: E0()
class E0: k = 7.0

=== userlist slice
class F(collections.UserList): k = 2.0
u = F([1.0, 2.0])
def f(x): return x * u[1:].k * u[1:][0]
---
F.k = 5.0
---
u[1] = 4.0

=== counter
class F(collections.Counter): k = 2.0
def f(x): return x * F('aab').k * (F('a') + F('b')).k if hasattr(F('a') + F('b'), 'k') else x * F('aab').k
---
F.k = 5.0

=== chainmap
class F(collections.ChainMap): k = 2.0
d = {'a': 1.0}
def f(x): return x * F({}, d)['a'] * F().k * F(d).new_child().k
---
F.k = 5.0
---
d['a'] = 9.0

=== defaultdict missing
class F(collections.defaultdict): k = 2.0
def f(x): return x * F(lambda: G)[0] * F().k
---
F.k = 5.0
---
G = 9.0

=== fraction
import fractions
class F(fractions.Fraction): k = 2.0
def f(x): return x * F(1, 2).k
---
F.k = 5.0

=== decimal
import decimal
class F(decimal.Decimal): k = 2.0
def f(x): return x * F('1').k
---
F.k = 5.0

=== datetime
import datetime
class F(datetime.timedelta): k = 2.0
def f(x): return x * F(1).k * (F(1) + F(1)).days
---
F.k = 5.0

=== path
import pathlib
class F(type(pathlib.Path())): k = 2.0
def f(x): return x * F('a').k * (F('a') / 'b').k * F('a/b').parent.k
---
F.k = 5.0

=== thread local
import threading
class F(threading.local): k = 2.0
def f(x): return x * F().k
---
F.k = 5.0

=== simple namespace
class F(types.SimpleNamespace): k = 2.0
def f(x): return x * F(a=1).k
---
F.k = 5.0
---
F.a = property(lambda s: 4)

=== module subclass
class F(types.ModuleType): k = 2.0
def f(x): return x * F('a').k
---
F.k = 5.0

=== partial subclass
class F(functools.partial): k = 2.0
def f(x): return x * F(abs, -3.0).k * F(abs, -3.0)()
---
F.k = 5.0
---
F.__call__ = lambda s: 9.0

=== property subclass
class F(property): k = 2.0
def f(x): return x * F(abs).k
---
F.k = 5.0

=== classmethod subclass
class F(classmethod): k = 2.0
def f(x): return x * F(abs).k
---
F.k = 5.0

=== zip subclass
class F(zip): k = 2.0
def f(x): return x * F([1], [2]).k
---
F.k = 5.0
---
F.__next__ = lambda s: (1, 1)

=== slice attrs
o = Bound()
def f(x): return x * sum(values[slice(o, None)]) * values[slice(None, o)][0]
---
o.i = 1
---
o.i = 3
---
values[4] = 9.0
---
values[0] = 8.0

=== store slice
class I:
    i = 1
    def __index__(self): return self.i
def f(x):
    a = [1.0, 2.0, 3.0]
    a[I():] = [7.0]
    return x * sum(a)
---
I.i = 2
---
I.__index__ = lambda s: 0

=== del slice
class I:
    i = 1
    def __index__(self): return self.i
def f(x):
    a = [1.0, 2.0, 3.0]
    del a[I():]
    return x * sum(a)
---
I.i = 2
---
I.__index__ = lambda s: 3

=== store item
class I:
    i = 1
    def __index__(self): return self.i
def f(x):
    a = [1.0, 2.0, 3.0]
    a[I()] = 7.0
    return x * a[1]
---
I.i = 2
---
I.__index__ = lambda s: 0

=== deque slice
class I:
    i = 1
    def __index__(self): return self.i
o = I()
d = collections.deque([1.0, 2.0, 3.0])
def f(x): return x * d[o]
---
I.i = 2
---
d[1] = 9.0
---
d[2] = 7.0
---
d[2] = 8.0

=== range index
class I:
    i = 1
    def __index__(self): return self.i
o = I()
def f(x): return x * sum(range(o, 4)) * range(10)[o] * len(range(10)[o:])
---
I.i = 2
---
o.i = 3

=== memoryview
class I:
    i = 1
    def __index__(self): return self.i
o = I()
b = bytearray(b'abcd')
def f(x): return x * b[o] * len(b[o:])
---
I.i = 2
---
b[2] = 9
---
b[3] = 8
---
b.append(1)

=== array module
import array
class I:
    i = 1
    def __index__(self): return self.i
o = I()
b = array.array('d', [1, 2, 3, 4])
def f(x): return x * b[o] * sum(b[o:])
---
I.i = 2
---
b[2] = 9
---
b[3] = 8
---
b.append(1)

=== mappingproxy
class H:
    i = 1
    def __hash__(self): return self.i
    def __eq__(self, o): return True
o = H()
d = {1: 1.0, 2: 2.0}
mp = types.MappingProxyType(d)
def f(x): return x * mp[o] * d.get(o)
---
H.i = 2
---
d[2] = 9.0
---
d[1] = 8.0
---
d[2] = 7.0

=== ordereddict
class H:
    i = 1
    def __hash__(self): return self.i
    def __eq__(self, o): return True
o = H()
d = collections.OrderedDict({1: 1.0, 2: 2.0})
def f(x): return x * d[o]
---
H.i = 2
---
d[2] = 9.0
---
d[1] = 8.0
---
d[2] = 7.0

=== contains hash
class H:
    i = 1
    def __hash__(self): return self.i
    def __eq__(self, o): return True
o = H()
d = {1}
def f(x): return x * (2.0 if o in d else 3.0)
---
H.i = 2
---
d.add(2)
---
d.clear()
---
d.add(5)

=== list contains eq
class H:
    i = 1
    def __eq__(self, o): return o == self.i
o = H()
d = [1]
def f(x): return x * (2.0 if o in d else 3.0) * (1.0 if d == [o] else 5.0)
---
H.i = 2
---
d.append(2)
---
d.clear()
---
d.append(5)

=== operator contains
class H:
    i = 1
    def __contains__(self, o): return o == self.i
def f(x): return x * (2.0 if operator.contains(H(), 1) else 3.0)
---
H.i = 2
---
H.__contains__ = lambda s, o: True

=== format spec
class H:
    i = 1
    def __format__(self, s): return str(self.i)
def f(x): return x * float(f'{H():>3}') * float('{}'.format(H()))
---
H.i = 2
---
H.__format__ = lambda s, o: '7'

=== join
class H(str):
    i = 1
def f(x): return x * len(','.join(['a', H('b')]))* H.i
---
H.i = 2
---
H.__len__ = lambda s: 7

=== int of str
class H:
    def __str__(self): return G2
G2 = '3'
def f(x): return x * float(str(H()))
---
G2 = '5'
---
H.__str__ = lambda s: '7'

=== await
class Aw:
    def __await__(self):
        return G
        yield
async def co(): return await Aw()
def f(x):
    c = co()
    try: c.send(None)
    except StopIteration as e: return x * e.value
---
G = 5.0
---
def aw(self):
    return 9.0
    yield
Aw.__await__ = aw

=== async with
class Aw:
    async def __aenter__(self): return G
    async def __aexit__(self, *a): pass
async def co():
    async with Aw() as v: return v
def f(x):
    c = co()
    try: c.send(None)
    except StopIteration as e: return x * e.value
---
G = 5.0
---
async def aw(self):
    return 9.0
Aw.__aenter__ = aw

=== yield from
class It:
    def __iter__(self): return iter([G])
def g(): yield from It()
def f(x): return x * next(g())
---
G = 5.0
---
It.__iter__ = lambda s: iter([9.0])

=== generator class attr
class S:
    k = 2.0
    def __iter__(self):
        yield self.k
def f(x): return x * sum(S())
---
S.k = 5.0
---
def it(self): yield 9.0
S.__iter__ = it

=== borg
class S:
    shared = {'k': 2.0}
    def __init__(self): self.__dict__ = self.shared
def f(x): return x * S().k
---
S.shared['k'] = 5.0
---
S.shared = {'k': 7.0}

=== attrdict
class S(dict):
    def __init__(self, *a):
        super().__init__(*a)
        self.__dict__ = self
d = {'k': 2.0}
def f(x): return x * S(d).k
---
d['k'] = 5.0
---
S.k = 7.0

=== update vars
class S: pass
d = {'k': 2.0}
def f(x):
    s = S()
    vars(s).update(d)
    return x * s.k
---
d['k'] = 5.0
---
S.k = property(lambda s: 9.0)

=== setstate
class S:
    k = 3.0
    def __reduce__(self): return (S, (), {'k': G})
def f(x): return x * copy.copy(S()).k
---
G = 5.0
---
S.__reduce__ = lambda s: (S, ())

=== pickle
import pickle
def f(x): return x * pickle.loads(pickle.dumps(5.0))

=== singleton
class S:
    k = 2.0
    only = None
    def __new__(cls):
        if cls.only is None: cls.only = object.__new__(cls)
        return cls.only
def f(x): return x * S().k
---
S.k = 5.0
---
S.only.k = 7.0
---
S.only = None

=== singleton meta
class M(type):
    made = {}
    def __call__(cls):
        if cls not in cls.made: cls.made[cls] = super().__call__()
        return cls.made[cls]
class S(metaclass=M):
    k = 2.0
def f(x): return x * S().k
---
S.k = 5.0
---
S().k = 7.0
---
M.made.clear()

=== class counter
class S:
    n = 0
    def __init__(self): S.n += 1
def f(x):
    s = S()
    return x * s.n

=== class set one way
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def put(): S.k = 5.0
def f(x):
    if x > 1.5:
        put()
        return x
    return x * S().k
---
S.k = 3.0
---
S.k = 4.0
---
S.k = 6.0
---
S.k = 7.0

=== class set one way, getattr
class S:
    k = 2.0
class U(S): pass
u = U()
def put(): setattr(S, 'k', 5.0)
def f(x):
    if x > 1.5:
        put()
        return x
    return x * getattr(u, 'k')
---
S.k = 3.0
---
S.k = 4.0
---
S.k = 6.0
---
S.k = 7.0

=== unhashable
class S: k = 1
def f(x): return x * len({S(): 1, S(): 2})
---
S.__hash__ = None
---
S.__hash__ = lambda s: 1
---
S.__eq__ = lambda s, o: True

=== iand etc
class S:
    def __iadd__(self, o): return 2.0
    def __add__(self, o): return 3.0
def f(x):
    s = S()
    s += 1
    return x * s
---
S.__iadd__ = lambda s, o: 5.0
---
del S.__iadd__

=== chained cmp
class S:
    v = 1
    def __lt__(self, o): return self.v < 2
    def __gt__(self, o): return self.v < 2
def f(x): return x * (2.0 if 0 < S() < 3 else 5.0)
---
S.v = 5
---
S.__lt__ = lambda s, o: False

=== walrus
class S:
    v = 1
    def __bool__(self): return self.v > 2
def f(x): return x * (2.0 if (s := S()) else 5.0)
---
S.v = 5
---
S.__bool__ = lambda s: False

=== abstract
class S(abc.ABC):
    k = 1.0
    def m(self): pass
def f(x):
    try: return x * S().k
    except TypeError: return x * 5
---
S.__abstractmethods__ = frozenset({'m'})
---
S.__abstractmethods__ = frozenset()

=== method default
class S:
    def __new__(cls): return object.__new__(cls)
    def m(self, a=[2.0]): return a[0]
def f(x): return x * S().m()
---
S.m.__defaults__[0][0] = 5.0
---
S.m.__defaults__ = ([8.0],)

=== method attr
class S:
    def __new__(cls): return object.__new__(cls)
    def m(self): return self.m.k
S.m.k = 2.0
def f(x): return x * S().m()
---
S.m.k = 5.0

=== partialmethod
class S:
    def m(self, a): return a
    p = functools.partialmethod(m, 2.0)
def f(x): return x * S().p()
---
S.p = functools.partialmethod(S.m, 3.0)
---
S.m = lambda s, a: 9.0

=== singledispatchmethod
class S:
    @functools.singledispatchmethod
    def m(self, a): return 2.0
def f(x): return x * S().m(1)
---
vars(S)['m'].register(int, lambda s, a: 7.0)

=== callable attr
class Fn:
    k = 2.0
    def __call__(self, *a): return self.k
class S:
    fn = Fn()
    def __new__(cls): return object.__new__(cls)
def f(x): return x * S().fn()
---
Fn.k = 5.0
---
S.fn.k = 6.0
---
Fn.__call__ = lambda s, *a: 8.0

=== special is callable
class Fn:
    k = 2
    def __call__(self, *a): return self.k
class S:
    __len__ = Fn()
def f(x): return x * len(S())
---
Fn.k = 5
---
S.__len__.k = 6
---
Fn.__call__ = lambda s, *a: 8

=== special is descriptor
class Fn:
    k = 2
    def __get__(self, o, t): return lambda: self.k
class S:
    __len__ = Fn()
def f(x): return x * len(S())
---
Fn.k = 5
---
Fn.__get__ = lambda s, o, t: lambda: 9

=== special is staticmethod
class S:
    __len__ = staticmethod(lambda: int(G))
def f(x): return x * len(S())
---
G = 5.0
---
S.__len__ = staticmethod(lambda: 3)

=== special is property
class S:
    @property
    def __len__(self): return lambda: int(G)
def f(x): return x * len(S())
---
G = 5.0

=== special is class
class L(int):
    def __new__(cls, *a): return int.__new__(int, G)
class S:
    __len__ = L
def f(x): return x * len(S())
---
G = 5.0

=== slot del
class S:
    __slots__ = ('a',)
    def __getattr__(self, n): return G
def f(x):
    s = S()
    return x * s.a
---
G = 5.0
---
S.__getattr__ = lambda s, n: 4.0
---
S.a = 7.0

=== slot base
class B: __slots__ = ('a',)
class S(B):
    __slots__ = ()
    def __new__(cls): return object.__new__(cls)
def f(x):
    s = S()
    s.a = 2.0
    return x * s.a
---
S.a = property(lambda s: 5.0, lambda s, v: None)

=== setattr desc
class D:
    def __get__(self, o, t): return 2.0
    def __set__(self, o, v): pass
class S:
    def __new__(cls): return object.__new__(cls)
def f(x):
    s = S()
    s.a = 3.0
    return x * s.a
---
S.a = D()
---
D.__get__ = lambda s, o, t: 5.0
---
del D.__set__

=== nonexistent then
class S:
    def __new__(cls): return object.__new__(cls)
def f(x):
    s = S()
    return x * (s.a if hasattr(s, 'a') else 3.0)
---
S.a = 5.0
---
del S.a

=== class getattr meta
class M(type):
    def __getattr__(c, n): return G
class S(metaclass=M): pass
def f(x): return x * S.a
---
G = 5.0
---
S.a = 7.0
---
del S.a
---
M.__getattr__ = lambda c, n: 9.0

=== class getattribute meta
class M(type):
    def __getattribute__(c, n): return G
class S(metaclass=M): pass
def f(x): return x * S.a
---
G = 5.0
---
M.__getattribute__ = lambda c, n: 9.0

=== meta property
class M(type):
    @property
    def a(c): return c.k
class S(metaclass=M): k = 2.0
def f(x): return x * S.a
---
S.k = 5.0
---
M.a = 9.0

=== meta len
class M(type):
    def __len__(c): return c.k
    def __iter__(c): return iter([c.k])
    def __contains__(c, a): return c.k > 3
    def __getitem__(c, a): return c.k
    def __bool__(c): return c.k > 3
class S(metaclass=M): k = 2
def f(x): return x * len(S) * sum(S) * (2.0 if 1 in S else 3.0) * S[0] * (3.0 if S else 1.0)
---
S.k = 5
---
M.__len__ = lambda c: 9
---
M.__bool__ = lambda c: False
---
M.__iter__ = lambda c: iter([4])
---
M.__contains__ = lambda c, a: True
---
M.__getitem__ = lambda c, a: 2

=== meta len local
class M(type):
    def __len__(c): return 2
class B(metaclass=M): pass
def f(x):
    class S(B): pass
    return x * len(S)
---
M.__len__ = lambda c: 9

=== meta or
class M(type):
    def __or__(c, o): return 2.0
class B(metaclass=M): pass
def f(x): return x * (B | B)
---
M.__or__ = lambda c, o: 9.0

=== with class
class M(type):
    def __enter__(c): return c.k
    def __exit__(c, *a): pass
class S(metaclass=M): k = 2
def f(x):
    with S as v: return x * v
---
S.k = 5
---
M.__enter__ = lambda c: 9

=== ordereddict star
d = collections.OrderedDict(a=1.0, b=2.0)
def f(x): return x * {**d}['a'] * dict(d)['b'] * sum(d.values())
---
d['a'] = 9.0
---
d['b'] = 8.0
---
d.move_to_end('a')

=== ordereddict in C
d = collections.OrderedDict(a=[1.0], b=2.0)
def f(x): return x * (2.0 if d == {'a': [1.0], 'b': 2.0} else 3.0)
---
d['a'] = 9.0
---
d['a'] = [1.0]
---
d['a'].append(1)

=== dict with own iter
class F(dict):
    def __iter__(self): return super().__iter__()
d = F(a=1.0)
def f(x): return x * {**d}['a'] * dict(d)['a']
---
d['a'] = 9.0
---
d['b'] = 8.0
---
F.keys = lambda s: ['a']

=== view mapping
d = dict(a=1.0)
def f(x): return x * d.keys().mapping['a']
---
d['a'] = 9.0

=== mappingproxy made
d = dict(a=1.0)
def f(x): return x * types.MappingProxyType(d)['a']
---
d['a'] = 9.0

=== memoryview made
b = bytearray(b'abc')
def f(x): return x * memoryview(b)[1] * bytes(b)[1] * b[1]
---
b[1] = 9

=== generic alias
class L(list): k = 2.0
def f(x): return x * types.GenericAlias(L, (int,)).k
---
L.k = 5.0

=== partial attrs
def g(): pass
g.k = 2.0
def f(x): return x * functools.partial(g).func.k
---
g.k = 5.0

=== bound builtin self
class L(list): k = 2.0
l = L([1.0])
def f(x): return x * l.append.__self__.k * l.copy.__self__[0]
---
L.k = 5.0
---
l[0] = 7.0
---
l.k = 8.0

=== exception args
L = [1.0]
def f(x):
    try: raise ValueError(L)
    except ValueError as e: return x * e.args[0][0]
---
L[0] = 5.0

=== exception repr
class E(Exception): pass
def f(x):
    try: raise E(1)
    except E as e: return x * len(repr(e)) * len(f'{e!r}')
---
E.__name__ = 'Longer'

=== stop iteration value
L = [1.0]
def g():
    return L
    yield
def h():
    v = yield from g()
    yield v[0]
def f(x): return x * next(h())
---
L[0] = 5.0

=== closure cell
def mk():
    k = 1.0
    def g(): return k
    def s(v):
        nonlocal k
        k = v
    return g, s
g, s = mk()
def f(x): return x * g.__closure__[0].cell_contents
---
s(4.0)

=== func globals
def g(): pass
def f(x): return x * g.__globals__['G']
---
G = 5.0

=== func dict
def g(): pass
g.k = 2.0
def f(x): return x * g.__dict__['k'] * vars(g)['k']
---
g.k = 5.0
---
g.__dict__ = {'k': 7.0}

=== wrapped
def g(): return G
@functools.wraps(g)
def h(): return 1.0
def f(x): return x * h.__wrapped__()
---
G = 5.0
---
h.__wrapped__ = lambda: 9.0

=== staticmethod call
class S:
    k = 2.0
    def m(): return S.k
def f(x): return x * staticmethod(S.m)()
---
S.k = 5.0
---
S.m = lambda: 8.0

=== classmethod get
class S:
    k = 2.0
    def m(cls): return cls.k
def f(x): return x * classmethod(S.m).__get__(None, S)()
---
S.k = 5.0
---
S.m = lambda c: 8.0

=== function get
class S:
    k = 2.0
def m(self): return self.k
def f(x): return x * m.__get__(S.__new__(S))()
---
S.k = 5.0
---
m = lambda c: 8.0

=== method type
class S:
    k = 2.0
def m(self): return self.k
def f(x): return x * types.MethodType(m, S.__new__(S))()
---
S.k = 5.0
---
m = lambda c: 8.0

=== property fget
class S:
    k = 2.0
    @property
    def p(self): return self.k
def f(x): return x * S.p.fget(object.__new__(S)) * S.p.__get__(object.__new__(S))
---
S.k = 5.0

=== object.__getattribute__
class S:
    k = 2.0
def f(x): return x * object.__getattribute__(S.__new__(S), 'k') * type.__getattribute__(S, 'k')
---
S.k = 5.0
---
S.k = 6.0

=== type getattr
class S:
    k = 2.0
def f(x): return x * S.__getattribute__(S.__new__(S), 'k') * S.__new__(S).__getattribute__('k')
---
S.k = 5.0
---
S.__getattribute__ = lambda s, n: 9.0

=== super call new
class B0:
    k = 2.0
class S(B0):
    k = 1.0
    def __new__(cls): return object.__new__(cls)
def f(x): return x * super(S, S()).k * super(S, S).k
---
B0.k = 5.0

=== super getattr
class B0:
    k = 2.0
class S(B0):
    k = 1.0
    def __new__(cls): return object.__new__(cls)
def f(x): return x * getattr(super(S, S()), 'k') * super(S, S()).__getattribute__('k')
---
B0.k = 5.0

=== eval exec
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x): return x * eval('S().k')
---
S.k = 5.0

=== locals
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x):
    s = S()
    return x * locals()['s'].k
---
S.k = 5.0

=== dunder dict of temp
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x):
    s = S()
    return x * s.__dict__.get('k', s.k)
---
S.k = 5.0

=== class slots values
class S:
    __slots__ = {'a': 'doc'}
    k = 2.0
def f(x): return x * S().k * len(S.__slots__)
---
S.k = 5.0
---
S.__slots__ = {}

=== weakkey
class S: k = 2.0
s = S()
w = weakref.WeakKeyDictionary({s: 3.0})
def f(x): return x * w[s]
---
w[s] = 5.0

=== weakvalue
class S: k = 2.0
s = S()
w = weakref.WeakValueDictionary({1: s})
def f(x): return x * w[1].k
---
S.k = 5.0
---
s2 = S()
s2.k = 8.0
w[1] = s2

=== weak ref outside
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
s = S()
def f(x): return x * weakref.ref(s)().k
---
S.k = 5.0
---
s.k = 7.0

=== contextmanager
@contextlib.contextmanager
def cm(): yield G
def f(x):
    with cm() as v: return x * v
---
G = 5.0

=== suppress
class E(Exception): pass
class E1(Exception): pass
def f(x):
    v = 2.0
    try:
        with contextlib.suppress(E1):
            raise E
            v = 3.0
    except E: v = 7.0
    return x * v
---
E.__bases__ = (E1,)

=== match literal eq
class S:
    def __eq__(self, o): return G > 2
    def __new__(cls): return object.__new__(cls)
def f(x):
    match S():
        case 1: return x * 2
        case _: return x * 3
---
G = 1.0
---
G = 5.0
---
S.__eq__ = lambda s, o: False

=== match value
class K: v = 1
class S:
    def __eq__(self, o): return o == 1
def f(x):
    match S():
        case K.v: return x * 2
        case _: return x * 3
---
K.v = 2

=== match builtin
class S(int):
    k = 1
    def __new__(cls): return int.__new__(cls, 3)
def f(x):
    match S():
        case int(v) if v.k > 2: return x * 2
        case _: return x * 3
---
S.k = 5

=== match mapping get
class S(dict):
    def get(self, k, d=None): return G
def f(x):
    match S(a=1):
        case {'a': v}: return x * v
        case _: return x * 30
---
G = 7.0
---
S.get = lambda s, k, d=None: 11.0
---
del S.get

=== match seq register
import collections.abc
class S:
    def __len__(self): return 1
    def __getitem__(self, i): return G if i < 1 else [][0]
def f(x):
    match S():
        case [v]: return x * v
        case _: return x * 30
---
G = 7.0
---
collections.abc.Sequence.register(S)
---
G = 9.0
---
S.__len__ = lambda s: 2

=== match class moved
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
class S1(S): pass
class Z: pass
def f(x):
    match S1():
        case Z(): return x * 2
        case S(k=v): return x * v
        case _: return x
---
S.k = 5.0
---
S1.__bases__ = (S, Z)
---
Z = S1

=== tensor float
class S:
    def __float__(self): return G
def f(x): return x * tf.constant(float(S()))
---
G = 5.0
---
S.__float__ = lambda s: 9.0

=== tensor index
class S:
    def __index__(self): return int(G)
def f(x): return x * tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])[S()] * tf.reduce_sum(tf.range(9.0)[S():])
---
G = 5.0
---
S.__index__ = lambda s: 3

=== np index
class S:
    def __index__(self): return int(G)
a = np.arange(9.0)
def f(x): return x * float(a[S()]) * float(a[S():].sum()) * len(np.zeros(S())) * float(np.take(a, S()))
---
G = 5.0
---
S.__index__ = lambda s: 3
---
a[3] = 77.0

=== np bool
class S:
    def __bool__(self): return G > 2
    def __float__(self): return G
def f(x): return x * float(np.float64(S())) * (2.0 if bool(S()) else 3.0)
---
G = 1.0
---
S.__bool__ = lambda s: True

=== math
class S:
    def __float__(self): return G
    def __index__(self): return int(G)
    def __ceil__(self): return 3
    def __trunc__(self): return 4
def f(x): return x * math.sqrt(S()) * math.factorial(S()) * math.ceil(S()) * math.trunc(S()) * math.gcd(S(), 6)
---
G = 1.0
---
S.__float__ = lambda s: 5.0
---
S.__ceil__ = lambda s: 8

=== pow divmod
class S:
    def __pow__(self, o, m=None): return 2.0
    def __divmod__(self, o): return (2.0, 1)
    def __rpow__(self, o): return 3.0
def f(x): return x * pow(S(), 2) * divmod(S(), 2)[0] * 2 ** S()
---
S.__pow__ = lambda s, o, m=None: 5.0
---
S.__rpow__ = lambda s, o: 7.0
---
S.__divmod__ = lambda s, o: (9.0, 0)

=== reversed len
class S:
    n = 2
    def __len__(self): return self.n
    def __getitem__(self, i): return float(i)
def f(x): return x * (1 + next(reversed(S())))
---
S.n = 4
---
S.__getitem__ = lambda s, i: 8.0
---
S.__reversed__ = lambda s: iter([5.0])

=== zip iter
class S:
    def __getitem__(self, i): return G if i < 2 else [][0]
def f(x): return x * sum(a * b for a, b in zip(S(), S())) * sum(map(abs, S()))
---
G = 5.0
---
S.__getitem__ = lambda s, i: 8.0 if i < 1 else [][0]

=== min default
class S:
    def __iter__(self): return iter([G])
def f(x): return x * min(S(), default=1.0) * max(*S(), 0.0)
---
G = 5.0
---
S.__iter__ = lambda s: iter([])

=== any of objs
class S:
    def __bool__(self): return G > 2
def f(x): return x * (2.0 if any([S(), S()]) else 3.0) * (1.0 if all(S() for _ in [1]) else 5.0)
---
G = 1.0
---
S.__bool__ = lambda s: True

=== filter none
class S:
    def __bool__(self): return G > 2
def f(x): return x * (1 + len(list(filter(None, [S(), S()]))))
---
G = 1.0
---
S.__bool__ = lambda s: True

=== isinstance __class__
class Z: pass
class S:
    @property
    def __class__(self): return Z if G > 2 else S
def f(x): return x * (2.0 if isinstance(S(), Z) else 3.0)
---
G = 1.0
---
S.__class__ = property(lambda s: Z)

=== isinstance instance attr
class Z: pass
class S: pass
s = S()
def f(x): return x * (2.0 if isinstance(s, Z) else 3.0)
---
s.__class__ = Z

=== issubclass register
class V: pass
def f(x): return x * (2.0 if issubclass(V, (int, Shape)) else 3.0)
---
Shape.register(V)

=== class made, isinstance
def f(x):
    class V(Mix): pass
    return x * (2.0 if isinstance(V(), Shape) else 3.0)
---
Shape.register(Mix)

=== typing checks
class V: pass
def f(x): return x * (2.0 if isinstance(V(), typing.Hashable) else 3.0)
---
V.__hash__ = None

=== callable
class V: pass
def f(x): return x * (2.0 if callable(V()) else 3.0)
---
V.__call__ = lambda s: 1
---
del V.__call__

=== iter class attr none
class V(list): pass
def f(x):
    try: return x * sum(V([1.0]))
    except TypeError: return x * 9
---
V.__iter__ = None
---
V.__iter__ = lambda s: iter([5.0])

=== type.__call__ replaced new
class V:
    k = 2.0
class U:
    k = 3.0
def f(x): return x * V().k
---
V.__new__ = staticmethod(lambda c: object.__new__(U))
---
U.k = 8.0

=== copy __copy__
class V:
    k = 2.0
    def __copy__(self): return V()
v = V()
def f(x): return x * copy.copy(v).k
---
V.k = 5.0
---
v.k = 7.0
---
V.__copy__ = lambda s: s

=== deepcopy
class V:
    k = 2.0
v = V()
v.l = [1.0]
def f(x): return x * copy.deepcopy(v).l[0] * copy.deepcopy(v).k
---
V.k = 5.0
---
v.l[0] = 7.0
---
v.k = 4.0

=== stack of own
class V:
    k = 2.0
    def __init__(self, *p): self.p = p
    def t(self): return self.k + sum(q.t() for q in self.p)
def f(x): return x * V(V(), V(V())).t()
---
V.k = 5.0
---
V.t = lambda s: 3.0

=== own class attr set
class V:
    k = 2.0
def f(x):
    V.j = 1.0
    v = V.__new__(V)
    return x * v.j * v.k
---
V.j = 5.0
---
V.k = 5.0

=== own class attr set, read by other
class V:
    k = 2.0
def g(v): return v.k
def f(x):
    v = V.__new__(V)
    a = g(v)
    V.k = 3.0
    return x * a
---
V.k = 5.0

=== del class attr
class V:
    k = 2.0
def f(x):
    v = V.__new__(V)
    del V.k
    return x * getattr(v, 'k', 5.0)
---
V.k = 5.0

=== instance shadow
class V:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x):
    v = V()
    a = v.k
    v.k = a + 1
    return x * v.k
---
V.k = 5.0

=== instance unshadow
class V:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x):
    v = V()
    v.k = 3.0
    a = v.k
    del v.k
    return x * v.k * a
---
V.k = 5.0
---
V.__delattr__ = lambda s, n: None

=== augmented
class V:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x):
    v = V()
    v.k += 1
    v.k *= 2
    return x * v.k
---
V.k = 5.0

=== class becomes
class V:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
class U: k = 7.0
def f(x):
    v = V()
    a = v.k
    v.__class__ = U
    return x * v.k * a
---
V.k = 5.0
---
U.k = 9.0

=== inst in dict then class
class V:
    k = 2.0
reg = {}
def f(x):
    v = reg.get('v') or V.__new__(V)
    return x * v.k
---
V.k = 5.0
---
reg['v'] = V()
reg['v'].k = 6.0
---
reg.clear()

=== namedtuple default
class N0(typing.NamedTuple):
    a: float = 2.0
    def m(self): return self.a * G
def f(x): return x * N0().m() * N0().a
---
G = 5.0
---
N0.__new__.__defaults__ = (7.0,)
---
N0.m = lambda s: 1.0
---
N0.a = 4.0

=== typed dict
class N0(typing.TypedDict):
    a: float
def f(x): return x * N0(a=2.0)['a'] * len(N0.__annotations__)
---
N0.__annotations__['c'] = int

=== keras layer attr
class L(tf.keras.layers.Layer):
    k = 2.0
    def call(self, x): return x * self.k
l = L()
def f(x): return l(x)
---
L.k = 5.0
---
l.k = 7.0
---
L.call = lambda s, x: x * 11.0

=== module attr
class L(tf.Module):
    k = 2.0
    def __call__(self, x): return x * self.k
def f(x): return L()(x)
---
L.k = 5.0
---
L.__call__ = lambda s, x: x * 11.0

=== variable subclass
class L(tf.Variable):
    k = 2.0
l = L(3.0)
def f(x): return x * l.k * l
---
L.k = 5.0
=== ufunc duck
class S:
    def sqrt(self): return G
def f(x): return x * np.sqrt(S())
---
G = 5.0
---
S.sqrt = lambda s: 9.0
=== ufunc duck outside
class S:
    def exp(self): return G
s = S()
def f(x): return x * np.exp(s)
---
G = 5.0
---
S.exp = lambda s: 9.0
---
s.exp = lambda: 11.0
=== ufunc add
class S:
    def __radd__(self, o): return G
def f(x): return x * np.add(1, S())
---
G = 5.0
---
S.__radd__ = lambda s, o: 9.0
=== array times
class S:
    def __rmul__(self, o): return float(o.sum()) * G
a = np.ones(3)
def f(x): return x * (a * S()).sum()
---
G = 5.0
---
S.__rmul__ = lambda s, o: o
---
S.__array_ufunc__ = None
---
a[0] = 7.0
=== bytes
class S:
    def __bytes__(self): return b'ab'
def f(x): return x * len(bytes(S()))
---
S.__bytes__ = lambda s: b'abc'
=== iter sentinel
class S:
    def __eq__(self, o): return G > 2
class N0:
    n = 0
    def __call__(self):
        self.n += 1
        return S() if self.n < 5 else 1
def f(x): return x * (1 + len(list(iter(N0(), 1))))
---
G = 1.0
---
G = 5.0
---
S.__eq__ = lambda s, o: False
=== hex
class S:
    def __index__(self): return int(G)
def f(x): return x * len(hex(S())) * len(bin(S()))
---
G = 500.0
---
S.__index__ = lambda s: 70
=== str methods
class S:
    def __index__(self): return int(G)
def f(x): return x * len('a'.ljust(S())) * len('a'.zfill(S()))
---
G = 5.0
---
S.__index__ = lambda s: 7
=== list methods
class S:
    def __index__(self): return int(G)
def f(x):
    l = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    a = l.pop(S())
    l.insert(S(), 9.0)
    return x * a * l[2]
---
G = 2.0
---
G = 5.0
---
S.__index__ = lambda s: 0
=== islice
class S:
    def __index__(self): return int(G)
def f(x): return x * sum(itertools.islice(range(1, 20), S()))
---
G = 2.0
---
G = 5.0
---
S.__index__ = lambda s: 1
=== percent
class S:
    def __getitem__(self, k): return G
def f(x): return x * float('%(k)s' % S())
---
G = 2.0
---
S.__getitem__ = lambda s, k: 7
=== join (other changes)
class S:
    def __iter__(self): return iter(['a'] * int(G))
def f(x): return x * len(''.join(S()))
---
G = 2.0
---
S.__iter__ = lambda s: iter('abc')
=== dict fromkeys of an iterable
class S:
    def __iter__(self): return iter(range(int(G)))
def f(x): return x * len(dict.fromkeys(S()))
---
G = 2.0
---
S.__iter__ = lambda s: iter('abc')
=== set update
class S:
    def __iter__(self): return iter(range(int(G)))
def f(x):
    s = set()
    s.update(S())
    s |= set(S())
    l = []
    l.extend(S())
    l += S()
    d = collections.deque()
    d.extend(S())
    return x * len(s) * len(l) * len(d)
---
G = 2.0
---
S.__iter__ = lambda s: iter('abc')
=== sum start
class S:
    def __add__(self, o): return G
def f(x): return x * sum([1, 2], S())
---
G = 2.0
---
S.__add__ = lambda s, o: 7.0
=== nested own
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
class H:
    def __init__(self): self.s = S()
def f(x): return x * H().s.k
---
S.k = 5.0
---
H.s = property(lambda s: S1())
class S1: k = 9.0
=== dict ior
class S: pass
d = {'k': 2.0}
def f(x):
    s = S()
    s.__dict__ |= d
    return x * s.k
---
d['k'] = 5.0
=== stored own
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
out = []
def f(x):
    s = S()
    out.append(s)
    return x * s.k
---
S.k = 5.0
---
out[-1].k = 7.0
=== returned by tf.nest
class S(typing.NamedTuple):
    a: float
S.k = 2.0
def f(x): return x * tf.nest.map_structure(lambda a: a, S(1.0)).k
---
S.k = 5.0
=== in tf.cond
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x): return tf.cond(x > 0, lambda: x * S().k, lambda: x - S().k)
---
S.k = 5.0
=== in while_loop
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x): return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * S().k), (0, x))[1]
---
S.k = 5.0
=== in map_fn
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
def f(x): return tf.reduce_sum(tf.map_fn(lambda y: y * S().k, tf.stack([x, x])))
---
S.k = 5.0
=== in custom_gradient
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
@tf.custom_gradient
def g(x): return x * S().k, lambda u: u * S().k
def f(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    return t.gradient(y, x) + y
---
S.k = 5.0
=== callable class of temp
class S:
    k = 2.0
    def __new__(cls): return object.__new__(cls)
    def __call__(self, a): return a * self.k
def f(x): return S()(x) * sum(map(S(), [1.0]))
---
S.k = 5.0
---
S.__call__ = lambda s, a: a * 9.0
=== sorted by temp key
class S:
    k = 1.0
    def __new__(cls): return object.__new__(cls)
    def __call__(self, a): return a * self.k
def f(x): return x * sorted([1.0, 2.0], key=S())[0] * max([1.0, 2.0], key=S())
---
S.k = -1.0
---
S.__call__ = lambda s, a: a
=== inherited dataclass default
@dataclasses.dataclass
class A0:
    a: float = 2.0
@dataclasses.dataclass
class S(A0):
    b: float = 1.0
    def __new__(cls, *a): return object.__new__(cls)
def f(x): return x * S.__new__(S).a
---
A0.a = 5.0
---
S.a = 6.0
=== init not run
class A0:
    a = 2.0
    def __init__(self): self.a = 9.0
class S(A0): pass
def f(x): return x * A0.__new__(S).a
---
A0.a = 5.0
---
S.a = 6.0
---
del S.a
=== exc class attr of builtin raise
class E(KeyError): k = 2.0
class D0(dict):
    def __missing__(self, k): raise E
def f(x):
    try: return x * D0()[1]
    except KeyError as e: return x * e.k
---
E.k = 5.0
---
D0.__missing__ = lambda s, k: 7.0
=== exc note
class E(Exception): k = 2.0
def f(x):
    try:
        try: 1 / 0
        except ZeroDivisionError as z: raise E('a') from z
    except E as e: return x * e.k * len(e.args) * len(type(e.__cause__).__name__)
---
E.k = 5.0
=== throw
class E(Exception): k = 2.0
def g():
    try: yield 1
    except E as e: yield e.k
def f(x):
    i = g()
    next(i)
    return x * i.throw(E)
---
E.k = 5.0
---
E.__init__ = lambda s: setattr(s, 'k', 8.0)
=== generator throw new
class E(Exception): k = 2.0
def g():
    try: yield 1
    except Exception as e: yield getattr(e, 'k', 4.0)
def f(x):
    i = g()
    next(i)
    return x * i.throw(E())
---
E.k = 5.0
---
del E.k
=== class body name
K0 = 2.0
def f(x):
    class V: a = K0
    return x * V.a
---
K0 = 3.0
=== local class dunder
def mk(k):
    class V:
        def __mul__(self, o): return k * G
    return V
def f(x): return x * (mk(2.0)() * 1)
---
G = 4.0
=== own meta conflict
class M(type): k = 2.0
class A0(metaclass=M): pass
def f(x): return x * type(A0).k * type(type('Z', (A0,), {})).k
---
M.k = 5.0
=== type three with meta
class M(type):
    def __new__(m, n, b, d):
        d['k'] = G
        return super().__new__(m, n, b, d)
def f(x): return x * M('Z', (), {}).k
---
G = 5.0
---
M.__new__ = staticmethod(lambda m, n, b, d: type(n, b, {'k': 9.0}))
=== meta init
class M(type):
    def __init__(c, *a): c.k = G
def f(x):
    class Z(metaclass=M): pass
    return x * Z.k
---
G = 5.0
---
M.__init__ = lambda c, *a: setattr(c, 'k', 8.0)
=== setattr on class in call
class S: pass
def f(x):
    class Z(S): pass
    Z.k = 3.0
    setattr(Z, 'j', 2.0)
    return x * Z.k * Z().j
---
S.k = 5.0
=== singleton module
class S:
    k = 2.0
    @classmethod
    def get(cls):
        q = cls.__dict__.get('i')
        return q or cls.__new__(cls)
def f(x): return x * S.get().k
---
S.k = 5.0
---
S.i = S()
S.i.k = 8.0
=== hasattr class
class S: pass
def f(x): return x * (2.0 if hasattr(S, 'k') else 3.0)
---
S.k = 1
---
del S.k
=== hasattr slot
class S:
    __slots__ = ('k',)
    def __new__(cls): return object.__new__(cls)
def f(x): return x * (2.0 if hasattr(S(), 'k') else 3.0)
---
S.k = 1
---
S.__getattr__ = lambda s, n: 1
=== lambda class attr
class S:
    fn = lambda self: G
    def __new__(cls): return object.__new__(cls)
def f(x): return x * S().fn()
---
G = 5.0
---
S.fn = lambda s: 7.0
---
S.fn.__code__ = (lambda s: 8.0).__code__
=== builtin as class attr
class S:
    fn = abs
    def __new__(cls): return object.__new__(cls)
def f(x): return x * S().fn(-2.0)
---
S.fn = float
=== tf fn as class attr
class S:
    fn = staticmethod(tf.sin)
    def __new__(cls): return object.__new__(cls)
def f(x): return S().fn(x)
---
S.fn = staticmethod(tf.cos)
=== class attr var
class S:
    v = tf.Variable(2.0)
    def __new__(cls): return object.__new__(cls)
def f(x): return S().v * x
---
S.v.assign(5.0)
---
S.v = tf.Variable(7.0)
---
S.v = 3.0
=== class attr array
class S:
    v = np.ones(2)
    def __new__(cls): return object.__new__(cls)
def f(x): return tf.reduce_sum(S().v * x)
---
S.v[0] = 5.0
---
S.v = np.zeros(2)
=== class attr list
class S:
    v = [1.0]
    def __new__(cls): return object.__new__(cls)
def f(x): return S().v[0] * x * sum(S().v)
---
S.v[0] = 5.0
---
S.v = [3.0]
---
S.v.append(4.0)
=== property setter own
class S:
    @property
    def p(self): return self.q
    @p.setter
    def p(self, v): self.q = v * G
def f(x):
    s = S()
    s.p = 2.0
    return x * s.p
---
G = 5.0
---
S.p = property(lambda s: 3.0, lambda s, v: None)
=== __set__ own
class D0:
    def __set__(self, o, v): o.__dict__['k'] = v * G
    def __get__(self, o, t): return o.__dict__['k']
class S: k = D0()
def f(x):
    s = S()
    s.k = 2.0
    return x * s.k
---
G = 5.0
---
D0.__set__ = lambda s, o, v: o.__dict__.update(k=7.0)
---
del D0.__set__
=== __delete__
class D0:
    def __delete__(self, o): o.j = G
class S: k = D0()
def f(x):
    s = S()
    del s.k
    return x * s.j
---
G = 5.0
---
D0.__delete__ = lambda s, o: setattr(o, 'j', 8.0)
=== __delitem__
class S:
    def __delitem__(self, i): self.j = G
def f(x):
    s = S()
    del s[0]
    return x * s.j
---
G = 5.0
---
S.__delitem__ = lambda s, o: setattr(s, 'j', 8.0)
=== __setitem__
class S:
    def __setitem__(self, i, v): self.j = G
def f(x):
    s = S()
    s[0] = 1
    s[1:2] = 3
    return x * s.j
---
G = 5.0
---
S.__setitem__ = lambda s, o, v: setattr(s, 'j', 8.0)
=== getitem int default
class S(dict):
    def __getitem__(self, k): return G
def f(x): return x * S(a=1)['a'] * S(a=1).get('a')
---
G = 5.0
---
S.__getitem__ = lambda s, k: 8.0
---
S.get = lambda s, k: 11.0
=== list subclass getitem
class S(list):
    def __getitem__(self, k): return G
def f(x): return x * S([1.0])[0] * sum(S([1.0])) * S([1.0])[0:1]
---
G = 5.0
---
S.__getitem__ = lambda s, k: 8.0
---
del S.__getitem__
=== tuple subclass
class S(tuple):
    k = 2.0
s = S((1.0, 2.0))
def f(x): return x * s[0] * s.k * sum(s) * len(s) * (s + (1,)).count(1)
---
S.k = 5.0
---
S.__len__ = lambda s: 7
---
S.__getitem__ = lambda s, i: 3.0
---
S.__iter__ = lambda s: iter([8.0])
---
S.__add__ = lambda s, o: (1, 1)
=== str subclass outside
class S(str): pass
s = S('abc')
def f(x): return x * len(s) * len(s + 'd') * len(f'{s}') * len(s.upper())
---
S.__len__ = lambda s: 7
---
S.__add__ = lambda s, o: 'a'
---
S.__format__ = lambda s, o: 'abcdefg'
---
S.upper = lambda s: 'abcdefgh'
=== int subclass outside
class S(int): k = 2.0
s = S(3)
def f(x): return x * (s + 1) * s.k * values[s] * (2.0 if s else 1.0) * float(f'{s}')
---
S.__add__ = lambda s, o: 7
---
S.k = 5.0
---
S.__index__ = lambda s: 1
---
S.__bool__ = lambda s: False
---
S.__format__ = lambda s, o: '11'
---
values[3] = 77.0
=== bool of list subclass
class S(list): pass
s = S([1])
def f(x): return x * (2.0 if s else 3.0) * (2.0 if S() else 3.0)
---
s.clear()
---
S.__bool__ = lambda s: True
---
S.__len__ = lambda s: 0
=== contains list subclass
class S(list): pass
s = S([1])
def f(x): return x * (2.0 if 1 in s else 3.0)
---
s.clear()
---
S.__contains__ = lambda s, o: True
=== own in outside list
class S:
    def __eq__(self, o): return o == 2
l = [1]
def f(x): return x * (2.0 if S() in l else 3.0) * (1 + l.count(S()))
---
l.append(2)
---
S.__eq__ = lambda s, o: True
=== defaultdict factory
class S: k = 2.0
d = collections.defaultdict(S)
def f(x): return x * d[1].k
---
S.k = 5.0
---
d[1].k = 7.0
---
d.clear()
=== counter missing
class Co(collections.Counter): pass
c = Co('aab')
def f(x): return x * (1 + c['a'] + c['z'])
---
c['a'] = 5
---
c['z'] = 3
---
Co.__missing__ = lambda s, k: 9
=== super in property
class A0:
    @property
    def p(self): return G
class S(A0):
    @property
    def p(self): return super().p * 2
def f(x): return x * S().p
---
G = 5.0
---
A0.p = property(lambda s: 7.0)
---
A0.p = 3.0
=== cooperative
class A0:
    def m(self): return 1.0
class B1(A0):
    def m(self): return super().m() * 2
class B2(A0):
    def m(self): return super().m() + 5
class S(B1, B2): pass
def f(x): return x * S().m()
---
B2.m = lambda s: 7.0
---
S.__bases__ = (B2, B1)
---
del B1.m
---
A0.m = lambda s: 3.0
=== super class changes
class A0:
    k = 1.0
class A2:
    k = 9.0
class B1(A0):
    def m(self): return super().k
def f(x): return x * B1().m()
---
B1.__bases__ = (A2,)
---
A2.k = 4.0
=== class via closure
def mk():
    class S: k = 2.0
    def g(): return S.__new__(S).k
    return g, S
g, S0 = mk()
def f(x): return x * g()
---
S0.k = 5.0
=== instance via generator expr state
class S:
    k = 2.0
    def __iter__(self):
        for i in range(2): yield self.k * i
def f(x): return x * (1 + sum(v for v in S() if v > 0))
---
S.k = 5.0
---
S.k = -5.0
=== any with getattr
class S: pass
def f(x): return x * sum(getattr(S(), n, 1.0) for n in ('a', 'b'))
---
S.a = 5.0
---
S.b = 7.0
---
del S.a
=== map attrgetter
class S: k = 2.0
def f(x): return x * sum(map(operator.attrgetter('k'), [S(), S()]))
---
S.k = 5.0
=== map attrgetter outside
class S: k = 2.0
s = S()
def f(x): return x * sum(map(operator.attrgetter('k'), [s])) * sorted([s, s], key=operator.attrgetter('k'))[0].k
---
S.k = 5.0
---
s.k = 7.0
=== map methodcaller
class S:
    def m(self): return G
def f(x): return x * sum(map(operator.methodcaller('m'), [S()]))
---
G = 5.0
---
S.m = lambda s: 8.0
=== map method
class S:
    def m(self): return G
def f(x): return x * sum(map(S.m, [S(), S()])) * sum(map(getattr, [S()], ['k'], [3.0]))
---
G = 5.0
---
S.m = lambda s: 8.0
---
S.k = 11.0
=== reduce getattr
class S: k = 2.0
S.me = S
def f(x): return x * functools.reduce(getattr, ['me', 'k'], S())
---
S.k = 5.0
=== map hasattr
class S: pass
def f(x): return x * (1 + sum(map(hasattr, [S()], ['k'])))
---
S.k = 5.0
=== map isinstance
class S: pass
def f(x): return x * (1 + sum(map(isinstance, [S()], [Shape])))
---
Shape.register(S)
=== map len
class S:
    def __len__(self): return 2
def f(x): return x * sum(map(len, [S()])) * max([S()], key=len).__len__()
---
S.__len__ = lambda s: 5
=== map vars
class S:
    def __init__(self): self.k = 2.0
s = S()
def f(x): return x * sum(sum(d.values()) for d in map(vars, [s]))
---
s.k = 5.0
---
s.j = 3.0
=== map next
class It:
    def __next__(self): return G
def f(x): return x * sum(map(next, [It()]))
---
G = 5.0
---
It.__next__ = lambda s: 9.0
=== map iter
class It:
    def __iter__(self): return iter([G])
def f(x): return x * sum(map(sum, [It()]))
---
G = 5.0
---
It.__iter__ = lambda s: iter([9.0])
=== starmap
class S:
    def __call__(self, a): return G * a
def f(x): return x * sum(itertools.starmap(S(), [(1,)]))
---
G = 5.0
---
S.__call__ = lambda s, a: 9.0
=== map class
class S:
    def __init__(self, a): self.a = a * G
def f(x): return x * sum(s.a for s in map(S, [1.0, 2.0]))
---
G = 5.0
---
S.__init__ = lambda s, a: setattr(s, 'a', 3.0)
=== map class attr
class S:
    k = 2.0
    def __init__(self, a): pass
def f(x): return x * sum(s.k for s in map(S, [1.0, 2.0]))
---
S.k = 5.0
=== sorted class key
class S:
    def __init__(self, a): self.a = a
    def __lt__(self, o): return self.a < o.a
def f(x): return x * sorted([1.0, 2.0], key=S)[0]
---
S.__lt__ = lambda s, o: s.a > o.a
---
S.__init__ = lambda s, a: setattr(s, 'a', -a)
=== groupby
class S:
    def __eq__(self, o): return G > 2
    def __init__(self, a): pass
def f(x): return x * len(list(itertools.groupby([1, 2, 3], key=S)))
---
G = 1.0
---
G = 5.0
---
S.__eq__ = lambda s, o: False
=== accumulate
class S:
    def __add__(self, o): return S()
    k = 2.0
def f(x): return x * list(itertools.accumulate([S(), S()]))[-1].k
---
S.k = 5.0
---
S.__add__ = lambda s, o: E0()
class E0: k = 9.0
=== product
class S:
    def __iter__(self): return iter([G])
def f(x): return x * sum(a * b for a, b in itertools.product(S(), S())) * sum(itertools.chain(S(), S()))
---
G = 5.0
---
S.__iter__ = lambda s: iter([2.0, 3.0])
=== zip_longest
class S:
    def __iter__(self): return iter([G])
def f(x): return x * sum(a + b for a, b in itertools.zip_longest(S(), [1.0, 2.0], fillvalue=1.0))
---
G = 5.0
---
S.__iter__ = lambda s: iter([2.0, 3.0])
=== chain from_iterable
class S:
    def __iter__(self): return iter([G])
def f(x): return x * sum(itertools.chain.from_iterable([S(), S()]))
---
G = 5.0
---
S.__iter__ = lambda s: iter([2.0, 3.0])
=== special methods that are other functions
L = []
def has(self, o): return L
class S:
    __contains__ = has
    __eq__ = lambda s, o: L
    __lt__ = lambda s, o: L
    def __init__(self, v=1.0): self.v = v
def f(x):
    l = [S(1.0), S(2.0)]
    l.sort()
    return x * (2.0 if 1 in S() else 3.0) * (2.0 if 1 in [S()] else 5.0) * l[0].v * max(S(1.0), S(2.0)).v
---
L.append(1)
---
L.clear()
=== iterators kept behind other functions
class S:
    def __init__(self): self.it = iter([1.0, 2.0, 3.0, 4.0] * 20)
    __iter__ = lambda s: s.it
s = S()
class Two:
    __iter__ = lambda a: itertools.islice(s.it, 2)
def f(x):
    a, b = Two()
    c, *_ = [*Two()]
    return x * a * c
=== iterator kept, unpacked
class S:
    def __init__(self): self.it = iter([1.0, 2.0])
    __iter__ = lambda s: s.it
s = S()
def f(x):
    a, b = s
    return x * a
"""

CASES = {
    name: tuple(part.strip("\n") for part in case.split("---\n"))
    for name, case in (case.split("\n", 1) for case in TEXT.split("=== ")[1:])
}
