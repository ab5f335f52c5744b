"""Ways to hold state with the syntax, builtins and library of newer Pythons; see `state_programs`.

The programs are text, because older Pythons cannot parse them.
"""

import sys

_LAZY_IMPORT = (
    "sys.modules.pop('made@', 0)\nlazy from made@ import k@ as j@\n"
    "sys.modules['made@'] = types.ModuleType('made@')\nsys.modules['made@'].k@ = P"
)

# By name: the first version, the setup, the expression that reads the state, and the changes. The
# last part is the reason why functions that read it run as Python, if they do.
_WAYS = {
    # Python 3.11
    "except*": (
        (3, 11),
        "k@ = P\ndef s@():\n    try:\n"
        "        raise ExceptionGroup('', [ValueError(), KeyError()])\n"
        "    except* ValueError:\n        r = k@\n    except* KeyError:\n        r = r * k@\n"
        "    return r",
        "s@()",
        ["k@ = P"],
    ),
    "except* of outside": (
        (3, 11),
        "g@ = ExceptionGroup('', [ValueError()])\ndef s@():\n    r = P\n    try:\n"
        "        raise g@\n    except* ValueError:\n        r = P\n    except* KeyError:\n"
        "        r = P\n    return r",
        "s@()",
        ["g@ = ExceptionGroup('', [KeyError()])"],
        "outside of its result",  # in the traceback
    ),
    "except* of a class from outside": (
        (3, 11),
        "e@ = ValueError\ndef s@():\n    r = P\n    try:\n"
        "        raise ExceptionGroup('', [ValueError()])\n"
        "    except* e@:\n        r = P\n    except* Exception:\n        r = P\n    return r",
        "s@()",
        ["e@ = KeyError"],
    ),
    "finally with return": (
        (3, 11),
        "k@ = P\nl@ = []\ndef s@():\n    try:\n        return l@[0]\n    except IndexError:\n"
        "        return k@\n    finally:\n        if k@ > 3:\n            return P",
        "s@()",
        ["k@ = P", "k@ = P", "l@[:] = [P]"],
    ),
    "generators": (
        (3, 11),
        "l@ = [P, P]\nk@ = P\ndef h@():\n    r = yield from l@\n    yield k@\n    return P\n"
        "def g@():\n    r = yield from h@()\n    yield r\ndef s@():\n    return sum(g@())",
        "s@()",
        ["l@.append(P)", "k@ = P"],
    ),
    "send to a generator": (
        (3, 11),
        "k@ = P\ndef g@():\n    r = yield k@\n    yield r * k@\ndef s@():\n    h = g@()\n"
        "    return next(h) * h.send(k@)",
        "s@()",
        ["k@ = P"],
    ),
    "walrus in a comprehension": (
        (3, 11),
        "l@ = [P, P]\nk@ = P\ndef s@():\n    t = [u := v * k@ for v in l@]\n    return u + t[0]",
        "s@()",
        ["k@ = P", "l@.append(P)", "l@.reverse()"],
    ),
    "comprehension that shadows": (
        (3, 11),
        "l@ = [P, P]\ndef s@():\n    v = 3.0\n    r = sum([v * v for v in l@])\n"
        "    r += sum({w: v * w for w in l@}.values())\n    return r + v",
        "s@()",
        ["l@.append(P)"],
    ),
    "comprehension in a class": (
        (3, 11),
        "l@ = [P, P]\nk@ = P\ndef s@():\n    class C:\n        m = [v * k@ for v in l@]\n"
        "    return C.m[0]",
        "s@()",
        ["l@[0] = P", "k@ = P"],
    ),
    "free variable of a class": (
        (3, 11),
        "def outer@():\n    k = P\n    def get():\n        class C:\n            j = k\n"
        "            l = j * k\n        return C.l\n    def put(v):\n        nonlocal k\n"
        "        k = v\n    return get, put\nget@, put@ = outer@()",
        "get@()",
        ["put@(P)"],
    ),
    "super with arguments": (
        (3, 11),
        "class B@:\n    k = P\n    def m(self):\n        return P\nclass C@(B@):\n"
        "    def n(self):\n        return super(C@, self).k * super(C@, self).m()\no@ = C@()",
        "o@.n()",
        ["B@.k = P", "B@.m = lambda self: P", "o@.__class__ = type('D@', (C@,), {})"],
    ),
    "assert": (
        (3, 11),
        "k@ = 3\ndef s@():\n    try:\n        assert k@ > 2, 'few'\n    except AssertionError:\n"
        "        return P\n    return P",
        "s@()",
        ["k@ = 1", "k@ = 4", "AssertionError = KeyError", "del AssertionError"],
    ),
    "all, any and tuple": (
        (3, 11),
        "l@ = [P, P]\ndef s@():\n    r = P if all(v < 3 for v in l@) else P\n"
        "    r = r * (P if any(v > 3 for v in l@) else P)\n    return r + tuple(v for v in l@)[0]",
        "s@()",
        ["l@[0] = 9.0", "l@[:] = [0.5, 0.25]", "all = lambda g: False", "del all"],
    ),
    "list and set": (
        (3, 11),
        "l@ = [P, P]\ndef s@():\n    return sum(list(v for v in l@)) + sum(set(v for v in l@))",
        "s@()",
        ["l@[0] = P", "list = lambda g: (P,)", "del list"],
    ),
    "small ints": (
        (3, 11),
        "l@ = [P] * 300\ndef s@():\n    return l@[1] * l@[255] * l@[256] * l@[-1] * l@[-6]",
        "s@()",
        ["l@[255] = P", "l@[256] = P", "l@[-6] = P"],
    ),
    "match": (
        (3, 11),
        "d@ = {'a': P, 'l': [P, P]}\ndef s@():\n    match d@:\n"
        "        case {'a': a, 'l': [b, *c], **rest} if not rest:\n"
        "            return a * b + len(c)\n"
        "        case {'a': a}:\n            return a",
        "s@()",
        ["d@['a'] = P", "d@['l'].append(P)", "d@['b'] = 1"],
    ),
    "iterables of generator expressions": (
        (3, 11),
        "u@, k@ = collections.UserList([P]), P\nclass C@:\n    def __iter__(self):\n"
        "        return iter([k@])\nclass G@:\n    def __iter__(self):\n        yield k@\n"
        "        yield u@[0]\nc@, g@ = C@(), G@()\ndef s@():\n    return sum(v for v in u@) * "
        "sum(v for v in c@) * sum(v for v in g@) * sum(v * w for v in u@ for w in c@)",
        "s@()",
        ["u@[0] = P", "k@ = P", "u@.append(P)", "C@.__iter__ = lambda self: iter([P, P])"],
    ),
    "iterator of a generator expression": (
        (3, 11),
        "class C@:\n    def __iter__(self):\n        return self.i\nc@ = C@()\n"
        "c@.i = iter([P] * 100)\ndef s@():\n    for v in (v for v in c@):\n        return v",
        "s@()",
        ["c@.i = iter([P] * 100)"],
        "continues a list_iterator from outside",
    ),
    "views of a generator expression": (
        (3, 11),
        "d@ = {'a': P}\ndef s@():\n    return all(v > 3 for v in d@.values()) + "
        "len(list(k for k in d@ if k in 'ab'))",
        "s@()",
        ["d@['a'] = 1.0", "d@['b'] = 9.0", "d@['a'] = 4.0"],
    ),
    "operators and slices": (
        (3, 11),
        "l@, k@ = [P, P, P, P], 3\ndef s@():\n    a, b = 1, k@\n    m = l@[a:b]\n"
        "    m[a:b] = l@[a:b:a]\n    z = {*m, *l@}\n    from operator import neg\n"
        "    m.append(max(a, b, (a := 2), (b := k@)))\n"
        "    return neg(m[0]) - -a + ~b + (not b) + len(f'{m!r}') + len(z) + sum(m)",
        "s@()",
        ["k@ = 2", "l@[1] = P", "l@.append(P)"],
    ),
    "coroutine": (
        (3, 11),
        "k@ = P\nasync def g@():\n    return k@\nasync def h@():\n    return await g@()\n"
        "def s@():\n    try:\n        h@().send(None)\n    except StopIteration as e:\n"
        "        return e.value",
        "s@()",
        ["k@ = P"],
        "calls coroutine.send",
    ),
    "asynchronous generator": (
        (3, 11),
        "k@ = P\nasync def g@():\n    yield k@\nasync def h@():\n    async for v in g@():\n"
        "        return v + sum([w async for w in g@()])\ndef s@():\n    try:\n"
        "        h@().send(None)\n    except StopIteration as e:\n        return e.value",
        "s@()",
        ["k@ = P"],
        "calls coroutine.send",
    ),
    "generator as __iter__": (
        (3, 11),
        "k@, l@ = P, [P]\nclass C@:\n    def __iter__(self):\n        yield k@\n"
        "        yield from l@\no@ = C@()\ndef s@():\n    r = 1.0\n    for v in o@:\n"
        "        r *= v\n    return r * sum(v for v in o@)",
        "s@()",
        ["k@ = P", "l@.append(P)", "C@.__iter__ = lambda self: iter(l@)"],
    ),
    "enums of numbers and strings": (
        (3, 11),
        "class I@(enum.IntEnum):\n    A = 1\n    B = 2\nclass S@(enum.StrEnum):\n    A = 'a'\n"
        "    B = 'b'\ni@, s@, k@ = I@.A, S@.A, P\ndef r@():\n"
        "    r = P if i@ == I@.A else P\n    r += P if s@ == 'a' else P\n"
        "    return (r + i@ * k@) * len(s@ + f'{i@}{s@}')",
        "r@()",
        ["i@ = I@.B", "s@ = S@.B", "k@ = P", "s@ = 'abc'", "I@.__eq__ = lambda *_: True"],
    ),
    "number with attributes": (
        (3, 11),
        "class F@(float):\n    j = P\n    def __mul__(self, x):\n        return self.j * x\n"
        "o@ = F@(P)",
        "((o@ + 1.0) * (o@ * 2.0))",
        ["o@ = F@(P)", "o@.j = P", "F@.j = P", "F@.__add__ = lambda self, x: P"],
    ),
    # Python 3.12
    "nested f-string": (
        (3, 12),
        "k@ = P\nn@ = 3",
        "float(f'{f'{k@:{'.'}{n@}f}'}')",
        ["k@ = P", "n@ = 1", "k@ = 0.0625"],
    ),
    "generic function": (
        (3, 12),
        "k@ = P\ndef g@[T](a: T) -> T:\n    return a * k@",
        "g@(2.0)",
        ["k@ = P"],
    ),
    "generic function inside": (
        (3, 12),
        "k@, b@ = P, int\ndef s@():\n    def g[T: b@, *U, **V](a: T, b=k@) -> T:\n"
        "        return a * b\n"
        "    return g(2.0) * (P if g.__type_params__[0].__bound__ is int else P)",
        "s@()",
        ["k@ = P", "b@ = float"],
    ),
    "constraints inside": (
        (3, 12),
        "b@ = int\ndef s@():\n    def g[T: (b@, str)](a: T) -> T:\n        return a\n"
        "    return P if g.__type_params__[0].__constraints__[0] is int else P",
        "s@()",
        ["b@ = float"],
    ),
    "generic class": (
        (3, 12),
        "class G@[T]:\n    k = P\n    def m(self) -> T:\n        return self.k\no@ = G@()",
        "o@.m()",
        ["G@.k = P", "o@.k = P"],
    ),
    "generic class with an argument": (
        (3, 12),
        "class G@[T]:\n    k = P\n    def m(self) -> T:\n        return self.k",
        "G@[int]().m()",
        ["G@.k = P"],
        "calls typing._generic_class_getitem",
    ),
    "generic class inside": (
        (3, 12),
        "k@ = P\ndef s@():\n    class G[T]:\n        j = k@\n        def m(self, a: T) -> T:\n"
        "            return self.j * k@\n    return G().m(0)",
        "s@()",
        ["k@ = P"],
        "examines a TypeVar",
    ),
    "type alias inside": (
        (3, 12),
        "k@ = P\ndef s@():\n    type A = k@\n    return A.__value__",
        "s@()",
        ["k@ = P"],
    ),
    "generic type alias inside": (
        (3, 12),
        "k@ = P\ndef s@():\n    type A[T] = (T, k@)\n    return A.__value__[1]",
        "s@()",
        ["k@ = P"],
    ),
    "type alias": (
        (3, 12),
        "k@ = P\ntype A@ = k@",
        "A@.__value__",
        ["k@ = P", "type A@ = k@"],
    ),
    "type alias in a class inside": (
        (3, 12),
        "k@ = P\ndef s@():\n    class C:\n        j = k@\n        type A = (j, k@)\n"
        "    return C.A.__value__[0] * C.A.__value__[1]",
        "s@()",
        ["k@ = P", "j = P"],
    ),
    "type alias of a class": (
        (3, 12),
        "j@ = P\nclass C@:\n    j = P\n    type A = (j, j@)\ndef s@():\n"
        "    return C@.A.__value__[0] * C@.A.__value__[1]",
        "s@()",
        ["class C@:\n    type A = (j@,) * 2", "j@ = P"],
    ),
    "buffer of a class": (
        (3, 12),
        "class C@:\n    a = np.array([P, P], 'f')\n    m = memoryview(a)\n"
        "    def __buffer__(self, flags):\n        return self.m\no@ = C@()",
        "float(np.asarray(o@)[0])",
        ["C@.a[0] = P"],
    ),
    # Python 3.13
    "default of a type parameter": (
        (3, 13),
        "k@ = P\ndef s@():\n    def g[T = k@](a: T) -> T:\n        return a\n"
        "    return g.__type_params__[0].__default__",
        "s@()",
        ["k@ = P"],
    ),
    "static attributes": (
        (3, 13),
        "class C@:\n    def m(self):\n        self.a = self.b = 1\n        return P\no@ = C@()",
        "len(o@.__static_attributes__) * o@.m()",
        ["C@.__static_attributes__ = ('a',) * N"],
    ),
    # Python 3.14
    "template string": (
        (3, 14),
        "k@ = P\ndef s@():\n    t = t'a{k@!r:>{k@}}b'\n"
        "    return t.values[0] * t.interpolations[0].value * "
        "float(t.interpolations[0].format_spec[1:])",
        "s@()",
        ["k@ = P"],
    ),
    "parts of a template string": (
        (3, 14),
        "k@, l@ = P, [P]\ndef s@():\n    r = 1.0\n    for part in t'a{k@}b{l@}{k@=}':\n"
        "        match part:\n            case str(x):\n                r += len(x)\n"
        "            case Interpolation(value=float(v)):\n                r *= v\n"
        "            case Interpolation([v], 'l@'):\n                r *= v\n    return r",
        "s@()",
        ["k@ = P", "l@[0] = P"],
    ),
    "template string of outside": (
        (3, 14),
        "l@ = [P]\nt@ = t'a{l@}'\ndef s@():\n"
        "    return t@.interpolations[0].value[0] * t@.values[0][0]",
        "s@()",
        ["l@[0] = P", "t@ = t'{[P]}'"],
    ),
    "parts of a template string of outside": (
        (3, 14),
        "l@ = [P]\nt@ = t'a{l@}'\ndef s@():\n    return [x for x in t@][1].value[0]",
        "s@()",
        ["l@[0] = P", "t@ = t'a{[P]}'"],
    ),
    "sum of template strings": (
        (3, 14),
        "k@ = P\nt@ = t'a{k@}'\ndef s@():\n    return (t'{k@}' + t@).values[1]",
        "s@()",
        ["t@ = t'a{P}'"],
        "examines a Template",
    ),
    "template string with a conversion": (
        (3, 14),
        "o@ = Thing()\nThing.__repr__ = lambda self: f'{self.k}'\no@.k = P\ndef s@():\n"
        "    p = t'{o@!r}'.interpolations[0]\n    return float(convert(p.value, p.conversion))",
        "s@()",
        ["o@.k = P", "Thing.__repr__ = lambda self: 'P'"],
    ),
    "annotations inside": (
        (3, 14),
        "k@ = P\ndef s@():\n    def g(a: k@, *, b: later@) -> k@:\n        c: nothing = 1\n"
        "        return a\n    return g.__annotations__['a'] * g.__annotate__(1)['return']\n"
        "later@ = 1",
        "s@()",
        ["k@ = P"],
    ),
    "annotations that are not evaluated": (
        (3, 14),
        "k@ = P\ndef s@():\n    def g(a: nothing) -> 1 / 0:\n        return k@\n    return g(1)",
        "s@()",
        ["k@ = P"],
    ),
    "annotations of a class inside": (
        (3, 14),
        "k@ = P\ndef s@():\n    class C:\n        j = k@\n        a: (j, k@) = 1\n"
        "    return C.__annotations__['a'][0] * C.__annotations__['a'][1]",
        "s@()",
        ["k@ = P"],
    ),
    "conditional annotations": (
        (3, 14),
        "k@ = P\ndef s@():\n    class C:\n        if k@ > 2:\n            a: k@\n"
        "        else:\n            b: k@\n    return sum(C.__annotations__.values()) + "
        "len([*C.__annotations__][0]) * ('a' in C.__annotations__)",
        "s@()",
        ["k@ = P", "k@ = 1.0"],
    ),
    "annotations": (
        (3, 14),
        "k@ = P\ndef h@(a: k@):\n    return a\ndef s@():\n    return h@.__annotations__['a']",
        "s@()",
        [
            "k@ = P",
            "h@.__annotations__ = {'a': P}",
            "h@.__annotations__['a'] = P",
            "h@.__annotate__ = lambda f: {'a': P}",
        ],
    ),
    "annotations, evaluated before": (
        (3, 14),
        "k@ = P\ndef h@(a: k@):\n    return a\nh@.__annotations__\n"
        "def s@():\n    return h@.__annotations__['a']",
        "s@()",
        ["h@.__annotations__ = {'a': P}", "h@.__annotations__['a'] = P"],
    ),
    "annotate function": (
        (3, 14),
        "k@ = P\ndef h@(a: k@):\n    return a\ndef s@():\n    return h@.__annotate__(1)['a']",
        "s@()",
        ["k@ = P", "h@.__annotate__ = lambda f: {'a': P}"],
    ),
    "annotations of a class": (
        (3, 14),
        "k@ = P\nclass C@:\n    j = P\n    a: (j, k@)\ndef s@():\n"
        "    return C@.__annotations__['a'][0] * C@.__annotations__['a'][1]",
        "s@()",
        [
            "k@ = P",
            "C@.__annotations__ = {'a': (P, P)}",
            "C@.__annotations__['a'] = (P, P)",
            "C@.__annotate__ = lambda f: {'a': (P, P)}",
        ],
    ),
    "annotate function of a class": (
        (3, 14),
        "k@ = P\nclass C@:\n    j = P\n    a: (j, k@)\ndef s@():\n"
        "    a = C@.__annotate__(1)['a']\n    return a[0] * a[1]",
        "s@()",
        ["k@ = P", "C@.j = P", "C@.__annotate__ = lambda f: {'a': (P, P)}"],
    ),
    "annotationlib": (
        (3, 14),
        "k@ = P\nclass C@:\n    a: k@\ndef s@():\n"
        "    return annotationlib.get_annotations(C@)['a']",
        "s@()",
        ["C@.__annotations__ = {'a': P}", "class C@:\n    a: P"],
        "examines a Format",
    ),
    "annotations as text": (
        (3, 14),
        "k@ = P\nclass C@:\n    a: k@ + nothing\ndef s@():\n"
        "    return len(annotationlib.get_annotations(C@, "
        "format=annotationlib.Format.STRING)['a'])",
        "s@()",
        ["class C@:\n    a: P", "class C@:\n    a: k@"],
        "examines a Format",
    ),
    "dataclass inside": (
        (3, 14),
        "k@ = P\ndef s@():\n    @dataclasses.dataclass\n    class D:\n        a: float = k@\n"
        "    return D().a * k@",
        "s@()",
        ["k@ = P"],
        "examines a Format",
    ),
    "evaluated again in a class": (
        (3, 14),
        "class C@:\n    j = P\n    type A = j\ne@ = C@.A.evaluate_value",
        "e@(1)",
        ["C@.j = P"],
    ),
    "evaluated again in a class of a function": (
        (3, 14),
        "def outer@():\n    j = P\n    class C:\n        type A = j\n    def put(v):\n"
        "        nonlocal j\n        j = v\n    return C, put\nC@, put@ = outer@()\nC@.j = P\n"
        "e@ = C@.A.evaluate_value",
        "e@(1)",
        ["put@(P)", "C@.j = P", "del C@.j\nput@(P)", "put@(P)"],
    ),
    "except without parentheses": (
        (3, 14),
        "d@ = {}\ndef s@():\n    try:\n        return d@['a']\n    except KeyError, IndexError:\n"
        "        return P",
        "s@()",
        ["d@['a'] = P", "d@.clear()"],
    ),
    "placeholder": (
        (3, 14),
        "k@ = P\np@ = functools.partial(lambda a, b, c: a / b - c, functools.Placeholder, P)",
        "p@(k@, 2.0)",
        ["k@ = P", "p@ = functools.partial(lambda a, b, c: a - b, functools.Placeholder, P)"],
    ),
    "placeholder of a C function": (
        (3, 14),
        "o@ = Thing()\no@.k = P\np@ = functools.partial(getattr, functools.Placeholder, 'k')",
        "p@(o@)",
        ["o@.k = P", "o@ = Thing()\no@.k = P"],
    ),
    "placeholder and an item": (
        (3, 14),
        "l@ = [P, P]\np@ = functools.partial(operator.getitem, functools.Placeholder, 1)",
        "p@(l@)",
        ["l@[1] = P", "l@ = [P, P]"],
    ),
    "partial as a method": (
        (3, 14),
        "class C@:\n    j = P\n    k = functools.partial(lambda a, self: a * self.j, P)\no@ = C@()",
        "o@.k()",
        ["o@.j = P", "C@.k = functools.partial(lambda a, self: a * self.j, P)"],
    ),
    "map of equal lengths": (
        (3, 14),
        "l@, m@ = [P, P], [P, P]\ndef s@():\n    try:\n"
        "        return sum(map(lambda a, b: a * b, l@, m@, strict=True))\n"
        "    except ValueError:\n        return P",
        "s@()",
        ["l@[0] = P", "m@.append(P)"],
    ),
    "union of types": (
        (3, 14),
        "import typing\nu@ = int | str\no@ = 1",
        "(P if isinstance(o@, u@) else P)",
        ["u@ = typing.Union[float, str]", "o@ = 1.0"],
    ),
    # Python 3.15
    "unpacking in comprehensions": (
        (3, 15),
        "l@, d@ = [[P], [P, P]], [{'a': P}, {'b': P}]\ndef s@():\n"
        "    r = sum([*x for x in l@]) + len({*x for x in l@})\n"
        "    return r + sum({**x for x in d@}.values()) + sum((*x for x in l@))",
        "s@()",
        ["l@[0][0] = P", "l@.append([P])", "d@[0]['a'] = P", "d@.append({'a': P})"],
    ),
    "frozendict": (
        (3, 15),
        "d@ = frozendict(a=P, b=[P])",
        "d@['a'] * d@['b'][0]",
        ["d@ = frozendict(a=P, b=[P])", "d@['b'][0] = P"],
    ),
    "uses of a frozendict": (
        (3, 15),
        "d@ = frozendict(a=P, b=P)\ndef s@():\n    r = sum(d@.values()) * len(d@)\n"
        "    for key in d@:\n        r += d@.get(key, 0) * len(key)\n"
        "    for key, v in d@.items():\n        r *= v\n    return r if 'c' in d@ else 2 * r",
        "s@()",
        ["d@ = frozendict(a=P, b=P)", "d@ = frozendict(a=P, bb=P)", "d@ = frozendict(c=P)"],
    ),
    "frozendict inside": (
        (3, 15),
        "k@ = P\ndef s@():\n    d = frozendict(a=k@)\n    return d['a'] * (d | {'b': P})['b']",
        "s@()",
        ["k@ = P"],
    ),
    "match of a frozendict": (
        (3, 15),
        "d@ = frozendict(a=P)\ndef s@():\n    match d@:\n        case {'a': a}:\n"
        "            return a\n    return P",
        "s@()",
        ["d@ = frozendict(a=P)", "d@ = frozendict(b=P)"],
    ),
    "sentinel": (
        (3, 15),
        "m@ = sentinel('m@')\nd@ = {}\ndef s@():\n    v = d@.get('a', m@)\n"
        "    return P if v is m@ else v",
        "s@()",
        ["d@['a'] = P", "m@ = sentinel('m@')", "del d@['a']"],
    ),
    "lazy import": (
        (3, 15),
        "lazy import colorsys\nk@ = P\ndef s@():\n    return colorsys.rgb_to_yiq(k@, P, P)[0]",
        "s@()",
        ["k@ = P", "colorsys = types.SimpleNamespace(rgb_to_yiq=lambda *a: (P,))"],
    ),
    "lazy import of a name": (
        (3, 15),
        _LAZY_IMPORT,
        "j@",
        ["j@ = P", _LAZY_IMPORT],
    ),
}

WAYS = {name: way[1:4] for name, way in _WAYS.items() if way[0] <= sys.version_info}
PLAIN = {name: way[4] for name, way in _WAYS.items() if len(way) > 4 and name in WAYS}

# What the programs import, if this Python has it.
HEAD = """
if sys.version_info >= (3, 14):
    import annotationlib
    from string.templatelib import Interpolation, convert
"""
