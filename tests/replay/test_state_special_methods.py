"""Special methods: what they read and return, and where they are looked up.

Each case is compared with plain Python; see `state_cases`.
"""

# ruff: noqa: RUF005, RUF012

import operator

import numpy as np
import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# What `__getitem__` returns can be a view of an array, or an existing list: it is read.


class Data:
    def __init__(self):
        self.x = np.arange(6, dtype="f4")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


@cases.add
def minibatch(decorate):
    data = Data()

    def f(x):
        return tf.reduce_sum(x * data[0:3])

    return steps(decorate(f), lambda: data.x.__setitem__(0, 100.0))


@cases.add
def minibatch_looked_at(decorate):
    data = Data()

    def f(x):
        return x * float(data[0:3].sum())

    return steps(decorate(f), lambda: data.x.__setitem__(0, 100.0))


@cases.add
def list_of_a_slice(decorate):
    class Table:
        rows = [2.0]

        def __getitem__(self, i):
            return self.rows if isinstance(i, slice) else self.rows[i]

    table = Table()

    def f(x):
        return x * table[:][0]

    return steps(decorate(f), lambda: Table.rows.__setitem__(0, 5.0))


# What other special methods return can exist before the call, too.


class Table:
    rows = [2.0]

    def __add__(self, other):
        return self.rows

    def __round__(self):
        return self.rows


@cases.add
def operator_add(decorate):
    table = Table()
    Table.rows = [2.0]

    def f(x):
        return x * operator.add(table, 1)[0]

    return steps(decorate(f), lambda: Table.rows.__setitem__(0, 5.0))


@cases.add
def rounded(decorate):
    table = Table()
    Table.rows = [2.0]

    def f(x):
        return x * round(table)[0]

    return steps(decorate(f), lambda: Table.rows.__setitem__(0, 5.0))


# A special method can be a method of an object of C, which reads that object.


@cases.add
def next_of_an_iterator(decorate):
    class Source:
        __next__ = iter([float(k) for k in range(100)]).__next__

    source = Source()

    def f(x):
        return x * next(source)

    return steps(decorate(f))


@cases.add
def missing_of_a_dict(decorate):
    defaults = {"rate": 2.0}

    class Config(dict):
        __missing__ = defaults.__getitem__

    config = Config()

    def f(x):
        return x * config["rate"]

    return steps(decorate(f), lambda: defaults.__setitem__("rate", 5.0))


def special_method_case(name, attribute, use):
    def make(decorate):
        rows = [2.0, 3.0]
        cls = type(
            "Rows",
            (),
            {name: getattr(rows, attribute), "__hash__": None}
            if name == "__eq__"
            else {name: getattr(rows, attribute)},
        )
        o = cls()

        def f(x):
            return x * use(o)

        return steps(decorate(f), lambda: rows.append(5.0))

    return cases.named(name, make)


special_method_case("__iter__", "__iter__", lambda o: sum([r for r in o]))
special_method_case("__contains__", "__contains__", lambda o: 2.0 if 5.0 in o else 3.0)
special_method_case("__eq__", "__eq__", lambda o: 2.0 if o == [2.0, 3.0] else 3.0)
special_method_case("__add__", "__add__", lambda o: sum(o + [1.0]))
special_method_case("__str__", "__repr__", lambda o: len(str(o)))


# Special methods added to a subclass of tuple, list or dict are called.


def subclass_case(base, name, function, use):
    def make(decorate):
        class Sub(base):
            pass

        o = Sub({"a": 1.0, "b": 2.0}) if base is dict else Sub([1.0, 2.0])

        def f(x):
            return x * use(o)

        return steps(decorate(f), lambda: setattr(Sub, name, function))

    return cases.named(base.__name__ + name, make)


subclass_case(tuple, "__len__", lambda s: 5, lambda o: len(o))
subclass_case(tuple, "__bool__", lambda s: False, lambda o: 2.0 if o else 3.0)
subclass_case(tuple, "__iter__", lambda s: iter([7.0]), lambda o: sum(o))
subclass_case(tuple, "__getitem__", lambda s, i: 4.0, lambda o: o[0])
subclass_case(tuple, "__contains__", lambda s, k: False, lambda o: 2.0 if 1.0 in o else 3.0)
subclass_case(list, "__iter__", lambda s: iter([7.0]), lambda o: sum([q for q in o]))
subclass_case(list, "__contains__", lambda s, k: False, lambda o: 2.0 if 1.0 in o else 3.0)
subclass_case(list, "__str__", lambda s: "abc", lambda o: len(str(o)))
subclass_case(dict, "__iter__", lambda s: iter("abc"), lambda o: len([k for k in o]))


# The text of an exception depends on `args`.


class Failure(Exception):
    pass


class Told(Exception):
    def __str__(self):
        return "told: " + super().__str__()


@cases.add
def text_of_an_exception(decorate):
    last = Failure("abc")

    def f(x):
        return x * len(str(last))

    return steps(decorate(f), lambda: setattr(last, "args", ("abcdef",)))


@cases.add
def formatted_exception(decorate):
    last = Failure("abc")

    def f(x):
        return x * len(f"{last}")

    return steps(decorate(f), lambda: setattr(last, "args", ("abcdef",)))


@cases.add
def text_by_super(decorate):
    last = Told("abc")

    def f(x):
        return x * len(str(last))

    return steps(decorate(f), lambda: setattr(last, "args", ("abcdef",)))


@cases.add
def text_of_an_own_exception(decorate):
    rows, names = [[1]], {"k": 1}

    def f(x):
        try:
            raise ValueError(rows, names)
        except ValueError as error:
            return x * len(str(error))

    return steps(decorate(f), lambda: rows[0].append(10000), lambda: names.update(k=1000))


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_special_methods_are_those_of_python(make):
    assert make(tf.function) == make(lambda f: f)
