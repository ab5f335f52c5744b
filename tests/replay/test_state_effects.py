"""Effects: what a function assigns, prints and logs, also from other threads.

Each case is compared with plain Python; see `state_cases`.
"""

# ruff: noqa: RUF012

import logging
import threading

import pytest
from state_cases import Cases, ignore_fallback, name_of, numtape_only, steps

import numtape as tf

pytestmark = numtape_only

cases = Cases()


# A function runs once for each call, also if another thread assigns its variables.


@cases.add
def starts_a_thread(decorate):
    v, log = tf.Variable(0.0), []

    def f(x):
        log.append(1)
        v.assign_add(x)
        thread = threading.Thread(target=lambda: v.assign_add(1.0))
        thread.start()
        thread.join()
        return v * 1.0

    return steps(decorate(f), args=lambda: (tf.constant(1.0),), also=lambda: [v, float(len(log))])


# What a function sets and then reads is set by each call.


class Box:
    pass


@cases.add
def item_set_and_read(decorate):
    state = {"n": 1.0}

    def f(x):
        state["n"] = 3.0
        return x * state["n"]

    return steps(decorate(f), lambda: state.__setitem__("n", 10.0), also=lambda: state["n"])


@cases.add
def attribute_set_and_read(decorate):
    o = Box()
    o.ab = 1.0

    def f(x):
        setattr(o, "a" + "b", 3.0)
        return x * getattr(o, "a" + "b")

    return steps(decorate(f), lambda: setattr(o, "ab", 10.0), also=lambda: o.ab)


# What one object's method sets is read by another object's method.


@cases.add
def method_of_several_objects(decorate):
    class Worker:
        log = []

        def __init__(self, writes):
            self.writes = writes

        @decorate
        def step(self, x):
            if self.writes:
                Worker.log.append(1)
                return x * 1.0
            return x * len(Worker.log)

    writer, reader = Worker(True), Worker(False)
    found = []
    for k in range(4):
        writer.step(tf.constant(1.0))
        found.append(float(reader.step(tf.constant(1.0))))
        if k == 2:
            writer = Worker(True)
    return found


# Code of the program that runs while something is printed or logged reads state as usual.


class Keep:
    k = 2.0


def print_case(name, make_printer):
    def make(decorate):
        v, b = tf.Variable(0.0), Keep()
        show = make_printer(v, b)

        def f(x):
            show()
            return x * v

        return steps(
            decorate(f), lambda: setattr(b, "k", 5.0), lambda: setattr(b, "k", 1.0), also=lambda: v
        )

    return cases.named(name, make)


def unseen_branch(v, b):
    if b.k > 3.0:
        v.assign_add(9.0)
    return ""


def in_str(v, b):
    class Shown:
        def __str__(self):
            return unseen_branch(v, b)

    shown = Shown()
    return lambda: print(shown, end="")


def in_a_list(v, b):
    class Shown:
        def __repr__(self):
            return unseen_branch(v, b)

    shown = [Shown()]
    return lambda: print(shown, end="")


def in_a_handler(v, b):
    class Handler(logging.Handler):
        def emit(self, record):
            self.format(record)
            unseen_branch(v, b)

    logger = logging.Logger("steps")
    logger.addHandler(Handler())
    return lambda: logger.info("a step %s", 1)


def in_a_file(v, b):
    class Out:
        def write(self, text):
            unseen_branch(v, b)

    out = Out()
    return lambda: print("a step", file=out)


def in_a_print_in_a_print(v, b):
    class Shown:
        def __init__(self, inner):
            self.inner = inner

        def __str__(self):
            if self.inner is not None:
                print(self.inner, end="")
            return unseen_branch(v, b)

    shown = Shown(Shown(None))
    return lambda: print(shown, end="")


def by_another_method(v, b):
    class Shown:
        def __str__(self):
            return ""

    class Other:
        def __str__(self):
            return unseen_branch(v, Keep if b.k < 3.0 else b)

    shown = Shown()

    def show():
        print(shown, end="")

    class Change(Keep):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            Shown.__str__ = Other.__str__

    b.__class__ = Change
    return show


for way in (in_str, in_a_list, in_a_handler, in_a_file, in_a_print_in_a_print, by_another_method):
    print_case("prints_" + way.__name__, way)


@ignore_fallback
@pytest.mark.parametrize("make", cases, ids=name_of)
def test_effects_are_those_of_python(make):
    assert make(tf.function) == make(lambda f: f)
