"""The base of layers: modules that make their variables on the first call."""

from __future__ import annotations

from typing import Any

from ..compat.missing_methods import tell
from ..compat.traceback_filter import warn
from ..core.log import ambient
from ..core.log.ambient import mask_of, set_mask
from ..core.log.log import local
from ..core.log.parameters import MethodSignature, signature_of
from ..core.log.tensors import as_tensor
from ..core.log.variable import Variable
from ..core.ops.arithmetic import divide_no_nan
from ..core.ops.elementwise import cast
from ..core.values.habits import hint_missing_attributes
from ..core.values.tensor import Tensor
from ..errors import OpError
from ..nest import flatten, map_structure
from . import regularizers
from .call_arguments import is_tensor, shapes_for, tensors_in
from .habits import LAYER
from .input_spec import assert_input_compatibility
from .layer_losses import LayerLosses
from .layer_path import mark_built
from .layer_variable import LayerVariable as LayerVariable
from .located import add_location
from .symbolic import KerasTensor, Node, infer, is_symbolic, pass_masks, symbols_of

_TRAINING = frozenset({"training"})


def _training(signature: MethodSignature, requested: Any, kwargs: dict[str, Any]) -> Any:
    """Whether a call trains, which goes to ``call`` if it has a parameter for it."""
    training = local.training if requested is None else requested
    if training is None:
        training = signature.defaults.get("training")
    if "training" in signature.all and (
        training is not None or "training" not in signature.defaults
    ):
        kwargs["training"] = False if training is None else training
    elif requested is not None and signature.takes_any_keyword:
        kwargs["training"] = training
    return training


class Layer(LayerLosses):
    """Base class of layers: override ``build(input_shape)`` and ``call(inputs)``.

    The first call makes the variables, when the shape of the inputs is known.

    Args:
      trainable: Whether the variables it makes are.
      name: Its name; default: the class's in snake case, numbered.
      dtype: The dtype of its variables, and of what it computes: floats are cast to it.
      activity_regularizer: A function of an output that gives a loss.
      autocast: Whether floats among the inputs are cast to ``dtype``.
      **kwargs: ``input_shape``, without the batch, or ``input_dim``: for `Sequential`.

    Raises:
      TypeError: If there is no such dtype.
      ValueError: If an argument is unknown.

    Example:
      >>> class Scale(tf.keras.Layer):
      ...     def build(self, input_shape):
      ...         self.scale = self.add_weight(input_shape[-1:], "ones", name="scale")
      ...     def call(self, inputs):
      ...         return inputs * self.scale
      >>> layer = Scale()
      >>> layer(tf.constant([[1.0, 2.0]])).numpy(), layer.trainable_variables[0].name
      (array([[1., 2.]], dtype=float32), 'scale')
    """

    # Whether arguments of `call` by position may be anything.
    _allow_non_tensor_positional_args = False
    _nt_input_spec: Any = None

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        activity_regularizer: Any = None,
        autocast: bool = True,
        **kwargs: Any,
    ) -> None:
        self._nt_begin(trainable, name, dtype)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.autocast = autocast
        self.built = False
        self._nt_take_shape(kwargs)
        self._nt_supports_masking = type(self).compute_mask is not Layer.compute_mask

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "build" in vars(cls):
            cls.build = mark_built(cls.build)  # type: ignore[method-assign]

    @property
    def input_spec(self) -> Any:
        """What it expects of its inputs: an `InputSpec`, a list of them, or None. It can be set."""
        return self._nt_input_spec

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        self._nt_input_spec = value

    @property
    def supports_masking(self) -> bool:
        """Whether it gives masks of its inputs to its outputs. It can be set."""
        return self._nt_supports_masking

    @supports_masking.setter
    def supports_masking(self, value: bool) -> None:
        self._nt_supports_masking = bool(value)

    def build(self, input_shape: Any) -> None:
        """Make the variables. The first call does so, unless it was done before.

        Args:
          input_shape: The shape of the inputs; of several, their shapes in the same structure.
        """
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """What the layer computes, to be overridden.

        ``training`` and ``mask`` are given to it if it has parameters of these names.

        Args:
          *args: Tensors, or lists and dicts of them.
          **kwargs: Others.

        Returns:
          What the call gives.

        Raises:
          NotImplementedError: If it is not overridden.
        """
        raise NotImplementedError(
            f"Layer {type(self).__name__} does not have a `call()` method implemented."
            + " It has `forward`, PyTorch's name for it." * hasattr(self, "forward")
        )

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """The mask of the outputs.

        Args:
          inputs: The inputs.
          previous_mask: Their mask.

        Returns:
          A mask, or None.
        """
        return previous_mask

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shape of the output, found by a call with zeros unless it is overridden.

        Args:
          *args: Shapes of the inputs; None stands for any size.
          **kwargs: Those given by name.

        Returns:
          A tuple, or a structure of them.

        Example:
          >>> tf.keras.layers.Dense(2).compute_output_shape((None, 3))
          (None, 2)
        """
        if len(kwargs) == 1 and not args:  # of the inputs, whatever `call` names them
            args, kwargs = (*kwargs.values(),), {}
        inputs = tuple(symbols_of(x, self.dtype) for x in args)
        named = {k.removesuffix("_shape"): symbols_of(x, self.dtype) for k, x in kwargs.items()}
        if not self.built:
            self._nt_build(signature_of(type(self).call).arguments(inputs, named))
        return map_structure(lambda x: x.shape, self._nt_inferred(*inputs, **named))

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a call with symbolic tensors: symbolic tensors.

        Args:
          *args: A call's arguments.
          **kwargs: Those given by name.

        Returns:
          A `KerasTensor`, or a structure of them.
        """
        method = type(self).compute_output_shape
        if method is Layer.compute_output_shape:
            return self._nt_inferred(*args, **kwargs)
        arguments = signature_of(type(self).call).arguments(args, kwargs)
        shape = self.compute_output_shape(**shapes_for(method, arguments, type(self).__name__))
        return symbols_of(shape, self.dtype)

    def _nt_inferred(self, *args: Any, **kwargs: Any) -> Any:
        """What ``call`` gives for symbolic tensors, found by calls with zeros."""
        try:
            return infer(self.call, args, kwargs)
        finally:
            self._nt_clear_losses()

    # --- A call ------------------------------------------------------------------------------

    def _nt_converted(self, x: Any) -> Any:
        """An argument: arrays and variables as tensors, floats as tensors of the layer's dtype."""
        if isinstance(x, Variable) or (
            not isinstance(x, Tensor) and hasattr(x, "__array__") and not isinstance(x, KerasTensor)
        ):
            x = as_tensor(x)
        if isinstance(x, Tensor) and self.autocast and x.dtype.is_floating:
            if x.dtype is not self._nt_dtype and self._nt_dtype.is_floating:
                mask = mask_of(x)
                x = cast(x, self._nt_dtype)
                set_mask(x, mask)
        return x

    def _nt_build(self, arguments: dict[str, Any]) -> None:
        method = type(self).build
        if method is Layer.build:
            self.built = True
        else:
            self.build(**shapes_for(method, arguments, type(self).__name__))

    def _nt_computed(
        self, symbolic: bool, args: tuple[Any, ...], kwargs: dict[str, Any], first: Any, mask: Any
    ) -> Any:
        if symbolic:
            outputs = self.compute_output_spec(*args, **kwargs)
            own = type(self).compute_mask is not Layer.compute_mask
            if self._nt_supports_masking and (own or is_symbolic(mask)):
                pass_masks(self.compute_mask, first, mask, outputs)
        else:
            outputs = self.call(*args, **kwargs)
            if not self.built:
                self.built = True
            masks = self._nt_supports_masking and type(self).compute_mask is not Layer.compute_mask
            if masks or mask is not None or self.activity_regularizer is not None:
                self._nt_finish(first, outputs, mask)
        return outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The output for the inputs; the first call makes the variables."""
        if getattr(self, "_nt_trained", None) is None:
            self._nt_check_begun()
        if len(args) == 1 and type(args[0]) is Tensor and self.built and kwargs.keys() <= _TRAINING:
            requested = kwargs.get("training")
            if requested is None or type(requested) is bool:
                return self._nt_of_tensor(args[0], requested)
        provided = args, kwargs
        if kwargs or len(args) != 1 or type(args[0]) is not Tensor:
            args, kwargs = map_structure(self._nt_converted, (args, kwargs))
        else:
            args, kwargs = (self._nt_converted(args[0]),), {}
        if not self._allow_non_tensor_positional_args:
            for x in flatten(args):
                if x is not None and not is_tensor(x):
                    raise ValueError(
                        f"Only input tensors may be passed as positional arguments. The following "
                        f"argument value should be passed as a keyword argument: {x} (of type "
                        f"{type(x)})"
                    )
        signature = signature_of(type(self).call)
        requested = kwargs.get("training")
        kwargs = {name: x for name, x in kwargs.items() if name != "training"}
        training = _training(signature, requested, kwargs)
        arguments = signature.arguments(args, kwargs)
        if not arguments and not args:
            raise TypeError(f"{type(self).__name__}.__call__() is missing its inputs.")
        first = args[0] if args else next(iter(arguments.values()))
        assert_input_compatibility(self._nt_input_spec, first, self._nt_name)
        if not self.built:
            self._nt_place()
            self._nt_build(arguments)
        symbolic = is_symbolic((args, kwargs))
        mask = self._nt_masks(signature.all, first, arguments, kwargs)
        outputs = self._nt_run(training, symbolic, args, kwargs, first, mask)
        if symbolic:
            Node(self, provided[0], provided[1], outputs)
        return outputs

    def _nt_of_tensor(self, x: Tensor, requested: bool | None) -> Any:
        """`__call__` of a layer that is built, for one tensor: no nest has to be gone through."""
        if x._spec.dtype is not self._nt_dtype:
            x = self._nt_converted(x)
        kwargs: dict[str, Any] = {}
        signature, mask = signature_of(type(self).call), getattr(x, "_keras_mask", None)
        training = _training(signature, requested, kwargs)
        assert_input_compatibility(self._nt_input_spec, x, self._nt_name)
        if signature.takes_mask:
            kwargs["mask"] = mask
        return self._nt_run(training, False, (x,), kwargs, x, mask)

    def _nt_run(
        self,
        training: Any,
        symbolic: bool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        first: Any,
        mask: Any,
    ) -> Any:
        """What a call gives whose arguments are as `call` takes them."""
        if not local.layers:
            self._nt_clear_losses()
        try:
            return ambient.call_within(
                self, training, self._nt_computed, symbolic, args, kwargs, first, mask
            )
        except OpError as error:
            add_location(error, self, first)
            raise

    def _nt_masks(
        self, names: tuple[str, ...], first: Any, arguments: dict[str, Any], kwargs: dict[str, Any]
    ) -> Any:
        """Give ``call`` the masks of its inputs, where it has parameters for them.

        Returns:
          The mask of the first input.
        """
        if any(name.endswith("mask") for name in names):
            tensors = tensors_in(arguments)
            for name, x in tensors.items():
                parameter = "mask" if len(tensors) == 1 else f"{name}_mask"
                if parameter in names and arguments.get(parameter) is None:
                    kwargs[parameter] = map_structure(mask_of, x)
        mask = kwargs.get("mask")
        return map_structure(mask_of, first) if mask is None else mask

    def _nt_finish(self, first: Any, outputs: Any, mask: Any) -> None:
        """Add the loss of outputs, and give them their mask."""
        if self.activity_regularizer is not None:
            for x in flatten(outputs):
                if isinstance(x, Tensor):
                    loss = self.activity_regularizer(x)
                    if x.ndim:  # the mean over examples, 0 of none
                        loss = divide_no_nan(loss, float(x.shape[0]))
                    self._nt_losses.add(loss)
        if mask is None:
            if not self._nt_supports_masking or type(self).compute_mask is Layer.compute_mask:
                return
        elif not any(m is not None for m in flatten(mask)) and not self._nt_supports_masking:
            return
        if not self._nt_supports_masking:
            warn(
                f"Layer '{self._nt_name}' (of type {type(self).__name__}) was passed an input with "
                f"a mask attached to it. However, this layer does not support masking and will "
                f"therefore destroy the mask information. Downstream layers will not see the mask."
            )
            return
        value = [x for x in flatten(outputs) if isinstance(x, Tensor)]
        if not all(mask_of(x) is not None for x in value):
            masks = self.compute_mask(first, mask)
            if masks is not None:
                for x, its in zip(value, flatten(masks), strict=False):
                    if its is not None and mask_of(x) is None:
                        set_mask(x, its)

    # --- Its place in a graph ----------------------------------------------------------------

    def _nt_node(self, what: str) -> Node:
        if not self._nt_inbound_nodes:
            raise AttributeError(
                f"The layer {self._nt_name} has never been called and thus has no defined {what}."
            )
        node: Node = self._nt_inbound_nodes[0]
        return node

    @property
    def input(self) -> Any:
        """The symbolic tensor that it was called with, or a list of them."""
        inputs = self._nt_node("input").inputs
        return inputs[0] if len(inputs) == 1 else inputs

    @property
    def output(self) -> Any:
        """The symbolic tensor that it gave, or a structure of them."""
        return self._nt_node("output").structure


hint_missing_attributes(Layer, LAYER)
tell(Layer, "keras.Layer")
