"""`function`: record a Python function once, replay it at every call."""

from __future__ import annotations

import copy
import functools
import logging
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from ..core import settings
from ..core.log.log import local
from ..core.replay.arguments import VALUE_KEYS, ArgumentCopies, Arguments, TensorSlot
from ..core.replay.owner_map import OwnerMap
from ..core.values.tensor import Tensor
from ..core.values.weakrefs import WeakObjectMap
from ..tensor_spec import TensorSpec, check_signature
from .concrete_function import ConcreteFunction
from .pickling import reduce_function, stand_in
from .signature import PLAIN, Method, Parameters, weakly_bound

P = ParamSpec("P")
R = TypeVar("R")
OFTEN = 8  # calls after which machine code may carry out those that follow
TRACINGS, CALLS = 5, 10  # so many recordings within so many calls are worth a warning
MOST_WARNINGS = 2  # of a function
MOST = 2048  # signatures that are remembered: more than a function may have recordings


# For type checkers: what is decorated keeps its parameters and its result.
@overload
def function(
    func: Callable[P, R],
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: object = None,
    experimental_compile: object = None,
    experimental_follow_type_hints: object = None,
    freeze: bool = False,
) -> Recorded[P, R]: ...
@overload
def function(
    func: None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: object = None,
    experimental_compile: object = None,
    experimental_follow_type_hints: object = None,
    freeze: bool = False,
) -> Callable[[Callable[P, R]], Recorded[P, R]]: ...


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: object = None,
    experimental_compile: object = None,
    experimental_follow_type_hints: object = None,
    freeze: bool = False,
) -> Any:
    """Record a function when it is called, and replay the recording in later calls.

    The first call with arguments of given shapes and dtypes runs as Python, and its operations are
    recorded, including gradients, optimizer steps, assignments and random draws. Later calls run no
    Python code: they compute the same operations from the new inputs.

    A replay has the same results, gradients, assignments and random draws as running the function
    as Python. Where the function reads a tensor's value (``if x > 0``, ``float(x)``,
    ``x.numpy()``), the recording has a guard. Every read of Python state during recording is
    observed: names, attributes, items, lengths, iterations. Before each replay they are compared.
    If one differs, another recording is replayed, or the function runs as Python and is recorded.
    NumPy arrays that it reads are inputs: a replay uses their current contents. Other effects of
    Python code (printing, logging, appending to a list, setting an attribute that the function
    does not read) happen only during recording, and `paths` lists them. A recorded call gets
    copies of lists and dicts among the arguments. If it changes them, the change is applied to the
    caller's objects, and the function runs as plain Python from then on.

    In some cases a function runs as plain Python, and logs the reason and its line once:

    - it calls C code whose result may change (time, files, Python's and NumPy's random numbers),
    - it reads state that it changes, deletes objects, or starts threads,
    - it advances an iterator from outside (except those of `tf.data`, which are inputs),
    - it creates objects whose end is observable (by a ``__del__`` or a weak reference),
    - it keeps tensors or tapes that it does not return,
    - it has been recorded 64 times for one signature, or 1024 times in total.

    A call assigns all variables, or, if it raises or is interrupted, none.

    Args:
      func: The function; None to return a decorator.
      input_signature: A `TensorSpec` for each argument. Arguments are converted to tensors; one
        that does not match raises a TypeError.
      autograph: Ignored: any Python code can be recorded.
      jit_compile: Whether to compile a recording immediately, instead of after frequent use.
      reduce_retracing: Ignored.
      experimental_implements: Ignored.
      experimental_autograph_options: Ignored.
      experimental_attributes: Ignored.
      experimental_relax_shapes: Ignored.
      experimental_compile: The old name of ``jit_compile``.
      experimental_follow_type_hints: Ignored.
      freeze: Whether to behave like TensorFlow: Python state keeps its value from the recording,
        and is not compared. The state that was read is logged once.

    Returns:
      A `Function`; without ``func``, a decorator that returns one.

    Raises:
      TypeError: If ``func`` is not callable, or ``input_signature`` is not a sequence of
        `TensorSpec`; at a call, if the arguments do not match. A call raises the function's errors.

    Example:
      >>> @tf.function
      ... def power(x, n):
      ...     return x if n == 1 else x * power(x, n - 1)
      >>> power(tf.constant(2.0), 3)
      <tf.Tensor: shape=(), dtype=float32, numpy=8.0>
    """
    is_jit_compiled = bool(experimental_compile if jit_compile is None else jit_compile)

    def decorate(python_function: Callable[..., Any]) -> Function:
        return Function(python_function, input_signature, is_jit_compiled, freeze=freeze)

    return decorate if func is None else decorate(func)


class RecentSignatures:
    """The last signatures that calls of a function's code had first.

    Attributes:
      calls: Weak references to the `Dispatcher` of each.
      warnings: The number of warnings so far.
    """

    def __init__(self) -> None:
        self.calls: deque[weakref.ref[Any]] = deque(maxlen=TRACINGS)
        self.warnings = 0


# By the code of a function, or by the function of an object's method.
_signatures: WeakObjectMap[RecentSignatures] = WeakObjectMap()


class Function:
    """The result of `function`: call it like the Python function.

    Attributes:
      python_function: The function itself.
      input_signature: A tuple of specs, or None.
      name: The function's name.

    Example:
      >>> double = tf.function(lambda x: 2.0 * x)
      >>> double(tf.constant(3.0)).numpy(), double.python_function(3.0)
      (np.float32(6.0), 6.0)
    """

    # _repeated_call lets machine code carry out a call like the last ones, or is None.
    __slots__ = ("__dict__", "__weakref__", "_repeated_call")

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Sequence[Any] | None = None,
        jit_compile: bool = False,
        instance: Callable[[], Any] | None = None,
        freeze: bool = False,
    ) -> None:
        from ..core.cpython.frames import unsupported_reason
        from ..core.replay.guard_tree import RecordingLimit

        if not callable(python_function):
            raise TypeError(f"{python_function!r} is not a callable object.")
        if input_signature is not None:
            check_signature(input_signature)
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self.name = getattr(python_function, "__name__", type(python_function).__name__)
        self._jit_compile = jit_compile
        self._freeze = freeze
        # Why nothing is recorded, if relevant reads of Python's state cannot be observed.
        reason = "" if freeze else unsupported_reason()
        self._unobserved = reason and f"what it reads cannot be observed: {reason}"
        self._is_bound = instance is not None
        self._training: bool | None = None  # the `training` argument of the calling layer
        self._trained: dict[bool, Function] = {}  # variants for each value of `_training`
        self._attribute = ""  # its name in a class, set by `__set_name__`
        self._call: Any = python_function
        self._repeated_call: tuple[Any, ...] | None = None
        self._known: dict[Any, Any] = {}  # calls by their arguments' specs and values
        self._plain: dict[Any, Any] = {}  # calls with only tensors, by their specs
        # The concrete functions in use, by signature.
        self._concrete: dict[Any, weakref.ref[ConcreteFunction]] = {}
        self._limit = RecordingLimit()
        self._methods: OwnerMap[Function] = OwnerMap()  # the function of each object of a class
        self._method_table = self._methods.table
        bound_function = (
            python_function if instance is None else python_function.__get__(instance())
        )
        self._parameters = Parameters(bound_function, self.input_signature)
        functools.update_wrapper(self, python_function, updated=())
        if instance is not None:
            self._call = weakly_bound(python_function, instance)
            self.__signature__ = self._parameters.signature  # without the object

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the object's own function as a method; it lives as long as the object."""
        try:
            reference, function = self._method_table[id(instance)]
            if reference() is instance:
                method = Method(function)
                method.__self__ = instance
                return method
        except KeyError:
            pass
        if instance is None or not hasattr(self.python_function, "__get__"):
            return self
        method = Method(self._methods.get(instance, self._bound_to))
        method.__self__ = instance
        return method

    def _bound_to(self, instance: Callable[[], Any]) -> Function:
        """Create the function of an object, to which it refers weakly."""
        from ..core.replay.guard_tree import RecordingLimit

        bound_function = Function(
            self.python_function, self.input_signature, self._jit_compile, instance, self._freeze
        )
        bound_function._attribute = self._name_in(type(instance()))
        bound_function._limit = RecordingLimit(self._limit.accesses)
        return bound_function

    def _name_in(self, owner: type) -> str:
        """Return the name of the class attribute, which may have been set after the class body."""
        if not self._attribute:
            for kind in owner.__mro__:
                for name, value in vars(kind).items():
                    if value is self:
                        self._attribute = name
                        return name
        return self._attribute

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Replay the function, or run and record it."""
        log = local.log
        if log.nested or settings.eager:
            # Call it in this frame: recursive functions may be deep.
            with self._inside(args, kwargs) as (args, kwargs, convert):
                return convert(self._call(*args, **kwargs))
        if local.training is not self._training:
            return self._variant_for(bool(local.training))(*args, **kwargs)
        specs: tuple[Any, ...] = ()
        if not kwargs:  # the most common case: only tensors
            specs = tuple([x._spec for x in args if type(x) is Tensor])
            if len(specs) == len(args) and specs in self._plain:
                calls, defaults, is_ambiguous = self._plain[specs]
                if (defaults is None or self._parameters.defaults() is defaults) and (
                    not is_ambiguous or len(set(map(id, args))) == len(args)  # all tensors differ
                ):
                    calls.python_calls += 1
                    if not calls.python_calls % OFTEN:
                        from ..core.replay.repeated_calls import make_entry

                        self._repeated_call = make_entry(self, calls, is_ambiguous, defaults)
                    return calls(args)
        if self._unobserved:
            from ..core.replay.guard_tree import warn_unobserved

            warn_unobserved(self._unobserved)
            with self._inside(args, kwargs) as (args, kwargs, convert):
                return convert(self._call(*args, **kwargs))
        n_args = len(args)
        args, kwargs = self._parameters.complete(args, kwargs)
        leaves = Arguments(args, kwargs, self._parameters.value_defaults)
        if leaves.runs_as_python:
            with self._inside(args, kwargs) as (args, kwargs, convert):
                return convert(self._call(*args, **kwargs))
        key = tuple(leaves.key)
        calls = self._known.get(key)
        if calls is None:
            calls = self._calls(leaves.values, leaves.keyword_values)
            self._note_signature(calls)
            if self._limit.has_capacity:  # otherwise each call may have another signature
                if len(self._known) >= MOST:
                    self._forget()
                self._known[key] = calls
        if not kwargs and n_args == len(specs) == len(leaves) and self._limit.has_capacity:
            is_ambiguous = len(set(specs)) < n_args
            if n_args == len(args):
                self._plain[specs] = calls, None, is_ambiguous
            elif all(type(x) in PLAIN for x in args[n_args:]):  # defaults that cannot change
                self._plain[specs] = calls, self._parameters.defaults(), is_ambiguous
        return calls(leaves)

    def _note_signature(self, calls: Any) -> None:
        """Warn if many of the last calls had another signature, each with its own recording."""
        code = getattr(self.python_function, "__code__", None)
        owner = self if self._is_bound or code is None else code
        recent = _signatures.get(owner)
        if recent is None:
            recent = RecentSignatures()
            _signatures.put(owner, recent)
        recent.calls.append(weakref.ref(calls))
        if len(recent.calls) < TRACINGS or recent.warnings >= MOST_WARNINGS:
            return
        alive = [x for reference in recent.calls if (x := reference()) is not None]
        paths = [path for x in alive for tree in x.trees for path in tree.paths]
        replays = sum(path.hits + int(path.counts[0]) for path in paths)
        if TRACINGS + replays <= CALLS:
            recent.warnings += 1
            recent.calls.clear()
            logging.getLogger("numtape").warning(
                "%d out of the last %d calls to %r recorded the function again. Tracing is "
                "expensive: pass numbers that change as tensors, give tensors equal shapes, and "
                "create a tf.function once, outside of loops.",
                TRACINGS,
                TRACINGS + replays,
                self.name,
            )

    def _variant_for(self, training: bool) -> Function:
        """Return the variant for calls inside a layer that was called with ``training``."""
        variant = self._trained.get(training)
        if variant is None:
            variant = object.__new__(Function)
            vars(variant).update(vars(self))
            variant._known, variant._plain, variant._training = {}, {}, training
            self._trained[training] = variant
        return variant

    def _forget(self) -> None:
        """Drop signatures without recordings, whose number may grow without limit."""
        # Copy first: other threads may add entries.
        known, plain = list(self._known.items()), list(self._plain.items())
        self._known = {key: calls for key, calls in known if calls.trees}
        self._plain = {key: entry for key, entry in plain if entry[0].trees}

    @contextmanager
    def _inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
        """Prepare a call that is part of another recording, or that runs as Python."""
        from ..core.replay.tracing import convert_result, undo_on_error

        n_args, names = len(args), set(kwargs)
        args, kwargs = self._parameters.complete(args, kwargs)
        for x in (*args[n_args:], *(x for name, x in kwargs.items() if name not in names)):
            if isinstance(x, np.ndarray):  # the function gets a copy
                local.log.on_default_copied(x)
        leaves = Arguments(args, kwargs, self._parameters.value_defaults)
        with undo_on_error():
            put_args, put_kwargs, copies = self._put(
                leaves.values, leaves.keyword_values, leaves, leaves
            )
            try:
                yield put_args, put_kwargs, convert_result
            finally:
                self._give_back(copies, leaves, leaves)

    def _calls(self, values: list[Any], keyword_values: dict[str, Any]) -> Any:
        from ..core.replay.dispatch import Dispatcher

        return Dispatcher(
            self._call,
            functools.partial(_run, weakref.ref(self), values, keyword_values),
            self._limit,
            self._jit_compile,
            self._freeze,
        )

    def _run(
        self,
        values: list[Any],
        keyword_values: dict[str, Any],
        tensors: Sequence[Tensor],
        leaves: Sequence[Tensor],
    ) -> Any:
        """Call the function with tensors in the places of a call's ``leaves``."""
        args, kwargs, copies = self._put(values, keyword_values, tensors, leaves)
        try:
            return self._call(*args, **kwargs)
        finally:
            self._give_back(copies, tensors, leaves)

    def _put(
        self,
        values: list[Any],
        keyword_values: dict[str, Any],
        tensors: Sequence[Tensor],
        leaves: Sequence[Tensor],
    ) -> tuple[Sequence[Any], dict[str, Any], ArgumentCopies | None]:
        """Return the arguments with tensors inserted, and the copies of containers, if any."""
        if type(leaves) is not Arguments:  # only tensors, outside of containers
            return [*map(ArgumentCopies(tensors).rebuild, values)], keyword_values, None
        if (
            tensors is leaves and not leaves.copies_containers
        ):  # as Python, with the caller's own objects
            args = [
                leaves[x.number] if type(x) is TensorSlot else leaves.args[k]
                for k, x in enumerate(values)
            ]
            kwargs = {
                name: leaves[x.number] if type(x) is TensorSlot else leaves.kwargs[name]
                for name, x in keyword_values.items()
            }
            return args, kwargs, None
        copies = ArgumentCopies(tensors)
        args = [copies.rebuild(x) for x in values]
        kwargs = {name: copies.rebuild(x) for name, x in keyword_values.items()}
        log = local.log
        for container in copies.created_objects():
            log.on_container_created(container)
        for number, container in copies.containers.items():
            log.on_container_copied(container, leaves.containers[number])
        return args, kwargs, copies

    def _give_back(
        self, copies: ArgumentCopies | None, tensors: Sequence[Tensor], leaves: Any
    ) -> None:
        """Apply changes of copied containers to the caller's containers."""
        if copies is not None and copies.write_back(leaves):
            log: Any = local.log
            leaves.copies_containers = True  # a repeated call starts from the original contents
            if tensors is not leaves and not self._freeze:
                log.reason = log.reason or "it changes a container among its arguments"
                self._limit.reason = self._limit.reason or log.reason

    def experimental_get_tracing_count(self) -> int:
        """Return the number of recordings.

        Returns:
          An int.

        Example:
          >>> square = tf.function(lambda x: x * x)
          >>> for x in (1.0, 2.0, 3.0):
          ...     _ = square(tf.constant(x))
          >>> square.experimental_get_tracing_count()
          1
        """
        return self._limit.recording_count

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Return the function for arguments like these; a `TensorSpec` may stand for a tensor.

        Args:
          *args: The positional arguments.
          **kwargs: The keyword arguments.

        Returns:
          A `ConcreteFunction`, which accepts only arguments of these dtypes and values. As long
          as it is referenced, it is the same object for the same signature.

        Raises:
          TypeError: If the arguments do not match the function's parameters.

        Example:
          >>> add = tf.function(lambda x, y: x + y)
          >>> concrete = add.get_concrete_function(tf.TensorSpec((2,)), 1.0)
          >>> concrete(tf.constant([1.0, 2.0])).numpy()
          array([2., 3.], dtype=float32)
        """
        concrete = ConcreteFunction(self, args, kwargs)
        leaves = Arguments(
            concrete._spec_args(), concrete._spec_kwargs(), self._parameters.value_defaults
        )
        key = tuple(leaves.key)
        reference = self._concrete.get(key)
        known = None if reference is None else reference()
        if known is not None:
            return known
        in_use = {k: ref for k, ref in list(self._concrete.items()) if ref() is not None}
        self._concrete = {**in_use, key: weakref.ref(concrete)}
        return concrete

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return the signatures of the function's `ConcreteFunction` objects, as text.

        Args:
          verbose: Whether to use several lines for each.

        Returns:
          The texts of `ConcreteFunction.pretty_printed_signature`, divided by empty lines.

        Example:
          >>> square = tf.function(lambda x: x * x)
          >>> concrete = square.get_concrete_function(tf.TensorSpec([]))
          >>> print(square.pretty_printed_concrete_signatures(verbose=False))
          (x: TensorSpec(shape=(), dtype=tf.float32, name=None)) -> TensorSpec(shape=(), \
dtype=tf.float32, name=None)
        """
        concrete_functions = [reference() for reference in list(self._concrete.values())]
        return "\n\n".join(
            concrete.pretty_printed_signature(verbose)
            for concrete in concrete_functions
            if concrete is not None
        )

    def paths(self) -> Any:
        """Return the recorded paths, with their guards, numbers of replays, rows, and times.

        Returns:
          A list of paths, which prints as a table.

        Example:
          >>> relu = tf.function(lambda x: x if x > 0 else 0.0 * x)
          >>> for x in (1.0, -1.0, 2.0):
          ...     _ = relu(tf.constant(x))
          >>> [path.hits for path in relu.paths()]
          [1, 0]
        """
        from ..core.replay.report import Paths

        local.log.refuse("it asks for recordings")
        return Paths(self._known.values(), self._unobserved)

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        copy_ = Function(
            copy.deepcopy(self.python_function, memo),
            self.input_signature,
            self._jit_compile,
            freeze=self._freeze,
        )
        copy_._attribute = self._attribute
        return copy_

    def __reduce__(self) -> Any:
        options = self.input_signature, self._jit_compile, None, self._freeze
        return reduce_function(self, self.python_function, *options)

    @functools.cached_property
    def _stand_in(self) -> Any:
        return stand_in(self.python_function)

    def __repr__(self) -> str:
        return f"<numtape.function {self.name}>"


if TYPE_CHECKING:

    class Recorded(Function, Generic[P, R]):
        """A function whose parameter and result types are known."""

        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
            """Replay the function, or run and record it."""
            ...


def _run(
    function: Callable[[], Function | None],
    values: list[Any],
    named: dict[str, Any],
    tensors: Sequence[Tensor],
    leaves: Sequence[Tensor],
) -> Any:
    """Run a function. Its calls refer to it weakly, so that it is freed with its last reference."""
    called = function()
    assert called is not None, "a function that is called is alive"
    return called._run(values, named, tensors, leaves)


VALUE_KEYS[TensorSpec] = lambda x: x
VALUE_KEYS[Method] = lambda x: id(x.func)
