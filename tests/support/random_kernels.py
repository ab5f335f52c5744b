"""Random programs of nested loops, with branches on values, in-place writes and early exits."""

import linecache
import math
import random

import numpy as np

HELPERS = """
def bend(u, v):
    if u > v:
        return math.sin(u) * v
    return u - 0.5 * v


def push(w, k, u):
    for j in range(len(w)):
        w[j] += 0.1 * u * w[k]
        if w[j] > 2.0:
            break
"""


class Writer:
    """Writes one program ``f(x, m, k, p, q)``: x has 5 elements, m 3 x 4, k 5 ints from 0 to 4."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.arrays = 0.4 if seed % 2 else 0.0  # the share of statements on whole arrays
        self.names, self.lines, self.depth, self.loops = ["p", "q", "s"], [], 1, 0

    def put(self, text):
        self.lines.append("    " * self.depth + text)

    def index(self, loops, size=5):
        i = self.r.choice([*loops, "0"])
        return self.r.choice(
            [
                f"{i} % {size}",
                f"({i} + 1) % {size}",
                f"-1 - {i} % {size}",
                "1",
                "-1",
                f"k[{i} % 5] % {size}",
                f"int(abs(p) * 3.0) % {size}",
            ]
        )

    def element(self, loops):
        array = self.r.choice("abm")
        if array == "m":
            return f"m[{self.index(loops, 3)}, {self.index(loops, 4)}]"
        return f"{array}[{self.index(loops)}]"

    def expression(self, loops, depth=0):
        r = self.r
        kind = r.random()

        def inner():
            return self.expression(loops, depth + 1)

        if depth > 2 or kind < 0.25:
            return r.choice(self.names)
        if kind < 0.42:
            return self.element(loops)
        if kind < 0.47:
            return str(round(r.uniform(-2, 2), 2))
        if kind < 0.72:
            return f"({inner()} {r.choice('+-*')} {inner()})"
        if kind < 0.77:
            return f"({inner()} / (2.0 + {r.choice(self.names)} ** 2))"
        if kind < 0.81:
            return f"({inner()} if {self.test(loops)} else {inner()})"
        if kind < 0.85:
            return f"bend({inner()}, {inner()})"
        if kind < 0.88:
            return f"{r.choice(['max', 'min', 'np.maximum'])}({inner()}, {inner()})"
        return f"{r.choice(['math.sin', 'np.cos', 'math.tanh', 'np.arctan', 'abs'])}({inner()})"

    def vector(self, loops, size, depth=0):
        """An array of 3, 4 or 5 elements."""
        r = self.r
        kind = r.random()

        def inner():
            return self.vector(loops, size, depth + 1)

        if depth > 2 or kind < 0.35:
            row, column = self.index(loops, 3), self.index(loops, 4)
            return r.choice(
                {
                    5: [
                        "a",
                        "b",
                        "x",
                        "a[::-1]",
                        "b[k % 5]",
                        "np.linspace(p, q, 5)",
                        "np.full(5, s)",
                    ],
                    4: [
                        "a[1:]",
                        "b[:-1]",
                        f"m[{row}]",
                        "a[-2::-1]",
                        f"m.T[:, {row}]",
                        "m.sum(axis=0)",
                        "m.ravel()[2:6]",
                    ],
                    3: [
                        "a[1:4]",
                        f"m[:, {column}]",
                        "b[::2]",
                        f"m.T[{column}]",
                        "a[4:1:-1]",
                        "(m @ b[1:])",
                        "np.array([p, 0.5, q])",
                        "m[:, 1:].sum(axis=1)",
                    ],
                }[size]
            )
        if kind < 0.6:
            return f"({inner()} {r.choice('+-*')} {inner()})"
        if kind < 0.75:
            return f"({self.expression(loops, 2)} {r.choice('+-*')} {inner()})"
        if kind < 0.8:
            return f"np.where({inner()} > {self.expression(loops, 2)}, {inner()}, {inner()})"
        if kind < 0.84:
            return f"np.{r.choice(['maximum', 'minimum'])}({inner()}, {inner()})"
        return f"np.{r.choice(['sin', 'tanh', 'arctan', 'abs'])}({inner()})"

    def whole(self, loops):
        """A statement on whole arrays."""
        r, size = self.r, self.r.choice((3, 4, 5))
        made = f"np.tanh({self.vector(loops, size)})"
        kind = r.random()
        if kind < 0.08:
            high = f"{r.choice('abx')} > {self.expression(loops, 2)}"
            self.put(
                r.choice(
                    [
                        f"a[{high}] {r.choice(['=', '+=', '*='])} {self.expression(loops, 2)}",
                        f"b[{high}] = np.sin(x[{high}])",
                        f"m[{self.index(loops, 3)}, 1:][({high})[:3]] *= q",
                        f"q = math.tanh(np.sum(b[{high}]) * len(a[{high}]))",
                        f"m[k % 3, k % 4] {r.choice(['=', '+='])} np.tanh({self.vector(loops, 5)})",
                    ]
                )
            )
        elif kind < 0.35:
            to = r.choice(
                {
                    5: ["b[:]", "a[::-1]", "b", "a"],
                    4: ["a[1:]", "b[:-1]", f"m[{self.index(loops, 3)}]"],
                    3: ["a[1:4]", f"m[:, {self.index(loops, 4)}]", "m.T[-1]", "b[::-2]"],
                }[size]
            )
            self.put(f"{to} {r.choice(['+=', '-=', '*='] + ['='] * to.endswith(']'))} {made}")
        elif kind < 0.5:
            made = f"np.tanh({self.vector(loops, 5)})"
            self.put(
                r.choice(
                    [
                        f"a = {made}",
                        "a, b = b, a",
                        f"a, b = b, {made}",
                        f"b = {made}",
                        "b = a.copy()",
                        "a = b",
                    ]
                )
            )
        elif kind < 0.65:
            name = f"v{self.loops}"
            self.loops += 1
            view = r.choice(
                ["a[1:4]", "m[1]", "b[::2]", f"m[:, {self.index(loops, 4)}]", "a", "m.T[2]"]
            )
            self.put(f"{name} = {view}")
            self.put(f"{self.element(loops)} = {self.expression(loops, 2)}")
            self.put(f"{name} *= 0.7")
            self.put(f"{name}[1] = {self.expression(loops, 2)}")
            self.put(f"q = 0.5 * q + np.sum({name}) * {name}[-1]")
        elif kind < 0.75 and self.depth < 4:
            i = f"e{self.loops}"
            self.loops += 1
            self.put(f"for {i} in {self.vector(loops, size)}:")
            self.put(f"    {r.choice(self.names)} = math.sin(q + {i})")
        else:
            name = r.choice(["np.sum", "np.mean", "np.max", "np.min", "np.var"])
            given = r.choice(
                [
                    f"{name}({self.vector(loops, size)})",
                    f"np.prod(np.sin({made}))",
                    f"{self.vector(loops, size)} @ {made}",
                ]
            )
            self.put(f"{r.choice(self.names)} = math.tanh({given})")

    def test(self, loops):
        one = f"{self.expression(loops, 2)} {self.r.choice('<>')} {self.expression(loops, 2)}"
        kind = self.r.random()
        if kind < 0.1:
            return f"({one} and k[{self.index(loops)}] > 1)"
        if kind < 0.2:
            return f"({one} or not {self.r.choice(self.names)} > 0.3)"
        return one

    def block(self, loops, count, inside):
        r = self.r
        for _ in range(count):
            kind = r.random()
            if r.random() < self.arrays:
                self.whole(loops)
            elif kind < 0.3:
                self.put(f"{r.choice(self.names)} = math.tanh({self.expression(loops)})")
            elif kind < 0.45:
                sign = r.choice(["=", "+=", "-=", "*="])
                self.put(f"{self.element(loops)} {sign} math.sin({self.expression(loops)})")
            elif kind < 0.48:
                self.put("p, q = q, 0.9 * p")
            elif kind < 0.51:
                self.put(f"push(a, {self.index(loops)}, {r.choice(self.names)})")
            elif kind < 0.53:
                self.put(f"k[{self.index(loops)}] += 1")
            elif kind < 0.66 and self.depth < 4:
                self.inner(f"if {self.test(loops)}:", loops, r.randint(1, 2), inside)
                if r.random() < 0.6:
                    self.inner("else:", loops, r.randint(1, 2), inside)
            elif kind < 0.82 and self.depth < 4:
                i = f"i{self.loops}"
                self.loops += 1
                bounds = r.choice(["3", "1, 4", "4, 0, -1", "-2, 3, 2", "n", "0"])
                self.inner(f"for {i} in range({bounds}):", [*loops, i], r.randint(1, 3), True)
            elif kind < 0.87 and self.depth < 4:
                i = f"c{self.loops}"
                self.loops += 1
                self.put(f"{i} = 0")
                self.put(f"while {i} < 3 and {self.test(loops)}:")
                self.depth += 1
                self.put(f"{i} += 1")
                self.block([*loops, i], r.randint(1, 2), True)
                self.depth -= 1
            elif kind < 0.9 and self.depth < 4:
                name = f"w{self.loops}"
                self.loops += 1
                self.put(f"{name} = {r.choice(['np.zeros(3)', 'a.copy()', 'np.zeros_like(b)'])}")
                self.put(f"{name}[1] = {self.expression(loops)}")
                self.put(f"q = 0.5 * q + {name}[1] * {name}[-1] + {name}[0]")
            elif inside and kind < 0.93:
                self.put(f"if {self.test(loops)}:")
                self.put(f"    {r.choice(['break', 'continue'])}")
            elif kind < 0.95 and self.depth > 1:
                self.put(f"if {self.test(loops)}:")
                self.put("    return p * q + a[1]")
            else:
                self.put(f"q = q + 0.1 * {self.expression(loops)}")

    def inner(self, head, loops, count, inside):
        self.put(head)
        self.depth += 1
        self.block(loops, count, inside)
        self.depth -= 1

    def text(self):
        for line in ("n = len(x)", "a = x.copy()", "b = np.zeros(n)", "s = 0.5 * p"):
            self.put(line)
        self.block([], self.r.randint(3, 6), False)
        self.put("total = p * 0.3 + q + s")
        self.put("for z in range(5):")
        self.put("    total += a[z] * b[z] + 0.5 * a[z] + m[z % 3, -1 - z % 4] * x[z]")
        self.put("return total")
        return HELPERS + "\n\ndef f(x, m, k, p, q):\n" + "\n".join(self.lines) + "\n"


def module(seed):
    """The text of a program."""
    return Writer(seed).text()


def program(seed):
    """A function, its arguments, and the indices of the differentiated ones."""
    text = module(seed)
    file = f"<random program {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    scope = {"np": np, "math": math}
    exec(compile(text, file, "exec"), scope)
    rng = np.random.default_rng(seed)
    arguments = [
        rng.normal(size=5),
        rng.normal(size=(3, 4)),
        rng.integers(0, 5, 5),
        float(rng.normal()),
        float(rng.normal()),
    ]
    return scope["f"], arguments, [0, 1, 3, 4]


def fresh(arguments):
    """Copies of the arguments."""
    return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]


def differences(function, arguments, wanted, step=1e-6):
    """Central differences, and whether they are reliable: another step size agrees."""
    found = []
    for size in (step, 3.7 * step):
        row = []
        for j in wanted:
            for i in np.ndindex(np.shape(arguments[j])):
                values = []
                for e in (size, -size):
                    moved = fresh(arguments)
                    if np.ndim(arguments[j]):
                        moved[j][i] += e
                    else:
                        moved[j] += e
                    values.append(function(*moved))
                row.append((values[0] - values[1]) / (2 * size))
        found.append(np.array(row))
    scale = 1.0 + np.abs(found[0]).max()
    return found[0], bool(np.abs(found[0] - found[1]).max() < 2e-5 * scale)
