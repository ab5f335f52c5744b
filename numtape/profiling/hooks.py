"""`Hooks`: replaces functions of numtape by measuring ones while a profile runs.

There is no cost while no profile runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core import settings
from ..core.compile import cache
from ..core.cpu.sweeper import Sweeper
from ..core.derive import instrumentation
from ..core.derive.instrumentation import InstrumentedList, caller
from ..core.log.log import Log, local
from ..core.plan.plan import Plan, Planner
from ..core.replay import dispatch
from ..core.replay.recording import Recording
from ..core.values.weakrefs import WeakObjectMap
from ..keras.optimizers.optimizer import Optimizer
from ..tape import GradientTape
from .measurements import Measurements

if TYPE_CHECKING:
    from ..core.values.tensor import Tensor

# Kinds of work besides the kinds of kernels.
RECORDING = "recording functions"
GRADIENTS = "gradients"
PLANNING = "planning"
COMPILING = "compiling"
EVALUATIONS = "evaluations"
REPLAYING = "replaying"
GUARDS = "guards"

# Functions to time: owner, attribute, kind of work.
TIMED: tuple[tuple[Any, str, str], ...] = (
    (Planner, "plan_for", PLANNING),
    (cache, "load", COMPILING),
    (dispatch, "trace_call", RECORDING),
    (Recording, "_first_failed_guard", GUARDS),
    (Recording, "_first_failed_row", GUARDS),
    (GradientTape, "gradient", GRADIENTS),
    (GradientTape, "jacobian", GRADIENTS),
    (GradientTape, "batch_jacobian", GRADIENTS),
)


class Hooks:
    """Installs and removes the measuring functions."""

    def __init__(self, measurements: Measurements) -> None:
        self.measurements = measurements
        self.before: list[tuple[Any, str, Any]] = []
        self.record_op = settings.traceback
        self.trees: WeakObjectMap[bool] = WeakObjectMap()  # guard trees that are timed

    def enter(self) -> None:
        """Install the hooks."""
        for owner, name, kind in TIMED:
            self._put(owner, name, self._time_calls(getattr(owner, name), kind))
        self._put(Sweeper, "run", self._sweep(Sweeper.run))
        for name in ("evaluate", "evaluate_on_device"):
            self._put(Log, name, self._time_evaluation(getattr(Log, name)))
        self._put(dispatch.Dispatcher, "__call__", self._call(dispatch.Dispatcher.__call__))
        self._put(GradientTape, "__init__", self._tape(GradientTape.__init__))
        self._put(GradientTape, "gradient", self._watch_gradient(GradientTape.gradient))
        self._put(Optimizer, "apply_gradients", self._watch_step(Optimizer.apply_gradients))
        instrumentation.configure(traceback=True)
        self._put(InstrumentedList, "listener", staticmethod(self._heard))

    def leave(self) -> None:
        """Restore the original functions."""
        while self.before:
            owner, name, value = self.before.pop()
            setattr(owner, name, value)
        for tree, _ in self.trees:
            tree.holds = tree.guards.holds
        instrumentation.configure(traceback=self.record_op)

    def _put(self, owner: object, name: str, value: object) -> None:
        self.before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def _time_calls(self, function: Callable[..., Any], kind: str) -> Any:
        clock = self.measurements.clock

        @functools.wraps(function)
        def time(*args: Any, **kwargs: Any) -> Any:
            if not clock.is_own_thread():
                return function(*args, **kwargs)
            with clock.during(kind, "" if clock.open_blocks else caller()):
                return function(*args, **kwargs)

        return time

    def _heard(self, tensor: Tensor, line: str) -> None:
        if self.measurements.clock.is_own_thread():
            self.measurements.record_row(tensor, line)

    def _sweep(self, run: Callable[..., Any]) -> Callable[[Any, Any, Any], None]:
        measurements, clock = self.measurements, self.measurements.clock

        @functools.wraps(run)
        def sweep(sweeper: Any, log: Log, plan: Plan) -> None:
            if not clock.is_own_thread():
                return run(sweeper, log, plan)  # type: ignore[no-any-return]
            with clock.aside():
                measurements.record_plan(log, plan, sweeper.run_timed(log, plan), caller())
            return None

        return sweep

    def _time_evaluation(self, evaluate: Callable[..., Any]) -> Any:
        measurements, clock = self.measurements, self.measurements.clock

        @functools.wraps(evaluate)
        def timed_evaluation(log: Log, tensor: Tensor) -> Any:
            if not clock.is_own_thread():
                return evaluate(log, tensor)
            line, work_before = caller(), measurements.work
            with clock.during(EVALUATIONS, line):
                value = evaluate(log, tensor)
            measurements.record_evaluation(line, measurements.work - work_before)
            return value

        return timed_evaluation

    def _call(self, call: Callable[..., Any]) -> Any:
        measurements, clock = self.measurements, self.measurements.clock

        @functools.wraps(call)
        def call_cell(calls: Any, leaves: Any) -> Any:
            if not clock.is_own_thread():
                return call(calls, leaves)
            for tree in calls.trees:
                if tree not in self.trees:
                    self.trees.put(tree, True)
                    tree.holds = self._time_calls(tree.guards.holds, GUARDS)
            count_before = calls.limit.recording_count
            try:
                with clock.during(REPLAYING, caller()):
                    return call(calls, leaves)
            finally:
                with clock.aside():
                    measurements.record_call(
                        calls, leaves, calls.limit.recording_count - count_before
                    )

        return call_cell

    def _tape(self, make: Callable[..., Any]) -> Any:
        measurements = self.measurements

        @functools.wraps(make)
        def make_tape(tape: GradientTape, *args: Any, **kwargs: Any) -> None:
            make(tape, *args, **kwargs)
            if tape._persistent and measurements.clock.is_own_thread():
                measurements.record_persistent_tape(tape, caller())

        return make_tape

    def _watch_gradient(self, gradient: Callable[..., Any]) -> Any:
        measurements = self.measurements

        @functools.wraps(gradient)
        def request(tape: GradientTape, *args: Any, **kwargs: Any) -> Any:
            if measurements.clock.is_own_thread():
                measurements.record_gradient(tape)
            return gradient(tape, *args, **kwargs)

        return request

    def _watch_step(self, apply: Callable[..., Any]) -> Any:
        measurements = self.measurements

        @functools.wraps(apply)
        def step(*args: Any, **kwargs: Any) -> Any:
            if measurements.clock.is_own_thread() and not local.log.nested:
                measurements.record_step(caller())
            return apply(*args, **kwargs)

        return step
