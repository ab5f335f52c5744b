"""What a profile listens to: functions that are replaced while it runs, and put back after.

Nothing here costs anything while no profile runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core import settings
from ..core.compile import cache
from ..core.cpu.sweeper import Sweeper
from ..core.derive import noting
from ..core.derive.noting import Noting, caller
from ..core.log.log import Log, local
from ..core.plan.plan import Planner
from ..core.replay import calls
from ..core.replay.recording import Recording
from ..core.values.weak import WeakObjectMap
from ..keras.optimizers.optimizer import Optimizer
from ..tape import GradientTape

if TYPE_CHECKING:
    from .profile import Profile

# Kinds of work, beside how ops are computed.
RECORDING, GRADIENTS, PLANNING, COMPILING, LOOKING, REPLAYING, GUARDS = (
    "recording functions",
    "gradients",
    "planning",
    "compiling",
    "looking",
    "replaying",
    "guards",
)

# Functions whose time is of a kind: who has them, their names, the kind.
TIMED: tuple[tuple[Any, str, str], ...] = (
    (Planner, "plan_for", PLANNING),
    (cache, "load", COMPILING),
    (calls, "traced", RECORDING),
    (Recording, "_failed", GUARDS),
    (Recording, "_failed_on", GUARDS),
    (GradientTape, "gradient", GRADIENTS),
    (GradientTape, "jacobian", GRADIENTS),
    (GradientTape, "batch_jacobian", GRADIENTS),
)


class Hooks:
    """The functions that are replaced, and those that were there."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.before: list[tuple[Any, str, Any]] = []
        self.noted = settings.traceback
        self.trees: WeakObjectMap[bool] = WeakObjectMap()  # those whose guards are timed

    def enter(self) -> None:
        """Listen."""
        for owner, name, how in TIMED:
            self._put(owner, name, self._timed(getattr(owner, name), how))
        self._put(Sweeper, "run", self._sweep(Sweeper.run))
        for name in ("evaluate", "evaluate_on_device"):
            self._put(Log, name, self._look(getattr(Log, name)))
        self._put(calls.Calls, "__call__", self._call(calls.Calls.__call__))
        self._put(GradientTape, "__init__", self._tape(GradientTape.__init__))
        self._put(GradientTape, "gradient", self._asked(GradientTape.gradient))
        self._put(Optimizer, "apply_gradients", self._stepped(Optimizer.apply_gradients))
        noting.enable(traceback=True)
        self._put(Noting, "heard", staticmethod(self._heard))

    def leave(self) -> None:
        """Have everything as it was before."""
        while self.before:
            owner, name, value = self.before.pop()
            setattr(owner, name, value)
        for tree, _ in self.trees:
            tree.holds = tree.guards.holds
        noting.enable(traceback=self.noted)

    def _put(self, owner: Any, name: str, value: Any) -> None:
        self.before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def _timed(self, function: Any, how: str) -> Any:
        clock = self.profile.clock

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if not clock.mine():
                return function(*args, **kwargs)
            with clock.during(how, "" if clock.begun else caller()):
                return function(*args, **kwargs)

        return timed

    def _heard(self, tensor: Any, line: str) -> None:
        if self.profile.clock.mine():
            self.profile.recorded(tensor, line)

    def _sweep(self, run: Any) -> Callable[[Any, Any, Any], None]:
        profile, clock = self.profile, self.profile.clock

        @functools.wraps(run)
        def sweep(sweeper: Any, log: Any, plan: Any) -> None:
            if not clock.mine():
                return run(sweeper, log, plan)  # type: ignore[no-any-return]
            with clock.aside():
                profile.computed(log, plan, sweeper.run_timed(log, plan), caller())
            return None

        return sweep

    def _look(self, look: Any) -> Any:
        profile, clock = self.profile, self.profile.clock

        @functools.wraps(look)
        def looked(log: Any, tensor: Any) -> Any:
            if not clock.mine():
                return look(log, tensor)
            line, before = caller(), profile.work
            with clock.during(LOOKING, line):
                found = look(log, tensor)
            profile.looked(line, profile.work - before)
            return found

        return looked

    def _call(self, call: Any) -> Any:
        profile, clock = self.profile, self.profile.clock

        @functools.wraps(call)
        def called(calls: Any, leaves: Any) -> Any:
            if not clock.mine():
                return call(calls, leaves)
            for tree in calls.trees:
                if tree not in self.trees:
                    self.trees.put(tree, True)
                    tree.holds = self._timed(tree.guards.holds, GUARDS)
            before = calls.budget.made
            try:
                with clock.during(REPLAYING, caller()):
                    return call(calls, leaves)
            finally:
                with clock.aside():
                    profile.called(calls, leaves, calls.budget.made - before)

        return called

    def _tape(self, make: Any) -> Any:
        profile = self.profile

        @functools.wraps(make)
        def made(tape: Any, *args: Any, **kwargs: Any) -> None:
            make(tape, *args, **kwargs)
            if tape._persistent and profile.clock.mine():
                profile.persists(tape, caller())

        return made

    def _asked(self, gradient: Any) -> Any:
        profile = self.profile

        @functools.wraps(gradient)
        def asked(tape: Any, *args: Any, **kwargs: Any) -> Any:
            if profile.clock.mine():
                profile.asked(tape)
            return gradient(tape, *args, **kwargs)

        return asked

    def _stepped(self, apply: Any) -> Any:
        profile = self.profile

        @functools.wraps(apply)
        def stepped(*args: Any, **kwargs: Any) -> Any:
            if profile.clock.mine() and not local.log.nested:
                profile.stepped(caller())
            return apply(*args, **kwargs)

        return stepped
