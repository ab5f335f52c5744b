"""Random programs that read Python's state in every possible way, and change it between calls.

A program is a function `f(x)` that multiplies ``x`` by values of the state, and steps that call it
or change the state. Each call is compared with the same function run as Python.
"""

import gc
import random
import re
import textwrap
import warnings

import new_syntax_ways
import numpy as np

import numtape as tf

# Ways to hold state: the setup, the expression that reads it, the change. P is a number, drawn at
# each occurrence; N is a small integer; @ makes names unique to the program.
WAYS = {
    "global": ("g@ = P", "g@", ["g@ = P"]),
    "global that is deleted": (
        "g@ = P",
        "globals().get('g@', P)",
        ["globals().pop('g@', 0)", "g@ = P"],
    ),
    "closure": (
        "def outer@():\n    k = P\n    def get():\n        return k\n"
        "    def put(v):\n        nonlocal k\n        k = v\n    return get, put\n"
        "get@, put@ = outer@()",
        "get@()",
        ["put@(P)", "get@, put@ = outer@()"],
    ),
    "default": ("def d@(x, k=P):\n    return k", "d@(0)", ["d@.__defaults__ = (P,)"]),
    "keyword default": (
        "def d@(x, *, k=P):\n    return k",
        "d@(0)",
        ["d@.__kwdefaults__ = {'k': P}", "d@.__kwdefaults__['k'] = P"],
    ),
    "mutable default": (
        "def d@(x, k=[P]):\n    return k[0]",
        "d@(0)",
        ["d@.__defaults__[0][0] = P"],
    ),
    "code of a function": (
        "def c@():\n    return P\ndef e@():\n    return P",
        "c@()",
        ["c@.__code__ = e@.__code__", "c@, e@ = e@, c@"],
    ),
    "attribute of a function": ("def h@():\n    return h@.k\nh@.k = P", "h@()", ["h@.k = P"]),
    "attribute": (
        "o@ = Thing()\no@.k = P",
        "o@.k",
        ["o@.k = P", "o@ = Thing()\no@.k = P", "o@.__dict__ = {'k': P}", "vars(o@)['k'] = P"],
    ),
    "attribute of attribute": (
        "o@ = Thing()\no@.a = Thing()\no@.a.k = P",
        "o@.a.k",
        ["o@.a.k = P", "o@.a = Thing()\no@.a.k = P"],
    ),
    "class attribute": ("class C@:\n    k = P\no@ = C@()", "o@.k", ["C@.k = P", "o@.k = P"]),
    "attribute of a class": ("class C@:\n    k = P", "C@.k", ["C@.k = P"]),
    "inherited": (
        "class B@:\n    k = P\nclass C@(B@):\n    pass\no@ = C@()",
        "o@.k",
        ["B@.k = P", "C@.k = P"],
    ),
    "bases": (
        "class A@:\n    k = P\nclass B@:\n    k = P\nclass C@(A@):\n    pass\no@ = C@()",
        "o@.k",
        ["C@.__bases__ = (B@,)", "C@.__bases__ = (A@,)"],
    ),
    "its class": (
        "class A@:\n    k = P\nclass B@:\n    k = P\no@ = A@()",
        "o@.k",
        ["o@.__class__ = B@", "o@.__class__ = A@"],
    ),
    "method": (
        "class C@:\n    def m(self):\n        return P\no@ = C@()",
        "o@.m()",
        ["C@.m = lambda self: P", "o@.m = lambda: P"],
    ),
    "super": (
        "class B@:\n    def m(self):\n        return P\nclass C@(B@):\n"
        "    def m(self):\n        return super().m()\no@ = C@()",
        "o@.m()",
        ["B@.m = lambda self: P"],
    ),
    "attribute of super": (
        "class B@:\n    k = P\nclass C@(B@):\n    k = P\n    def m(self):\n"
        "        return super().k\no@ = C@()",
        "o@.m()",
        ["B@.k = P"],
    ),
    "static method": (
        "class C@:\n    @staticmethod\n    def m():\n        return C@.k\n    k = P",
        "C@().m()",
        ["C@.k = P", "C@.m = staticmethod(lambda: P)"],
    ),
    "class method": (
        "class C@:\n    k = P\n    @classmethod\n    def m(cls):\n        return cls.k",
        "C@.m()",
        ["C@.k = P"],
    ),
    "property": (
        "class C@:\n    r = P\n    @property\n    def k(self):\n        return self.r\no@ = C@()",
        "o@.k",
        ["o@.r = P", "C@.k = property(lambda self: P)"],
    ),
    "property by a getter": (
        "class C@:\n    r = P\n    k = property(operator.attrgetter('r'))\no@ = C@()",
        "o@.k",
        ["o@.r = P"],
    ),
    "cached property": (
        "class C@:\n    r = P\n    @functools.cached_property\n    def k(self):\n"
        "        return self.r\no@ = C@()",
        "o@.k",
        ["o@.__dict__.pop('k', 0)\no@.r = P", "o@.k = P"],
    ),
    "descriptor": (
        "class D@:\n    def __init__(self):\n        self.v = P\n"
        "    def __get__(self, o, t):\n        return self.v\n"
        "d@ = D@()\nclass C@:\n    k = d@\no@ = C@()",
        "o@.k",
        ["d@.v = P", "C@.k = P"],
    ),
    "slots": ("class C@:\n    __slots__ = ('k',)\no@ = C@()\no@.k = P", "o@.k", ["o@.k = P"]),
    "getattr by name": (
        "o@ = Thing()\no@.k = P\nn@ = 'k'",
        "getattr(o@, n@)",
        ["o@.k = P", "o@.j = P\nn@ = 'j'", "n@ = 'k'"],
    ),
    "getattr with default": ("o@ = Thing()", "getattr(o@, 'k', P)", ["o@.k = P"]),
    "hasattr": (
        "o@ = Thing()",
        "(P if hasattr(o@, 'k') else P)",
        ["o@.k = 1", "o@.__dict__.pop('k', 0)"],
    ),
    "attrgetter": (
        "o@ = Thing()\no@.a = Thing()\no@.a.k = P",
        "operator.attrgetter('a.k')(o@)",
        ["o@.a.k = P"],
    ),
    "itemgetter": ("l@ = [P, P]", "operator.itemgetter(1)(l@)", ["l@[1] = P"]),
    "__getattr__": (
        "class C@:\n    def __init__(self):\n        self.d = {'k': P}\n"
        "    def __getattr__(self, n):\n        return self.d[n]\no@ = C@()",
        "o@.k",
        ["o@.d['k'] = P", "o@.k = P"],
    ),
    "__getattribute__": (
        "class C@:\n    def __getattribute__(self, n):\n        return s@[n]\n"
        "s@ = {'k': P}\no@ = C@()",
        "o@.k",
        ["s@['k'] = P"],
    ),
    "a dict with attributes": (
        "class C@(dict):\n    __getattr__ = dict.__getitem__\n"
        "    __setattr__ = dict.__setitem__\no@ = C@(k=P)",
        "o@.k",
        ["o@.k = P", "o@['k'] = P"],
    ),
    "__setattr__": (
        "class C@:\n    def __setattr__(self, n, v):\n        vars(self)[n] = v + 1\n"
        "o@ = C@()\no@.k = P",
        "o@.k",
        ["o@.k = P"],
    ),
    "__call__": (
        "class C@:\n    k = P\n    def __call__(self):\n        return self.k\no@ = C@()",
        "o@()",
        ["o@.k = P", "C@.__call__ = lambda self: P"],
    ),
    "__getitem__": (
        "class C@:\n    def __init__(self):\n        self.d = [P, P]\n"
        "    def __getitem__(self, i):\n        return self.d[i]\no@ = C@()",
        "o@[1]",
        ["o@.d[1] = P", "C@.__getitem__ = lambda self, i: P"],
    ),
    "__len__": (
        "class C@:\n    n = N\n    def __len__(self):\n        return self.n\no@ = C@()",
        "len(o@)",
        ["o@.n = N"],
    ),
    "__bool__": (
        "class C@:\n    b = True\n    def __bool__(self):\n        return self.b\no@ = C@()",
        "(P if o@ else P)",
        ["o@.b = not o@.b"],
    ),
    "__contains__": (
        "class C@:\n    s = [1]\n    def __contains__(self, v):\n"
        "        return v in self.s\no@ = C@()",
        "(P if 2 in o@ else P)",
        ["o@.s = [1, 2]", "o@.s = []", "C@.s.append(2)"],
    ),
    "__iter__": (
        "class C@:\n    def __init__(self):\n        self.v = [P]\n"
        "    def __iter__(self):\n        return iter(self.v)\no@ = C@()",
        "sum(o@, 1.0)",
        ["o@.v.append(P)", "o@.v = [P]"],
    ),
    "__mul__": (
        "class C@:\n    k = P\n    def __radd__(self, o):\n        return o + self.k\no@ = C@()",
        "(1.0 + o@)",
        ["o@.k = P", "C@.__radd__ = lambda self, o: P"],
    ),
    "__eq__": (
        "class C@:\n    k = 1\n    def __eq__(self, o):\n        return self.k == o\no@ = C@()",
        "(P if o@ == 1 else P)",
        ["o@.k = N"],
    ),
    "__float__": (
        "class C@:\n    k = P\n    def __float__(self):\n        return float(self.k)\no@ = C@()",
        "float(o@)",
        ["o@.k = P"],
    ),
    "__index__": (
        "class C@:\n    k = 1\n    def __index__(self):\n        return self.k\no@ = C@()",
        "tf.constant([2.0, 3.0, 5.0])[o@]",
        ["o@.k = 0", "o@.k = 2"],
    ),
    "__array__": (
        "class C@:\n    k = P\n    def __array__(self, dtype=None, copy=None):\n"
        "        return np.array(self.k, dtype or np.float32)\no@ = C@()",
        "tf.reduce_sum(tf.constant([1.0, 1.0]) * o@)",
        ["o@.k = P"],
    ),
    "__enter__": (
        "class C@:\n    k = P\n    def __enter__(self):\n        return self.k\n"
        "    def __exit__(self, *_):\n        pass\no@ = C@()\n"
        "def w@():\n    with o@ as v:\n        return v",
        "w@()",
        ["o@.k = P"],
    ),
    "metaclass": (
        "class M@(type):\n    k = P\n    @property\n    def p(cls):\n"
        "        return cls.k\nclass C@(metaclass=M@):\n    pass",
        "C@.p",
        ["M@.k = P"],
    ),
    "list": ("l@ = [P, P]", "l@[0]", ["l@[0] = P", "l@.insert(0, P)", "l@ = [P]", "l@.reverse()"]),
    "list by index": ("l@ = [P, P, P]\ni@ = 0", "l@[i@]", ["i@ = (i@ + 1) % 3", "l@[i@] = P"]),
    "list from the end": ("l@ = [P, P]", "l@[-1]", ["l@.append(P)", "l@[-1] = P"]),
    "slice": (
        "l@ = [P, P, P]",
        "sum(l@[1:])",
        ["l@[2] = P", "l@.append(P)", "del l@[2:]\nl@.append(P)"],
    ),
    "loop": (
        "l@ = [P, P]\ndef s@():\n    t = 1.0\n    for k in l@:\n        t += k\n    return t",
        "s@()",
        ["l@.append(P)", "l@[0] = P", "l@.clear()"],
    ),
    "comprehension": ("l@ = [P, P]", "max([k * 2 for k in l@])", ["l@[0] = P", "l@.append(P)"]),
    "generator expression": ("l@ = [P, P]", "sum(k * 2 for k in l@)", ["l@[0] = P"]),
    "nested list": ("l@ = [[P], [P]]", "l@[1][0]", ["l@[1][0] = P", "l@[1] = [P]"]),
    "length": ("l@ = [1]", "len(l@)", ["l@.append(1)", "l@ = [1, 1]"]),
    "truth": ("l@ = []", "(P if l@ else P)", ["l@.append(1)", "l@.clear()"]),
    "unpacked": (
        "l@ = [P, P]\ndef u@():\n    a, b = l@\n    return a - b",
        "u@()",
        ["l@[0] = P", "l@[1] = P"],
    ),
    "starred": ("l@ = [P, P]\ndef u@(*a):\n    return a[-1]", "u@(*l@)", ["l@.append(P)"]),
    "keywords": (
        "k@ = {'a': P}\ndef u@(a=0, b=0):\n    return a + b",
        "u@(**k@)",
        ["k@['a'] = P", "k@['b'] = P"],
    ),
    "sorted": ("l@ = [P, P, P]", "sorted(l@)[1]", ["l@[0] = P"]),
    "zip": (
        "l@, m@ = [P, P], [P, P]",
        "sum(a * b for a, b in zip(l@, m@))",
        ["l@[1] = P", "m@[0] = P", "m@.pop()\nm@.append(P)"],
    ),
    "enumerate": ("l@ = [P, P]", "sum(i * k for i, k in enumerate(l@))", ["l@[1] = P"]),
    "map": ("l@ = [P, P]\nk@ = P", "sum(map(lambda v: v * k@, l@))", ["l@[0] = P", "k@ = P"]),
    "sorted by key": (
        "l@ = [P, P]\nk@ = [1]",
        "sorted(l@, key=lambda v: v * k@[0])[0]",
        ["k@[0] = -k@[0]"],
    ),
    "tuple": ("t@ = (P, [P])", "t@[1][0]", ["t@ = (P, [P])", "t@[1][0] = P"]),
    "dict": ("d@ = {'a': P}", "d@['a']", ["d@['a'] = P", "d@ = {'a': P}", "d@.update(a=P)"]),
    "dict by get": ("d@ = {}", "d@.get('a', P)", ["d@['a'] = P", "d@.pop('a', 0)"]),
    "dict of objects": (
        "d@ = {'a': Thing()}\nd@['a'].k = P",
        "d@['a'].k",
        ["d@['a'].k = P", "d@['a'] = Thing()\nd@['a'].k = P"],
    ),
    "values": ("d@ = {'a': P, 'b': P}", "sum(d@.values())", ["d@['b'] = P", "d@['c'] = P"]),
    "items": (
        "d@ = {'a': P}",
        "sum(len(a) * v for a, v in d@.items())",
        ["d@['a'] = P", "d@['bb'] = P"],
    ),
    "keys": ("d@ = {'a': 1}", "sum(len(a) for a in d@)", ["d@['bcd'] = 1", "d@.pop('a', 0)"]),
    "order of a dict": (
        "d@ = {'a': P, 'b': P}",
        "next(iter(d@.values()))",
        ["d@['a'] = d@.pop('a')", "d@['b'] = d@.pop('b')"],
    ),
    "membership": ("d@ = {'a': 1}", "(P if 'b' in d@ else P)", ["d@['b'] = 1", "d@.pop('b', 0)"]),
    "KeyError": (
        "d@ = {}\ndef t@():\n    try:\n        return d@['a']\n    except KeyError:\n"
        "        return P",
        "t@()",
        ["d@['a'] = P", "d@.pop('a', 0)"],
    ),
    "set": ("s@ = {1}", "(P if 2 in s@ else P)", ["s@.add(2)", "s@.discard(2)"]),
    "sum of a set": ("s@ = {P}", "sum(s@)", ["s@.add(P)", "s@ = {P}"]),
    "frozenset": (
        "s@ = frozenset([1, 2])",
        "len(s@)",
        ["s@ = frozenset([1])", "s@ = frozenset([1, 2, 3])"],
    ),
    "deque": ("q@ = collections.deque([P, P])", "q@[0]", ["q@.appendleft(P)", "q@.rotate()"]),
    "OrderedDict": (
        "d@ = collections.OrderedDict(a=P, b=P)",
        "list(d@.values())[0]",
        ["d@.move_to_end('a')", "d@['a'] = P", "d@.move_to_end('b')"],
    ),
    "defaultdict": ("d@ = collections.defaultdict(float, a=P)", "d@['a']", ["d@['a'] = P"]),
    "Counter": ("d@ = collections.Counter('ab')", "(d@['a'] + 1.0)", ["d@['a'] += 1"]),
    "ChainMap": (
        "a@, b@ = {}, {'k': P}\nd@ = collections.ChainMap(a@, b@)",
        "d@['k']",
        ["a@['k'] = P", "b@['k'] = P", "a@.pop('k', 0)"],
    ),
    "UserDict": ("d@ = collections.UserDict(a=P)", "d@['a']", ["d@['a'] = P"]),
    "namedtuple": (
        "T@ = collections.namedtuple('T', 'k l')\nt@ = T@(P, [P])",
        "t@.k * t@.l[0]",
        ["t@ = t@._replace(k=P)", "t@.l[0] = P"],
    ),
    "dataclass": (
        "@dataclasses.dataclass\nclass D@:\n    k: float = P\no@ = D@()",
        "o@.k",
        ["o@.k = P", "o@ = D@()"],
    ),
    "enum": (
        "class E@(enum.Enum):\n    A = P\n    B = P\no@ = E@.A",
        "o@.value",
        ["o@ = E@.B", "o@ = E@.A"],
    ),
    "SimpleNamespace": ("o@ = types.SimpleNamespace(k=P)", "o@.k", ["o@.k = P"]),
    "MappingProxy": ("d@ = {'k': P}\no@ = types.MappingProxyType(d@)", "o@['k']", ["d@['k'] = P"]),
    "module": ("m@ = types.ModuleType('m@')\nm@.k = P", "m@.k", ["m@.k = P"]),
    "module's __getattr__": (
        "m@ = types.ModuleType('m@')\nm@.d = {'k': P}\nm@.__getattr__ = lambda n: m@.d[n]",
        "m@.k",
        ["m@.d['k'] = P", "m@.k = P"],
    ),
    "imported inside": (
        "sys.modules['made@'] = types.ModuleType('made@')\n"
        "sys.modules['made@'].k = P\ndef i@():\n    import made@\n"
        "    return made@.k",
        "i@()",
        [
            "sys.modules['made@'].k = P",
            "sys.modules['made@'] = types.ModuleType('made@')\nsys.modules['made@'].k = P",
        ],
    ),
    "partial": (
        "p@ = functools.partial(lambda a, b: a * b, P, P)",
        "p@()",
        ["p@ = functools.partial(lambda a, b: a * b, P, P)"],
    ),
    "partial of keywords": (
        "p@ = functools.partial(lambda a, b: a * b, P, b=P)",
        "p@()",
        ["p@.keywords['b'] = P"],
    ),
    "partialmethod": (
        "class C@:\n    k = P\n    def m(self, a):\n        return self.k * a\n"
        "    n = functools.partialmethod(m, P)\no@ = C@()",
        "o@.n()",
        ["o@.k = P"],
    ),
    "lru_cache": (
        "@functools.lru_cache\ndef c@():\n    return k@\nk@ = P",
        "c@()",
        ["k@ = P", "k@ = P\nc@.cache_clear()"],
    ),
    "wrapped": (
        "def wrap@(f):\n    @functools.wraps(f)\n    def g(*a):\n"
        "        return f(*a) * k@\n    return g\nk@ = P\n@wrap@\ndef w@(a):\n    return a",
        "w@(P)",
        ["k@ = P"],
    ),
    "reduce": ("l@ = [P, P]", "functools.reduce(lambda a, b: a + b, l@)", ["l@[0] = P"]),
    "weak reference": (
        "o@ = Thing()\no@.k = P\nr@ = weakref.ref(o@)",
        "(r@().k if r@() is not None else P)",
        ["o@.k = P", "o@ = None", "o@ = Thing()\no@.k = P\nr@ = weakref.ref(o@)"],
    ),
    "weak proxy": ("o@ = Thing()\no@.k = P\nr@ = weakref.proxy(o@)", "r@.k", ["o@.k = P"]),
    "WeakValueDictionary": (
        "o@ = Thing()\no@.k = P\nd@ = weakref.WeakValueDictionary(a=o@)",
        "d@['a'].k",
        ["o@.k = P"],
    ),
    "context variable": ("v@ = contextvars.ContextVar('v@')\nv@.set(P)", "v@.get()", ["v@.set(P)"]),
    "threading.local": ("o@ = threading.local()\no@.k = P", "o@.k", ["o@.k = P"]),
    "event": ("e@ = threading.Event()", "(P if e@.is_set() else P)", ["e@.set()", "e@.clear()"]),
    "environment": (
        "os.environ['K@'] = str(P)",
        "float(os.environ['K@'])",
        ["os.environ['K@'] = str(P)"],
    ),
    "regular expression": (
        "import re\nr@ = re.compile('[0-5]')\nt@ = [str(N)]",
        "(P if r@.match(t@[0]) else P)",
        ["t@[0] = str(N)", "r@ = re.compile('[3-9]')"],
    ),
    "slots and __getattr__": (
        "class C@:\n    __slots__ = ()\n    def __getattr__(self, n):\n        return k@\n"
        "k@ = P\no@ = C@()",
        "o@.k",
        ["k@ = P", "C@.k = P"],
    ),
    "recursion limit": (
        "",
        "sys.getrecursionlimit()",
        ["sys.setrecursionlimit(sys.getrecursionlimit() + N)"],
    ),
    "ctypes": (
        "class S@(ctypes.Structure):\n    _fields_ = [('k', ctypes.c_double)]\no@ = S@(P)",
        "o@.k",
        ["o@.k = P"],
    ),
    "array.array": ("a@ = array.array('d', [P])", "a@[0]", ["a@[0] = P"]),
    "bytearray": ("a@ = bytearray([3, 4])", "float(a@[0])", ["a@[0] = N"]),
    "iterator": ("i@ = iter(range(2, 10000))", "next(i@)", ["i@ = iter(range(2, 10000))"]),
    "generator": (
        "def gen@():\n    while True:\n        yield k@\nk@ = P\ni@ = gen@()",
        "next(i@)",
        ["k@ = P"],
    ),
    "count": ("i@ = itertools.count(1)", "next(i@)", []),
    "random": ("r@ = random.Random(1)", "(1.0 + r@.random())", ["r@.seed(N)"]),
    "NumPy's random": ("r@ = np.random.default_rng(1)", "(1.0 + r@.random())", []),
    "counter": ("n@ = [0]\ndef c@():\n    n@[0] += 1\n    return n@[0]", "c@()", ["n@[0] = N"]),
    "appended and counted": (
        "l@ = []\ndef c@():\n    l@.append(1)\n    return len(l@)",
        "c@()",
        ["l@.clear()"],
    ),
    "popped": ("l@ = [P] * 1000", "l@.pop()", ["l@[-1] = P"]),
    "setdefault": ("d@ = {}", "d@.setdefault('k', P)", ["d@['k'] = P", "d@.clear()"]),
    "read and written": (
        "o@ = Thing()\no@.k = P\ndef s@():\n    v = o@.k\n    o@.k = v + 1\n    return v",
        "s@()",
        ["o@.k = P"],
    ),
    "written and read": (
        "o@ = Thing()\no@.k = P\ndef s@():\n    o@.k = 2.0\n    return o@.k",
        "s@()",
        ["o@.k = P"],
    ),
    "set along one way": (
        "o@ = Thing()\no@.k, o@.way = P, True\ndef s@():\n    if o@.way:\n"
        "        o@.k = P\n        return 1.0\n    return o@.k",
        "s@()",
        ["o@.k = P", "o@.way = not o@.way"],
    ),
    "put back": (
        "o@ = Thing()\no@.k = P\ndef s@():\n    old, o@.k = o@.k, P\n    v = o@.k\n"
        "    o@.k = old\n    return v",
        "s@()",
        ["o@.k = P"],
    ),
    "array": (
        "a@ = np.array([P, P], 'f')",
        "tf.reduce_sum(tf.constant([1.0, 2.0]) * a@)",
        ["a@[0] = P", "a@[:] = P", "a@ = np.array([P, P], 'f')", "a@ *= 2"],
    ),
    "element of an array": ("a@ = np.array([P, P])", "float(a@[0])", ["a@[0] = P"]),
    "array made of an array": (
        "a@ = np.array([P, P], 'f')",
        "tf.reduce_sum(tf.constant(a@ * 2))",
        ["a@[0] = P"],
    ),
    "part of an array": (
        "a@ = np.array([P, P, P], 'f')",
        "tf.reduce_sum(tf.constant(a@[1:]))",
        ["a@[2] = P", "a@[0] = P"],
    ),
    "converted array": (
        "a@ = np.array([P, P])",
        "tf.reduce_sum(tf.constant(a@, tf.float32))",
        ["a@[1] = P"],
    ),
    "array in a list": (
        "l@ = [np.array([P], 'f'), np.array([P], 'f')]",
        "tf.reduce_sum(tf.stack(l@))",
        ["l@[0][0] = P", "l@[1] = l@[0]"],
    ),
    "array in a dict": (
        "d@ = {'a': np.array([P], 'f')}",
        "tf.reduce_sum(tf.constant(d@['a']))",
        ["d@['a'][0] = P", "d@['a'] = np.array([P, P], 'f')"],
    ),
    "shape of an array": (
        "a@ = np.zeros((2, 3))",
        "float(a@.shape[0])",
        ["a@.shape = (3, 2)", "a@ = np.zeros((4, 2))"],
    ),
    "sum of an array": ("a@ = np.array([P, P])", "float(a@.sum())", ["a@[1] = P"]),
    "indices of an array": (
        "a@ = np.array([0, 1])",
        "tf.reduce_sum(tf.gather(tf.constant([2.0, 3.0, 5.0]), a@))",
        ["a@[0] = 2", "a@[1] = 0"],
    ),
    "shape by an array": (
        "a@ = np.array([2, 1])",
        "tf.reduce_sum(tf.ones(a@))",
        ["a@[0] = 3", "a@[0] = 1"],
    ),
    "array that is written": (
        "a@ = np.zeros(2, 'f')\ndef s@():\n    a@[:] = 2.0\n"
        "    return tf.reduce_sum(tf.constant(a@))",
        "s@()",
        ["a@[0] = P"],
    ),
    "stack of a generator": ("k@ = P", "tf.stack([q * k@ for q in (1.0, 2.0)])[1]", ["k@ = P"]),
    "generator for stack": (
        "l@ = [P, P]",
        "tf.reduce_sum(tf.stack(q * 2 for q in l@))",
        ["l@[0] = P"],
    ),
    "map_fn": (
        "k@ = P",
        "tf.reduce_sum(tf.map_fn(lambda q: q * k@, tf.constant([1.0, 2.0])))",
        ["k@ = P"],
    ),
    "cond": ("k@, b@ = P, True", "tf.cond(b@, lambda: k@, lambda: 2.0)", ["k@ = P", "b@ = not b@"]),
    "tensor": ("t@ = tf.constant(P)", "t@", ["t@ = tf.constant(P)"]),
    "variable": ("v@ = tf.Variable(P)", "v@", ["v@.assign(P)", "v@ = tf.Variable(P)"]),
    "list of variables": (
        "l@ = [tf.Variable(P), tf.Variable(P)]",
        "tf.add_n(l@)" if hasattr(tf, "add_n") else "(l@[0] + l@[1])",
        ["l@[0].assign(P)", "l@[1] = tf.Variable(P)", "l@.reverse()"],
    ),
    "layers": (
        "class L@:\n    def __init__(self):\n        self.k = P\nclass M@:\n"
        "    def __init__(self):\n        self.layers = [L@(), L@()]\no@ = M@()\n"
        "def s@():\n    y = 1.0\n    for layer in o@.layers:\n        y = y * layer.k\n"
        "    return y",
        "s@()",
        ["o@.layers[0].k = P", "o@.layers.append(L@())", "o@.layers.reverse()"],
    ),
    "another function": (
        "@function\ndef q@(a):\n    return a * k@\nk@ = P",
        "q@(tf.constant(1.0))",
        ["k@ = P"],
    ),
    "match": (
        "d@ = {'k': P}\ndef m@():\n    match d@:\n        case {'k': v}:\n"
        "            return v\n        case _:\n            return P",
        "m@()",
        ["d@['k'] = P", "d@.pop('k', 0)"],
    ),
    "match of a class": (
        "o@ = Thing()\no@.k = P\ndef m@():\n    match o@:\n"
        "        case Thing(k=v):\n            return v\n    return P",
        "m@()",
        ["o@.k = P"],
    ),
    "exec": ("e@ = {'k': P}", "eval('k', e@)", ["e@['k'] = P"]),
    "text": ("l@ = [1, 2]", "float(len(f'{l@}'))", ["l@.append(33)", "l@[0] = 100"]),
    "format": (
        "o@ = Thing()\no@.k = 1",
        "float(len('{0.k}'.format(o@)))",
        ["o@.k = 22", "o@.k = 1"],
    ),
    "isinstance": (
        "class A@:\n    pass\nclass B@:\n    pass\no@ = A@()",
        "(P if isinstance(o@, A@) else P)",
        ["o@.__class__ = B@", "o@ = A@()"],
    ),
    "type": (
        "class A@:\n    k = P\nclass B@:\n    k = P\no@ = A@()",
        "type(o@).k",
        ["o@.__class__ = B@", "A@.k = P", "B@.k = P"],
    ),
    "compared lists": (
        "l@, m@ = [1, [2]], [1, [2]]",
        "(P if l@ == m@ else P)",
        ["m@[1][0] = 3", "m@[1][0] = 2"],
    ),
    "compared strings": ("s@ = 'a'", "(P if s@ == 'a' else P)", ["s@ = 'b'", "s@ = 'a'"]),
    "identity": ("o@ = p@ = Thing()", "(P if o@ is p@ else P)", ["o@ = Thing()", "o@ = p@"]),
    "None": ("o@ = None", "(P if o@ is None else P)", ["o@ = 1", "o@ = None"]),
    "more names than a byte counts": (
        "\n".join(f"v{k}_@ = 0.0" for k in range(200))
        + "\ndef s@():\n    t = P\n"
        + "\n".join(f"    t += v{k}_@" for k in range(200))
        + "\n    return t",
        "s@()",
        ["v199_@ = P", "v150_@ = P"],
    ),
    "a long body behind a look": (
        "l@ = []\ndef s@():\n    t = P\n    if l@:\n"
        + "        t = t + 1.0\n" * 150
        + "    return t",
        "s@()",
        ["l@.append(1)", "l@.clear()"],
    ),
    "dict by enum": (
        "class E@(enum.Enum):\n    A = 1\nd@ = {E@.A: P}",
        "d@[E@.A]",
        ["d@[E@.A] = P"],
    ),
    "dict by dataclass": (
        "@dataclasses.dataclass(frozen=True)\nclass K@:\n    a: int\nd@ = {K@(1): P}",
        "d@[K@(1)]",
        ["d@[K@(1)] = P"],
    ),
    "missing in a Counter": ("d@ = collections.Counter()", "(d@['a'] + 1.0)", ["d@['a'] = N"]),
    "missing in a defaultdict": (
        "d@ = collections.defaultdict(lambda: P)",
        "d@['a']",
        ["d@['a'] = P", "d@.clear()"],
    ),
    "own default of a list": (
        "def o@(x, c=[P]):\n    return c[0]\nq@ = function(o@)",
        "q@(tf.constant(1.0))",
        ["o@.__defaults__[0][0] = P"],
    ),
    "index array": (
        "a@ = np.arange(6, dtype='f')\ni@ = np.array([1, 2])",
        "tf.reduce_sum(tf.constant(a@[i@]))",
        ["i@[0] = N % 6", "a@[1] = P"],
    ),
    "map of C over lists": ("l@ = [[P, P], [P]]", "max(map(sum, l@))", ["l@[0].append(P)"]),
    "filter by None": (
        "l@ = [[], [1]]",
        "len(list(filter(None, l@)))",
        ["l@[0].append(1)", "l@[0].clear()"],
    ),
    "dict of pairs": ("l@ = [['a', P]]", "dict(l@)['a']", ["l@[0][1] = P"]),
    "starmap": (
        "l@ = [[1, P]]",
        "list(itertools.starmap(lambda a, b: b, l@))[0]",
        ["l@[0][1] = P"],
    ),
    "singleton": (
        "class M@(type):\n    one = None\n    def __call__(cls):\n"
        "        if M@.one is None:\n            M@.one = super().__call__()\n"
        "        return M@.one\nclass C@(metaclass=M@):\n    k = P\nC@()",
        "C@().k",
        ["C@().k = P"],
    ),
    "reduced to one": (
        "l@ = [Thing(), Thing()]\nl@[0].k = l@[1].k = P",
        "functools.reduce(lambda p, q: q, l@).k",
        ["l@[1].k = P"],
    ),
    "__array__ of its own": (
        "class C@:\n    data = np.array([P, P], 'f')\n"
        "    def __array__(self, dtype=None, copy=None):\n"
        "        return self.data\no@ = C@()",
        "tf.reduce_sum(tf.constant(np.asarray(o@)))",
        ["C@.data[0] = P"],
    ),
    "cond gives a list": ("l@ = [P]", "tf.cond(x > 0, lambda: l@, lambda: l@)[0]", ["l@[0] = P"]),
    "array of objects": (
        "a@ = np.array([[1], [1, 2]], dtype=object)",
        "len(a@[1])",
        ["a@[1].append(5)"],
    ),
    "frompyfunc": (
        "k@ = [P]\nu@ = np.frompyfunc(lambda a: a * k@[0], 1, 1)",
        "float(u@(3.0))",
        ["k@[0] = P"],
    ),
    "unset slot": (
        "class C@:\n    __slots__ = ('k',)\n    def __getattr__(self, n):\n"
        "        return P\no@ = C@()",
        "o@.k",
        ["o@.k = P"],
    ),
    "print to an object": (
        "class C@:\n    n = 0\n    def write(self, t):\n        self.n += 1\n"
        "    def flush(self):\n        pass\no@ = C@()\ndef s@():\n"
        "    print('a', file=o@)\n    return o@.n",
        "s@()",
        ["o@.n = N"],
    ),
    "special method exchanged": (
        "class C@:\n    def __radd__(self, o):\n        return o + P\n"
        "old@ = C@.__radd__\no@ = C@()",
        "(1.0 + o@)",
        ["C@.__radd__ = lambda self, o: old@(self, o) + P"],
    ),
    "special method added": (
        "class C@:\n    pass\no@, q@ = C@(), C@()",
        "(P if o@ == q@ else P)",
        ["C@.__eq__ = lambda self, o: True"],
    ),
    "attribute of a recorded function": (
        "@function\ndef q@(a):\n    return a\nq@.k = P",
        "q@.k",
        ["q@.k = P"],
    ),
    "attribute of a kind of variable": (
        "class V@(tf.Variable):\n    k = P\nv@ = V@(1.0)",
        "v@.k",
        ["V@.k = P"],
    ),
    "match of a property": (
        "class C@:\n    r = P\n    @property\n    def p(self):\n"
        "        return self.r\no@ = C@()\no@.k = P\ndef m@():\n"
        "    match o@:\n        case C@(k=a, p=b):\n            return a * b",
        "m@()",
        ["o@.k = P", "o@.r = P"],
    ),
    "memoryview": (
        "a@ = np.zeros(2, 'f')\nm@ = memoryview(a@)\ndef s@():\n    m@[0] = 2.0\n"
        "    return tf.reduce_sum(tf.constant(a@))",
        "s@()",
        ["a@[0] = P"],
    ),
    "__getattribute__ added": (
        "class C@:\n    @property\n    def k(self):\n        return P\no@ = C@()",
        "o@.k",
        ["C@.__getattribute__ = lambda self, n: P if n == 'k' else None"],
    ),
    "module's __getattr__ exchanged": (
        "m@ = types.ModuleType('m@')\nm@.__getattr__ = lambda n: P",
        "m@.k",
        ["m@.__getattr__ = lambda n: P"],
    ),
    "bases of a property": (
        "class A@:\n    k = property(lambda self: P)\nclass B@:\n"
        "    k = property(lambda self: P)\nclass C@(A@):\n    pass\n"
        "o@ = C@()",
        "o@.k",
        ["C@.__bases__ = (B@,)", "C@.__bases__ = (A@,)"],
    ),
    "identity of tuples": (
        "o@ = Thing()\no@.a = o@.b = (1, 2)",
        "(P if o@.a is o@.b else P)",
        ["o@.a = tuple([1, 2])"],
    ),
    "temporary and its weak reference": (
        "def s@():\n    t = Thing()\n    r = weakref.ref(t)\n"
        "    del t\n    return 1.0 if r() is None else 2.0",
        "s@()",
        [],
    ),
    "copied into an own array": (
        "a@ = np.array([P, P], 'f')\ndef s@():\n    z = np.zeros(3, 'f')\n"
        "    z[:2] = a@\n    return tf.reduce_sum(tf.constant(z))",
        "s@()",
        ["a@[0] = P"],
    ),
    "own list filled": (
        "l@ = [P, P]\ndef s@():\n    z = [0.0]\n    z[:] = l@\n    z.extend(l@)\n    return sum(z)",
        "s@()",
        ["l@[0] = P", "l@.append(P)"],
    ),
    "whether C raises": (
        "d@ = [True]\nclass C@:\n    def __fspath__(self):\n"
        "        return '.' if d@[0] else '/nowhere/at/all'\no@ = C@()",
        "(P if os.path.exists(o@) else P)",
        ["d@[0] = not d@[0]"],
    ),
    "context of a generator": (
        "k@ = P\n@contextlib.contextmanager\ndef c@():\n    yield k@\n"
        "def s@():\n    with c@() as v:\n        return v",
        "s@()",
        ["k@ = P"],
    ),
}

WAYS |= new_syntax_ways.WAYS

_HEAD = """
import array, collections, contextlib, contextvars, ctypes, dataclasses, enum, functools
import itertools, operator
import os, random, sys, threading, types, weakref
import numpy as np
import numtape as tf
class Thing:
    pass
"""
_HEAD += new_syntax_ways.HEAD


class Program:
    """A random program.

    Attributes:
      ways: The names of its ways to hold state.
      source: The code that defines ``f``.
      steps: Changes of the state; None stands for a call of ``f``.
    """

    def __init__(self, seed, ways=None):
        self.draw = draw = random.Random(seed)
        self.ways = ways or draw.sample(sorted(WAYS), draw.choice((1, 1, 2, 3)))
        setups, body, changes = [], ["y = x"], []
        for k, name in enumerate(self.ways):
            setup, expression, change = (self._own(part, k) for part in WAYS[name])
            setups.append(setup)
            body += self._used(expression)
            changes += change
        inside = "\n".join(f"    {line}" for line in "\n".join([*body, "return y"]).split("\n"))
        self.source = "\n".join([_HEAD, *setups, "def f(x):", inside])
        self.steps = [None] * 2
        for _ in range(draw.randint(2, 6)):
            if changes:
                self.steps.append(self._numbers(draw.choice(changes)))
            self.steps += [None] * draw.choice((1, 1, 2))

    def _used(self, expression):
        """A statement that uses the value that was read."""
        form = self.draw.randrange(5)
        if form == 0:
            return ["if x > 0:", f"    y = y * {expression}", "else:", "    y = y - 1.0"]
        if form == 1:
            return [f"for _ in range(2): y = y + {expression} * x"]
        if form == 2:
            return ["def inner(q):", f"    return q * {expression}", "y = inner(y)"]
        return [f"y = y * {expression}"]

    def _own(self, part, k):
        if isinstance(part, list):
            return [self._own(x, k) for x in part]
        text = re.sub(r"(?<=\w)@", f"_{k}", part)  # except a decorator's @
        return text if "P" not in text and "N" not in text else self._numbers(text)

    def _numbers(self, text):
        text = re.sub(r"\bP\b", lambda _: f"{self.draw.randint(2, 40) / 8}", text)
        return re.sub(r"\bN\b", lambda _: str(self.draw.randint(2, 9)), text)

    def text(self):
        """The program as readable text."""
        return "\n".join([self.source, *(step or "f(x)" for step in self.steps)])


def compare(program):
    """Run a program recorded and as Python. Returns the first difference, or None."""
    worlds = []
    for function in (lambda f: f, tf.function):
        space = {"__name__": "program", "function": function}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a `return` in `finally`
            exec(compile(program.source, "<program>", "exec"), space)
        space["called"] = function(space["f"])
        worlds.append(space)
    draw = random.Random(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k, step in enumerate(program.steps):
                found = []
                x = tf.constant(draw.choice((1.0, 2.0, -1.0)))
                for space in worlds:
                    try:
                        if step is None:
                            found.append(np.asarray(space["called"](x)).tolist())
                        else:
                            exec(textwrap.dedent(step), space)
                    except Exception as error:
                        found.append(type(error).__name__)
                if found and repr(found[0]) != repr(found[-1]):
                    return f"at step {k} Python gives {found[0]}, a function {found[1]}"
    finally:
        for name in [name for name in sys_modules() if name.startswith("made_")]:
            del sys_modules()[name]
    return None


def sys_modules():
    """Python's table of modules."""
    import sys

    return sys.modules


def replayed(name):
    """Whether a function that reads state in this way was replayed, else the reason."""
    gc.collect()  # garbage of other programs
    space = {"__name__": "program", "function": tf.function}
    program = Program(0, [name])
    setup, expression, _ = (program._own(part, 0) for part in WAYS[name])
    source = "\n".join([_HEAD, setup, f"def f(x):\n    return x * {expression}"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "<program>", "exec"), space)
        f = tf.function(space["f"])
        for _ in range(4):
            f(tf.constant(1.0))
    paths = f.paths()
    return "" if sum(path.hits for path in paths) else "; ".join(paths.reasons) or "recorded again"
