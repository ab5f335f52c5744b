"""Classes, metaclasses and base classes.

Each case is compared with plain Python; see `state_cases`.
"""

# ruff: noqa: F841, RUF012

import collections
import collections.abc
import enum

import numpy as np
import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# Each kind of access uses the object's present class.


class One:
    k = 2.0

    def __enter__(s):
        return s.made()

    def __exit__(s, *a):
        return False

    def made(s):
        return 2.0

    def __getitem__(s, i):
        return 2.0

    def __iter__(s):
        return iter((2.0,))

    def __len__(s):
        return 2

    def __bool__(s):
        return True

    def __contains__(s, x):
        return True

    def __float__(s):
        return 2.0

    def __index__(s):
        return 2

    def __format__(s, spec):
        return "2"

    def __str__(s):
        return "2"

    def __array__(s, dtype=None, copy=None):
        return np.array([2.0, 2.0], "f4")


class Two:
    def __enter__(s):
        return 5.0

    def __exit__(s, *a):
        return False

    def __getitem__(s, i):
        return 5.0

    def __iter__(s):
        return iter((5.0,))

    def __len__(s):
        return 5

    def __bool__(s):
        return False

    def __contains__(s, x):
        return False

    def __float__(s):
        return 5.0

    def __index__(s):
        return 5

    def __format__(s, spec):
        return "5"

    def __str__(s):
        return "5"

    def __array__(s, dtype=None, copy=None):
        return np.array([5.0, 5.0], "f4")


One.__enter__ = lambda s: 2.0


def entered(o):
    with o as value:
        return value


def looped(o):
    for value in o:
        return value


def class_case(use):
    def make(decorate):
        o = One()

        def f(x):
            return x * use(o)

        return steps(decorate(f), lambda: setattr(o, "__class__", Two))

    return make


for name, use in {
    "with": entered,
    "item": lambda o: o["k"],
    "for": looped,
    "len": lambda o: len(o),
    "bool": lambda o: 2.0 if o else 3.0,
    "in": lambda o: 2.0 if 1 in o else 3.0,
    "float": lambda o: float(o),
    "text": lambda o: float(f"{o}"),
    "str": lambda o: float(str(o)),
    "star": lambda o: (lambda a: a)(*o),
    "index": lambda o: tf.range(10.0)[o],
    "array": lambda o: np.array(o),
    "unpacked": lambda o: sum(o),
}.items():
    cases.named("class_" + name, class_case(use))


def assignment_case(kind):
    def make(decorate):
        v = tf.Variable(0.0)

        class A:
            p = property(None, lambda s, t: v.assign(2 * t) and None)

            def __setitem__(s, k, t):
                v.assign(2 * t)

        class B:
            p = property(None, lambda s, t: v.assign(5 * t) and None)

            def __setitem__(s, k, t):
                v.assign(5 * t)

        o = A()

        def f(x):
            if kind == "item":
                o[0] = x
            else:
                o.p = x
            return x * 1.0

        return steps(decorate(f), lambda: setattr(o, "__class__", B), also=lambda: v)

    return make


for kind in ("item", "property"):
    cases.named("assigns_by_" + kind, assignment_case(kind))


# An attribute of a class comes before the metaclass's `__getattr__`.


@cases.add
def lazy_setting(decorate):
    class Lazy(type):
        def __getattr__(cls, name):
            return 2.0

    class Settings(metaclass=Lazy):
        pass

    def f(x):
        return x * Settings.rate

    return steps(decorate(f), lambda: setattr(Settings, "rate", 5.0))


# The members of a metaclass are seen, and which metaclass it is.


@cases.add
def call_of_a_metaclass(decorate):
    class M(type):
        pass

    class C(metaclass=M):
        def __init__(self):
            self.k = 2.0

    def f(x):
        return x * C().k

    def made(cls):
        o = type.__call__(cls)
        o.k = 5.0
        return o

    return steps(decorate(f), lambda: setattr(M, "__call__", made))


@cases.add
def bool_of_a_metaclass(decorate):
    class M(type):
        pass

    class C(metaclass=M):
        pass

    def f(x):
        return x * 2.0 if C else x * 3.0

    return steps(decorate(f), lambda: setattr(M, "__bool__", lambda cls: False))


@cases.add
def instancecheck_of_a_metaclass(decorate):
    class M(type):
        pass

    class C(metaclass=M):
        pass

    def f(x):
        return x * 2.0 if isinstance(3.0, C) else x * 3.0

    return steps(decorate(f), lambda: setattr(M, "__instancecheck__", lambda cls, x: True))


@cases.add
def another_metaclass(decorate):
    class M(type):
        def __iter__(cls):
            return iter((2.0,))

    class N(type):
        def __iter__(cls):
            return iter((5.0,))

    class C(metaclass=M):
        pass

    def f(x):
        return x * sum([k for k in C])

    return steps(decorate(f), lambda: setattr(C, "__class__", N))


# `Class[key]` can return an existing object, whose state is read.


@cases.add
def enum_member(decorate):
    class Color(enum.Enum):
        RED = 1

    Color.RED.weight = 2.0

    def f(x):
        return x * Color["RED"].weight

    return steps(decorate(f), lambda: setattr(Color.RED, "weight", 5.0))


@cases.add
def registry(decorate):
    class Registry(type):
        def __getitem__(cls, name):
            return cls.entries[name]

    class Models(metaclass=Registry):
        entries = {"w": [2.0]}

    def f(x):
        return x * Models["w"][0]

    return steps(decorate(f), lambda: Models.entries["w"].__setitem__(0, 5.0))


@cases.add
def class_getitem(decorate):
    class Models:
        entries = {"w": [2.0]}

        def __class_getitem__(cls, name):
            return cls.entries[name]

    def f(x):
        return x * Models["w"][0]

    return steps(decorate(f), lambda: Models.entries["w"].__setitem__(0, 5.0))


# `issubclass` reads the bases.


@cases.add
def bases_of_a_class(decorate):
    class Root:
        pass

    class A(Root):
        pass

    class B:
        pass

    def f(x):
        return x * 2.0 if issubclass(A, B) else x * 3.0

    return steps(decorate(f), lambda: setattr(A, "__bases__", (B, Root)))


# `C()` can return an existing object.


@cases.add
def singleton(decorate):
    class C:
        pass

    only = C()
    only.k = 2.0
    C.__new__ = lambda cls: only

    def f(x):
        return x * C().k

    return steps(decorate(f), lambda: setattr(only, "k", 5.0))


# A class created by the call inherits from classes that can change.


@cases.add
def inherited(decorate):
    class Base:
        k = 2.0

    def f(x):
        class C(Base):
            pass

        return x * C.k

    return steps(decorate(f), lambda: setattr(Base, "k", 5.0))


@cases.add
def property_comes_later(decorate):
    class Config:
        def __init__(self):
            self.k = 2.0

    def f(x):
        return x * Config().k

    return steps(
        decorate(f), lambda: setattr(Config, "k", property(lambda s: 5.0, lambda s, v: None))
    )


# A pattern sees whether a class is registered as a sequence.


@cases.add
def registered(decorate):
    class Pair:
        def __getitem__(self, i):
            return (1.0, 2.0)[i]

        def __len__(self):
            return 2

    pair = Pair()

    def f(x):
        match pair:
            case [a, b]:
                return x * 2.0
        return x * 3.0

    return steps(decorate(f), lambda: collections.abc.Sequence.register(Pair))


# The body of a class can set a name that Python has a cell for as well.


class Base:
    def name(self):
        return "base"


@cases.add
def class_body_sets_its_class(decorate):
    def f(x):
        class Proxy(Base):
            def name(self):
                return super().name()

            __class__ = int

        return x * 2.0 if isinstance(Proxy(), int) else x * 3.0

    return steps(decorate(f))


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_changes_of_classes_are_seen(make):
    assert make(tf.function) == make(lambda f: f)
