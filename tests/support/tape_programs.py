"""Random training loops with tapes, as a script that prints a hash of all results.

``python tape_programs.py FROM TO`` prints a line of JSON for each seed: the hash, and the numbers
of gradients and evaluations that machine code executed. The hashes must be the same with and
without ``NUMTAPE_RECORD=python``.
"""

import gc
import hashlib
import json
import random
import sys

import numpy as np
from numtape.kernels.passes import evaluation_words, gradient_words

import numtape as tf
from numtape.core.cpu import repeated_evaluation
from numtape.core.derive import repeated_gradients
from numtape.core.log.log import Log, local

STEPS = 40
SHAPES = [(), (3,), (1, 3), (2, 3)]  # which broadcast
SMOOTH = ["tf.sin", "tf.tanh", "tf.sigmoid", "tf.identity", "-", "tf.cos", "tf.nn.softplus"]
CONSTANTS, VARIABLES = 3, 4


class Program:
    """Source of one step, in which ``k`` is its number.

    Attributes:
      lines: The statements of a step.
      events: Code that runs before some steps.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.names, self.leaves, self.count = [], [], [], 0
        self.dtype = self.choice(["float32", "float64"])
        self.shapes = [self.choice(SHAPES) for _ in range(VARIABLES)]
        self.steady = self.chance(0.75)  # most steps repeat
        for number in range(self.choice([1, 1, 2, 3])):
            self.block("    ", 0)
            if number and self.chance(0.3):
                self.add("    ", self.after())
        for _ in range(self.choice([1, 1, 2])):
            self.add("    ", self.after())
        # An evaluation after the step's own arrays are gone resets the log.
        self.add("    ", f"return {self.names[-1] if self.chance(0.9) else self.value()}")
        events = [
            ("replace", 15),
            ("trainable", 20),
            ("shape", 25),
            ("constant", 18),
            ("collect", 30),
            ("dtype", 28),
            ("another log", 22),
            ("function", 33),
        ]
        self.events = {at: what for what, at in events if self.chance(0.25)}

    def source(self):
        return "\n".join(["def step(k, V, C, S, held, out):", *self.lines])

    def choice(self, options):
        return self.random.choice(options)

    def chance(self, p):
        return self.random.random() < p

    def add(self, indent, line):
        self.lines.append(indent + line)

    def leaf(self):
        if self.leaves and self.chance(0.75):
            return self.choice(self.leaves)
        return self.any_leaf()

    def any_leaf(self):
        if self.chance(0.65):
            return f"V[{self.random.randrange(VARIABLES)}]"
        return f"C[{self.random.randrange(CONSTANTS)}]"

    def value(self):
        return self.choice(self.names[-6:]) if self.names and self.chance(0.75) else self.leaf()

    def unusual(self, p=0.2):
        """A condition that holds at some steps, or no condition."""
        if self.steady or not self.chance(p):
            return ""
        return self.choice(
            ["if k % 7 == 3: ", "if k in (16, 17, 31): ", "if k > 26: ", "if k < 21: "]
        )

    def op(self, indent):
        x, y = self.value(), self.value()
        kind = self.random.randrange(9)
        text = {
            0: f"{x} * {y}",
            1: f"{x} + {y}",
            2: f"{x} - {y}",
            3: f"{self.choice(SMOOTH)}({x})",
            4: f"tf.reduce_sum({x})",
            5: f"tf.stack([{x}, {x}])[0]",
            6: f"{x} * {self.choice([0.5, 2.0, -1.0])}",
            7: f"tf.reduce_mean(tf.concat([tf.reshape({x}, [-1]), tf.reshape({y}, [-1])], 0))",
            8: f"{x} * S",
        }[kind]
        name = f"n{self.count}"
        self.count += 1
        self.add(indent, f"{name} = {text}")
        unusual = self.unusual(0.08)
        if unusual:
            self.add(indent, f"{unusual}{name} = tf.exp(-{name} * {name})")
        self.names.append(name)

    def sources(self):
        if self.chance(0.3):
            return self.value() if self.chance(0.1) else self.choice(self.leaves)
        if self.steady:
            found = list(self.leaves)
        else:
            found = [
                self.leaf() if self.chance(0.85) else self.value()
                for _ in range(self.choice([1, 2, 2, 3]))
            ]
        if self.chance(0.15):
            found.append(found[0])
        opening, closing = "()" if self.chance(0.1) else "[]"
        return f"{opening}{', '.join(found)}{',' * (opening == '(')}{closing}"

    def gradient(self, indent, tape):
        target = self.names[-1] if self.steady else self.choice(self.names[-3:])
        if self.chance(0.01 if self.steady else 0.06):
            target = f"[{target}, {self.value()}]"
        more, name = "", f"g{self.count}"
        self.count += 1
        if self.chance(0.02 if self.steady else 0.07):
            more = ", unconnected_gradients='zero'"
        seeds = "" if target[0] == "[" else self.unusual()
        sources = self.sources()
        if seeds:
            condition = seeds[3:-2]
            more += f", output_gradients=tf.ones_like({target}) * 2.0 if {condition} else None"
        self.add(indent, f"{name} = {tape}.gradient({target}, {sources}{more})")
        self.used(indent, name)
        if self.chance(0.5):  # a value for later lines
            leaf = self.leaf()
            self.names.append(f"m{name}")
            self.add(indent, f"m{name} = first({name}, {leaf})")

    def used(self, indent, name):
        """Statements that use results."""
        for _ in range(self.choice([0, 1, 1, 2])):
            number = self.random.randrange(VARIABLES)
            self.add(
                indent,
                self.unusual()
                + self.choice(
                    [
                        f"out({name})",
                        f"out({name})",
                        f"held.append({name})",
                        f"assign(V, {number}, {name}, 0.01)",
                        f"assign(V, {number}, {name}, -0.02)",
                    ]
                ),
            )

    def after(self):
        number = self.random.randrange(VARIABLES)
        return self.unusual(0.5) + self.choice(
            [
                "del held[:-4]",
                "del held[:]",
                "del held[:]",
                f"out({self.value()})",
                f"held.append({self.value()})",
                "gc.collect(0)",
                "out(held)",
                f"out(V[{number}])",
                f"V[{number}].assign(V[{number}] * 0.9)",
                f"V[{number}].assign_add(V[{number}] * 0.1)",
            ]
        )

    def block(self, indent, depth):
        """A tape, its computation, and its gradients."""
        tape = f"t{self.count}"
        self.count += 1
        rare = 0.2 if self.steady else 1.0  # cases that machine code leaves to Python
        persistent, accessed = self.chance(0.2 * rare), self.chance(0.85)
        self.leaves = list({self.any_leaf(): None for _ in range(self.choice([1, 2, 2, 3]))})
        before = len(self.names)
        outer = indent
        fails = not self.steady and self.chance(0.12)
        if fails:
            self.add(indent, "try:")
            indent += "    "
        arguments = f"persistent={persistent}, watch_accessed_variables={accessed}"
        if self.chance(0.1):
            self.add(indent, f"{tape} = tf.GradientTape({arguments})")
            self.add(indent, f"with {tape}:")
        else:
            self.add(indent, f"with tf.GradientTape({arguments}) as {tape}:")
        inside = indent + "    "
        for _ in range(self.choice([0, 0, 1, 2]) if self.chance(rare) else 0):
            self.add(inside, self.unusual(0.15) + f"{tape}.watch({self.leaf()})")
        for leaf in self.leaves:
            if leaf[0] == "C" or not accessed:
                self.add(inside, f"{tape}.watch({leaf})")
        begin = len(self.names)
        for _ in range(self.random.randrange(2, 8)):
            self.op(inside)
            if self.chance(0.05 * rare):
                self.add(inside, f"{tape}.watch({self.names[-1]})")
            if self.chance(0.05 * rare):
                self.add(inside, f"with {tape}.stop_recording():")
                self.op(inside + "    ")
            if self.chance(0.03):
                self.add(inside, f"{self.unusual(0.5)}{tape}.reset()")
            if self.chance(0.05):
                self.add(inside, f"{self.unusual(0.5)}out({self.value()})")
            if self.chance(0.03):
                number = self.random.randrange(VARIABLES)
                self.add(inside, f"V[{number}].assign(V[{number}] * 0.75)")
            if depth < 2 and self.chance(0.1):
                self.block(inside, depth + 1)
        if self.steady or self.chance(0.8):
            parts = self.names[begin:] + self.leaves
            name = f"n{self.count}"
            self.count += 1
            sums = [f"tf.reduce_sum({part})" for part in parts]
            whole = sums[0] if self.chance(0.3) else self.choice(parts)
            self.add(inside, f"{name} = {' + '.join([whole, *sums[1:]])}")
            self.names.append(name)
        if self.chance(0.07 * rare):
            self.gradient(inside, tape)
        if fails:
            self.add(inside, "if k % 6 == 4: raise ArithmeticError('inside')")
            self.add(outer, "except ArithmeticError: pass")
        later = self.random.random()
        if later < 0.06 * rare:
            self.add(outer, f"del {tape}")
            return
        if later < 0.06 + 0.06 * rare:
            self.add(outer, f"held.append({tape})")
        for _ in range(self.choice([1, 1, 1, 2]) if persistent else 1):
            self.gradient(outer, tape)
        if self.chance(0.1):
            self.add(outer, f"out(len({tape}.watched_variables()))")
        if self.chance(0.3):
            self.add(outer, f"del {tape}")
        if self.chance(0.2):  # most tensors of the block are dropped
            gone = [name for name in self.names[before:-2] if name[0] == "n"]
            for name in gone:
                self.names.remove(name)
            if gone:
                self.add(outer, f"del {', '.join(dict.fromkeys(gone))}")


def first(found, otherwise):
    """The first available gradient, or another value."""
    for one in found if isinstance(found, list | tuple) else [found]:
        if one is not None:
            return tf.convert_to_tensor(one)
    return tf.convert_to_tensor(otherwise)


def assign(variables, number, found, rate):
    """Update variables with gradients of their shapes."""
    for one in found if isinstance(found, list | tuple) else [found]:
        variable = variables[number % len(variables)]
        number += 1
        if isinstance(one, tf.Tensor) and one.shape == variable.shape:
            variable.assign_sub(rate * tf.tanh(one))


def run(seed):
    """The hash of a program's values, and the counts of machine code."""
    program = Program(seed)
    draw = np.random.default_rng(seed)
    digest, errors = hashlib.sha256(), 0

    def made(shape):
        return draw.uniform(-1, 1, shape).astype(program.dtype)

    def out(value):
        if isinstance(value, list | tuple):
            for one in value:
                out(one)
        elif isinstance(value, tf.GradientTape):
            digest.update(b"tape")
        elif value is None or isinstance(value, int):
            digest.update(repr(value).encode())
        else:
            value = tf.convert_to_tensor(value).numpy()
            digest.update(f"{value.dtype} {value.shape}".encode() + value.tobytes())

    V = [tf.Variable(made(shape), name=f"v{k}") for k, shape in enumerate(program.shapes)]
    C = [tf.constant(made(program.choice(SHAPES))) for _ in range(CONSTANTS)]
    S, held, counted, looked = 1.5, [], {}, {}
    scope = {"tf": tf, "gc": gc, "assign": assign, "first": first}
    exec(compile(program.source(), f"<program {seed}>", "exec"), scope)
    step, before = scope["step"], local.log
    local.log = Log()
    for k in range(STEPS):
        event = program.events.get(k)
        if event == "replace":
            V[seed % VARIABLES] = tf.Variable(made(program.shapes[seed % VARIABLES]))
        elif event == "trainable":
            V[seed % VARIABLES]._trainable = False
        elif event == "shape":
            V[0], C[0] = tf.Variable(made((2, 3))), tf.constant(made((3,)))
        elif event == "constant":
            C[seed % CONSTANTS] = tf.constant(made(C[seed % CONSTANTS].shape))
            S = 1.25
        elif event == "collect":
            gc.collect()
        elif event == "dtype":
            program.dtype = "float32" if program.dtype == "float64" else "float64"
            V, C = (
                [kind(made(x.shape)) for x in of]
                for kind, of in ((tf.Variable, V), (tf.constant, C))
            )
            del held[:]
        elif event == "another log":
            local.log = Log()
        elif event == "function":
            step = (lambda inner: lambda *given: inner(*given))(step)
        try:
            out(step(k, V, C, S, held, out))
        except Exception as error:
            errors += 1
            out(V[0])
            digest.update(f"{type(error).__name__} {str(error)[:50]}".encode())
            if isinstance(error, AssertionError | SystemError | NameError | SyntaxError):
                raise
        del held[:-12]
        for of, hits, entries in (
            (counted, gradient_words.HITS, local.log.gradient_fast_paths),
            (looked, evaluation_words.HITS, local.log.evaluate_fast_paths),
        ):
            for _, entry in entries:
                of[entry] = int(entry.words[hits])
    out([x for x in held if not isinstance(x, tf.GradientTape)])
    out(V)
    local.log = before
    return {
        "seed": seed,
        "hash": digest.hexdigest(),
        "errors": errors,
        "gradients": sum(counted.values()),
        "looks": sum(looked.values()),
    }


def main(begin, end):
    repeated_gradients.TURNS = repeated_evaluation.MIN_RUNS = 2  # machine code starts sooner
    for seed in range(begin, end):
        try:
            print(json.dumps(run(seed)), flush=True)
        except BaseException as error:
            error.add_note(f"seed {seed}\n{Program(seed).source()}")
            raise


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
