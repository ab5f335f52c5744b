"""How a step is computed: gradients are clipped, and variables and their means get new values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...core.log.tensors import as_tensor
from ...core.log.variable import Variable, assign_all, original
from ...core.ops.arithmetic import floormod
from ...core.ops.clipping import clip_by_global_norm, clip_by_norm
from ...core.ops.comparison import equal, not_equal
from ...core.ops.creation import zeros
from ...core.ops.elementwise import cast, clip_by_value, select
from ...core.values.dtypes import DType
from ...core.values.indexed_slices import IndexedSlices
from ...core.values.tensor import Tensor
from ...errors import InvalidArgumentError
from .state import State

Operand = Variable | Tensor


class Changes:
    """New values of variables, which are assigned at once."""

    def __init__(self) -> None:
        self.new: dict[int, tuple[Variable, Tensor]] = {}

    def __getitem__(self, variable: Variable) -> Operand:
        result = self.new.get(id(variable))
        return variable if result is None else result[1]

    def __setitem__(self, variable: Variable, value: Tensor) -> None:
        self.new[id(variable)] = variable, value

    def __contains__(self, variable: Variable) -> bool:
        return id(variable) in self.new

    def only_if(self, condition: Tensor) -> None:
        """Keep old values if the condition does not hold."""
        for variable, value in self.new.values():
            self[variable] = select(condition, value, variable)

    def assign(self) -> None:
        """Assign all of them, or, if anything goes wrong, none."""
        if self.new:
            assign_all(*zip(*self.new.values(), strict=True))


class Stepping(State):
    """Base of optimizers: a step of gradients and variables that fit."""

    weight_decay: float | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    _nt_without_decay: list[Variable]
    _nt_names_without_decay: list[str]

    def _nt_steps_by_itself(self) -> bool:
        """Whether a step is computed by `_update`, not by an `update_step` of a subclass."""
        return type(self).update_step is Stepping.update_step

    def _nt_apply(self, pairs: list[tuple[Any, Variable]]) -> None:
        """A step of gradients and variables that fit."""
        changes = Changes()
        variables = [variable for _, variable in pairs]
        alone = self._nt_steps_by_itself()
        due = None
        if self.gradient_accumulation_steps:
            due = equal(floormod(self._nt_iterations + 1, self.gradient_accumulation_steps), 0)
        gradients = self._nt_clipped(self._nt_accumulated(pairs, changes))
        rate = self._nt_rate() if alone else as_tensor(self._nt_rate())
        rates: dict[DType, Operand] = {}
        for variable in variables:
            dtype = variable._spec.dtype
            if dtype not in rates:
                rates[dtype] = rate if rate._spec.dtype is dtype else cast(rate, dtype)
        steps = Changes()
        idle = not alone and due is not None and not due  # nothing but gradients is added up
        if self.weight_decay is not None and not idle:
            for variable in filter(self._nt_decays, variables):
                x = steps[variable]
                steps[variable] = x - x * self.weight_decay * rates[variable.dtype]
        if alone:
            shared = {dtype: self._nt_shared(own, steps) for dtype, own in rates.items()}
            self._nt_change(gradients, variables, shared, steps)
            if due is not None:
                steps.only_if(due)
        elif not idle:
            if self.weight_decay is not None:
                steps.assign()
                steps = Changes()
            for gradient, variable in zip(gradients, variables, strict=True):
                self.update_step(gradient, variable, rates[variable.dtype])
        for accumulator in self._nt_accumulators:
            if due is not None:
                nothing = zeros(accumulator.shape, accumulator.dtype)
                changes[accumulator] = select(due, nothing, changes[accumulator])
        if self._nt_averages:
            self._nt_average(steps)
        for variable in variables:
            constraint = variable._policy[0]
            if constraint is not None:
                steps[variable] = as_tensor(constraint(steps[variable]), variable._spec)
        count = self._nt_iterations
        changes.new[id(count)] = count, count + 1
        changes.new.update(steps.new)
        changes.assign()

    def _nt_accumulated(
        self, pairs: list[tuple[Any, Variable]], changes: Changes
    ) -> list[Tensor | IndexedSlices]:
        """Gradients of their variables' shapes and dtypes, or their means over several calls."""
        results: list[Tensor | IndexedSlices] = []
        for gradient, variable in pairs:
            if isinstance(gradient, IndexedSlices) and self._nt_takes_slices(variable):
                results.append(gradient)
                continue
            if type(gradient) is not Tensor or gradient._spec is not variable._spec:
                gradient = dense(gradient, variable)
            if self.loss_scale_factor is not None:
                gradient = gradient / self.loss_scale_factor
            if self._nt_accumulators:
                own = self._nt_accumulators[self._get_variable_index(variable)]
                total = changes[own] + gradient
                changes[own] = total
                gradient = total / float(self.gradient_accumulation_steps or 1)
            results.append(gradient)
        return results

    def _nt_takes_slices(self, variable: Variable) -> bool:
        """Whether a step takes IndexedSlices as they are."""
        return False

    def _nt_clipped(self, gradients: list[Any]) -> list[Any]:
        """Gradients that are not longer than wanted."""
        if self.clipnorm and self.clipnorm > 0:
            return [clip_by_norm(g, self.clipnorm) for g in gradients]
        if self.global_clipnorm and self.global_clipnorm > 0:
            return clip_by_global_norm(gradients, self.global_clipnorm)[0]
        if self.clipvalue and self.clipvalue > 0:
            return [clip_by_value(g, -self.clipvalue, self.clipvalue) for g in gradients]
        return gradients

    def _nt_change(
        self,
        gradients: Sequence[Any],
        variables: Sequence[Variable],
        shared: dict[DType, Any],
        changes: Changes,
    ) -> None:
        """The steps of variables; what those of a dtype have in common is in ``shared``."""
        new = changes.new
        for gradient, variable in zip(gradients, variables, strict=True):
            slots = self._nt_slots[self._nt_index[id(variable)]]
            current: Operand = variable
            own: Sequence[Operand] = slots
            if id(variable) in new:  # it was decayed, or comes twice
                current, own = changes[variable], [changes[slot] for slot in slots]
            value, values = self._nt_update(current, gradient, shared[variable._spec.dtype], own)
            new[id(variable)] = variable, value
            if slots or values:
                for slot, value in zip(slots, values, strict=True):
                    new[id(slot)] = slot, value

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        """What all variables of the step size's dtype have in common in this step."""
        return rate

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """The variable's new value, and its slots'."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method `update_step(gradient, variable, learning_rate)`."
        )

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Change a variable, and the optimizer's own for it: to be overridden.

        Args:
          gradient: A tensor of the variable's shape and dtype.
          variable: The variable.
          learning_rate: The step size, a scalar of this dtype.

        Raises:
          NotImplementedError: If it is not overridden.
        """
        variable = original(variable)
        changes = Changes()
        dtype = variable._spec.dtype
        shared = {dtype: self._nt_shared(cast(learning_rate, dtype), changes)}
        self._nt_change([dense(gradient, variable)], [variable], shared, changes)
        changes.assign()

    def assign(self, variable: Variable, value: Any) -> None:
        """Give a variable a value, in an `update_step`.

        Args:
          variable: A variable to train, or one of the optimizer's own.
          value: A tensor of its shape and dtype.
        """
        variable.assign(value)

    def assign_add(self, variable: Variable, value: Any) -> None:
        """Add to a variable, in an `update_step`.

        Args:
          variable: A variable to train, or one of the optimizer's own.
          value: A tensor of its shape and dtype.
        """
        variable.assign_add(value)

    def assign_sub(self, variable: Variable, value: Any) -> None:
        """Subtract from a variable, in an `update_step`.

        Args:
          variable: A variable to train, or one of the optimizer's own.
          value: A tensor of its shape and dtype.
        """
        variable.assign_sub(value)

    def _nt_decays(self, variable: Variable) -> bool:
        """Whether steps take away some of this variable."""
        if any(v is variable for v in self._nt_without_decay):
            return False
        return not any(re.search(name, variable.name) for name in self._nt_names_without_decay)

    def _nt_average(self, changes: Changes) -> None:
        """Running means of all variables, and what becomes of the variables."""
        count = self._nt_count()
        retained: dict[DType, Tensor] = {}
        for variable, average in zip(self._nt_trained, self._nt_averages, strict=False):
            is_kept = retained.get(variable.dtype)
            if is_kept is None:  # nothing, in the first step
                is_kept = cast(not_equal(count, 0), variable.dtype) * self.ema_momentum
                retained[variable.dtype] = is_kept
            changes[average] = is_kept * average + (1.0 - is_kept) * changes[variable]
        if self._nt_averages and self.ema_overwrite_frequency:
            due = equal(floormod(count + 1, self.ema_overwrite_frequency), 0)
            for variable, average in zip(self._nt_trained, self._nt_averages, strict=True):
                changes[variable] = select(due, changes[average], changes[variable])


def dense(gradient: Any, variable: Operand) -> Tensor:
    """A gradient as a tensor of its variable's shape and dtype."""
    spec = variable._spec
    if type(gradient) is Tensor and gradient._spec is spec:
        return gradient
    if isinstance(gradient, IndexedSlices):
        gradient = IndexedSlices(gradient.values, gradient.indices, tuple(spec.shape))
    gradient = as_tensor(gradient)
    if gradient.shape != spec.shape:
        name = variable.name if isinstance(variable, Variable) else ""
        raise InvalidArgumentError(
            f"A gradient of shape {gradient.shape} for variable {name!r} of shape "
            f"{variable.shape}: shapes must be equal."
        )
    return cast(gradient, spec.dtype)
