"""Where a layer is: the names of the layers that it was built in."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..core.log import ambient


class LayerPath:
    """The part of `Layer` that knows where it was built."""

    _name: str
    _path: str | None = None

    @property
    def path(self) -> str:
        """The names of the layers that it was built in, and its own: ``"sequential/dense"``."""
        return self._path or self._name

    def _place(self) -> None:
        """Note the path, if that was not done before."""
        if self._path is None:
            outer = ambient.around(self)
            self._path = self._name if outer is None else f"{outer.path}/{self._name}"

    def _enter(self) -> Any:
        """Begin to build it, so that layers in it are known to be; returns what `leave` takes."""
        self._place()
        return ambient.enter(ambient.training(), self)


def noted(build: Callable[..., Any]) -> Callable[..., Any]:
    """``build`` that notes when it is done: the first call does not make the variables again."""

    @wraps(build)
    def building(self: Any, *args: Any, **kwargs: Any) -> None:
        self._check_begun()
        variables, before = (self._trained, self._fixed), self._enter()
        try:
            build(self, *args, **kwargs)
        except BaseException:
            self._trained, self._fixed = variables
            raise
        finally:
            ambient.leave(before)
        if type(self).build is building:  # else a subclass is not done yet
            self.built = True

    return building
