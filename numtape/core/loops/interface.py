"""What the sweeps of a function take, and the text that reads it."""

from __future__ import annotations

from .activity import Activity
from .nodes import Body, Kinds, address, shadow


class Interface:
    """What both sweeps of a function begin with.

    Attributes:
      taken: The names of their parameters.
      parameters: What they are; see `Program`.
      loads: Lines that read them.
      stores: Lines at the end of the reverse sweep, which give adjoints of numbers.

    Args:
      body: The function.
      kinds: Dtype and axes of each argument.
      wanted: The numbers of the arguments that have adjoints.
      activity: The differentiated function.
      by_value: Whether they take numbers themselves, and not where these are.
    """

    def __init__(
        self,
        body: Body,
        kinds: Kinds,
        argnums: tuple[int, ...],
        activity: Activity,
        by_value: bool = False,
    ) -> None:
        self.taken: list[str] = []
        self.parameters: list[tuple[str, int, str, int]] = []
        self.loads: list[str] = []
        self.stores: list[str] = []
        parameters = list(zip(body.parameters, kinds, strict=True))
        for j, (name, (dtype, ndim)) in enumerate(parameters):
            if ndim < 0 and by_value:
                self._take(name, "number", j, dtype)
                continue
            if ndim < 0:
                self._take(f"{name}_at", "number", j, dtype)
                real = " != 0" if dtype == "bool" else ""
                self.loads.append(f"{name} = {name}_at[0]{real}")
                continue
            self._take(name, "array", j, dtype)
            for k in range(ndim):
                self._take(f"{name}_n{k}", "axis", j, "", k)
        for name, array in body.arrays.items():
            if array.addressed:
                over = f"address_of(d_{name})" if name in activity.active else "0"
                self.loads.append(f"{address(name)} = address_of({name})")
                self.loads.append(f"{shadow(name)} = {over}")
        for j, (name, (dtype, ndim)) in enumerate(parameters):
            if ndim >= 0 and name in activity.active:
                self._take(f"d_{name}", "adjoint", j, dtype)
            elif j in argnums:
                self._take(f"d_{name}_at", "adjoint", j, "float64")
                self.stores.append(f"d_{name}_at[0] = d_{name}")

    def _take(self, name: str, kind: str, j: int, dtype: str, k: int = 0) -> None:
        self.taken.append(name)
        self.parameters.append((kind, j, dtype, k))
