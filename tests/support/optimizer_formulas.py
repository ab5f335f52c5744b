"""Optimizers and schedules in NumPy, as in their papers and Keras's documentation."""

import math

import numpy as np

# Arguments and their defaults in Keras.
DEFAULTS = {
    "SGD": {"learning_rate": 0.01, "momentum": 0.0, "nesterov": False},
    "RMSprop": {"rho": 0.9, "momentum": 0.0, "epsilon": 1e-7, "centered": False},
    "Adam": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7, "amsgrad": False},
    "AdamW": {
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-7,
        "amsgrad": False,
        "weight_decay": 0.004,
    },
    "Adamax": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "Nadam": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "Adagrad": {"initial_accumulator_value": 0.1, "epsilon": 1e-7},
    "Adadelta": {"rho": 0.95, "epsilon": 1e-7},
    "Ftrl": {
        "learning_rate_power": -0.5,
        "initial_accumulator_value": 0.1,
        "l1_regularization_strength": 0.0,
        "l2_regularization_strength": 0.0,
        "l2_shrinkage_regularization_strength": 0.0,
        "beta": 0.0,
    },
    "Lion": {"beta_1": 0.9, "beta_2": 0.99},
    "Adafactor": {
        "beta_2_decay": -0.8,
        "epsilon_1": 1e-30,
        "epsilon_2": 1e-3,
        "clip_threshold": 1.0,
        "relative_step": True,
    },
    "Lamb": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "ScheduleFreeAdamW": {
        "learning_rate": 0.0025,
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-8,
        "warmup_steps": 0,
    },
    "Muon": {
        "adam_beta_1": 0.9,
        "adam_beta_2": 0.999,
        "adam_weight_decay": 0.004,
        "epsilon": 1e-7,
        "weight_decay": 0.004,
        "exclude_layers": [],
        "exclude_embeddings": True,
        "muon_a": 3.4445,
        "muon_b": -4.7750,
        "muon_c": 2.0315,
        "adam_lr_ratio": 1,
        "momentum": 0.95,
        "ns_steps": 5,
        "nesterov": True,
        "rms_rate": 0.2,
    },
}
BASE = {
    "learning_rate": 0.001,
    "weight_decay": None,
    "clipnorm": None,
    "clipvalue": None,
    "global_clipnorm": None,
    "use_ema": False,
    "ema_momentum": 0.99,
    "ema_overwrite_frequency": None,
    "loss_scale_factor": None,
    "gradient_accumulation_steps": None,
}


def sgd(v, g, s, t, lr, o):
    s["m"] = o["momentum"] * s.get("m", 0.0) - lr * g
    return v + (o["momentum"] * s["m"] - lr * g if o["nesterov"] and o["momentum"] else s["m"])


def rmsprop(v, g, s, t, lr, o):
    s["s"] = o["rho"] * s.get("s", 0.0) + (1 - o["rho"]) * g**2
    s["g"] = o["rho"] * s.get("g", 0.0) + (1 - o["rho"]) * g
    below = s["s"] - s["g"] ** 2 if o["centered"] else s["s"]
    s["m"] = o["momentum"] * s.get("m", 0.0) + lr * g / np.sqrt(below + o["epsilon"])
    return v - s["m"]


def means(g, s, o):
    s["m"] = o["beta_1"] * s.get("m", 0.0) + (1 - o["beta_1"]) * g
    s["s"] = o["beta_2"] * s.get("s", 0.0) + (1 - o["beta_2"]) * g**2


def adam(v, g, s, t, lr, o):
    means(g, s, o)
    s["hat"] = np.maximum(s.get("hat", 0.0), s["s"]) if o["amsgrad"] else s["s"]
    rate = lr * math.sqrt(1 - o["beta_2"] ** t) / (1 - o["beta_1"] ** t)
    return v - rate * s["m"] / (np.sqrt(s["hat"]) + o["epsilon"])


def adamax(v, g, s, t, lr, o):
    u = np.maximum(o["beta_2"] * s.get("u", 0.0), abs(g))
    means(g, s, o)
    s["u"] = u
    return v - lr / (1 - o["beta_1"] ** t) * s["m"] / (u + o["epsilon"])


def nadam(v, g, s, t, lr, o):
    means(g, s, o)

    def u(t):
        return o["beta_1"] * (1 - 0.5 * 0.96**t)

    s["product"] = s.get("product", 1.0) * u(t)
    m = u(t + 1) * s["m"] / (1 - s["product"] * u(t + 1)) + (1 - u(t)) * g / (1 - s["product"])
    return v - lr * m / (np.sqrt(s["s"] / (1 - o["beta_2"] ** t)) + o["epsilon"])


def adagrad(v, g, s, t, lr, o):
    s["s"] = s.get("s", o["initial_accumulator_value"]) + g**2
    return v - lr * g / np.sqrt(s["s"] + o["epsilon"])


def adadelta(v, g, s, t, lr, o):
    s["s"] = o["rho"] * s.get("s", 0.0) + (1 - o["rho"]) * g**2
    x = np.sqrt(s.get("d", 0.0) + o["epsilon"]) / np.sqrt(s["s"] + o["epsilon"]) * g
    s["d"] = o["rho"] * s.get("d", 0.0) + (1 - o["rho"]) * x**2
    return v - lr * x


def ftrl(v, g, s, t, lr, o):
    old, power = s.get("n", o["initial_accumulator_value"]), -o["learning_rate_power"]
    s["n"] = old + g**2
    used = g + 2 * o["l2_shrinkage_regularization_strength"] * v
    s["z"] = s.get("z", 0.0) + used - (s["n"] ** power - old**power) / lr * v
    l1, l2 = o["l1_regularization_strength"], o["l2_regularization_strength"]
    pulled = (s["n"] ** power + o["beta"]) / lr + 2 * l2
    return np.where(abs(s["z"]) < l1, 0.0, (np.sign(s["z"]) * l1 - s["z"]) / pulled)


def lion(v, g, s, t, lr, o):
    m = s.get("m", 0.0)
    s["m"] = o["beta_2"] * m + (1 - o["beta_2"]) * g
    return v - lr * np.sign(o["beta_1"] * m + (1 - o["beta_1"]) * g)


def adafactor(v, g, s, t, lr, o):
    rate, stays = min(lr, 1 / math.sqrt(t)), 1 - t ** o["beta_2_decay"]
    squares = g**2 + o["epsilon_1"]
    if g.ndim < 2:
        s["v"] = stays * s.get("v", 0.0) + (1 - stays) * squares
    else:
        s["r"] = stays * s.get("r", 0.0) + (1 - stays) * squares.mean(-1, keepdims=True)
        s["c"] = stays * s.get("c", 0.0) + (1 - stays) * squares.mean(-2, keepdims=True)
        s["v"] = s["r"] / s["r"].mean(-2, keepdims=True) * s["c"]
    step = g / np.sqrt(s["v"])
    step = step / max(1.0, math.sqrt((step**2).mean()) / o["clip_threshold"])
    return v - max(o["epsilon_2"], math.sqrt((v**2).mean())) * rate * step


def lamb(v, g, s, t, lr, o):
    step = adam(np.zeros_like(v), g, s, t, -1.0, {**o, "epsilon": 0.0, "amsgrad": False})
    root = np.sqrt(s["s"] / (1 - o["beta_2"] ** t))
    step = step * root / (root + o["epsilon"])
    return v - lr * np.linalg.norm(v) / np.linalg.norm(step) * step


def schedule_free(v, g, s, t, lr, o):
    s.setdefault("z", v)
    s.setdefault("steps", [])
    s["s"] = o["beta_2"] * s.get("s", 0.0) + (1 - o["beta_2"]) * g**2
    lr = lr * min(1.0, t / o["warmup_steps"]) if o["warmup_steps"] else lr
    s["z"] = s["z"] - lr * g / (np.sqrt(s["s"] / (1 - o["beta_2"] ** t)) + o["epsilon"])
    s["steps"].append(s["z"])
    return (1 - o["beta_1"]) * s["z"] + o["beta_1"] * np.mean(s["steps"], 0)


def muon(v, g, s, t, lr, o):
    if v.ndim != 2:
        rest = {"beta_1": o["adam_beta_1"], "beta_2": o["adam_beta_2"], "amsgrad": False}
        return adam(v, g, s, t, lr * o["adam_lr_ratio"], {**o, **rest})
    s["m"] = o["momentum"] * s.get("m", 0.0) + g
    left, values, right = np.linalg.svd(
        g + o["momentum"] * s["m"] if o["nesterov"] else s["m"], full_matrices=False
    )
    values = values / (np.linalg.norm(values) + 1e-7)
    for _ in range(o["ns_steps"]):
        values = o["muon_a"] * values + o["muon_b"] * values**3 + o["muon_c"] * values**5
    scale = 1.0 if o["rms_rate"] is None else o["rms_rate"] * math.sqrt(max(v.shape))
    return v - lr * scale * (left * values) @ right


FORMULAS = {
    "Lamb": lamb,
    "ScheduleFreeAdamW": schedule_free,
    "Muon": muon,
    "SGD": sgd,
    "RMSprop": rmsprop,
    "Adam": adam,
    "AdamW": adam,
    "Adamax": adamax,
    "Nadam": nadam,
    "Adagrad": adagrad,
    "Adadelta": adadelta,
    "Ftrl": ftrl,
    "Lion": lion,
    "Adafactor": adafactor,
}


def clipped(gradients, o):
    """Clips gradients to the given norm."""
    if o["clipnorm"]:
        return [g * min(1.0, o["clipnorm"] / np.linalg.norm(g)) for g in gradients]
    if o["global_clipnorm"]:
        length = math.sqrt(sum((g**2).sum() for g in gradients))
        return [g * min(1.0, o["global_clipnorm"] / length) for g in gradients]
    if o["clipvalue"]:
        return [np.clip(g, -o["clipvalue"], o["clipvalue"]) for g in gradients]
    return gradients


def positions(name, options, start, steps, rate=None):
    """The values of variables after each step; ``rate`` maps a step to its step size."""
    o = {**BASE, **DEFAULTS[name], **options}
    every, variables = o["gradient_accumulation_steps"] or 1, [x.astype("f8") for x in start]
    states, waiting, averages = [{} for _ in variables], [], None
    for k, gradients in enumerate(steps):
        scale = o["loss_scale_factor"] or 1.0
        waiting.append([np.asarray(g, "f8") / scale for g in gradients])
        count = k // every
        if len(waiting) == every:
            lr = float(np.float32(o["learning_rate"])) if rate is None else rate(k)
            mean = clipped([sum(parts) / every for parts in zip(*waiting, strict=True)], o)
            variables = [
                FORMULAS[name](v - v * (o["weight_decay"] or 0.0) * lr, g, s, count + 1, lr, o)
                for v, g, s in zip(variables, mean, states, strict=True)
            ]
            waiting = []
        if o["use_ema"]:
            stays = o["ema_momentum"] if count else 0.0
            averages = [
                stays * a + (1 - stays) * v
                for a, v in zip(averages or variables, variables, strict=True)
            ]
            if o["ema_overwrite_frequency"] and (count + 1) % o["ema_overwrite_frequency"] == 0:
                variables = averages
        yield variables


# --- Schedules


def exponential(step, first, steps, rate, staircase=False):
    part = step / steps
    return first * rate ** (math.floor(part) if staircase else part)


def piecewise(step, boundaries, values):
    return values[sum(step > boundary for boundary in boundaries)]


def polynomial(step, first, steps, end=0.0001, power=1.0, cycle=False):
    steps, step = (
        (steps * max(1, math.ceil(step / steps)), step) if cycle else (steps, min(step, steps))
    )
    return (first - end) * (1 - step / steps) ** power + end


def inverse_time(step, first, steps, rate, staircase=False):
    part = step / steps
    return first / (1 + rate * (math.floor(part) if staircase else part))


def cosine(step, first, steps, alpha=0.0, warmup_target=None, warmup_steps=0):
    if warmup_target is not None:
        if step < warmup_steps:
            return first + (warmup_target - first) * step / warmup_steps
        first, step = warmup_target, step - warmup_steps
    return first * ((1 - alpha) * (1 + math.cos(math.pi * min(step, steps) / steps)) / 2 + alpha)


def restarts(step, first, steps, t_mul=2.0, m_mul=1.0, alpha=0.0):
    periods = 0
    while step >= steps:
        step, steps, periods = step - steps, steps * t_mul, periods + 1
    wave = m_mul**periods * (1 + math.cos(math.pi * step / steps)) / 2
    return first * ((1 - alpha) * wave + alpha)
