"""The processor that machine code is compiled for: this machine's, or ``NUMTAPE_CPU``."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import llvmlite.binding as llvm

from .. import settings

# Every processor of the architecture has these, and LLVM ends the process without them.
_BASELINE = {
    "x86_64": ("64bit", "cmov", "cx8", "fxsr", "sse", "sse2"),
    "aarch64": ("fp-armv8", "neon"),
}


class Processor(NamedTuple):
    """LLVM's name and feature string of a processor."""

    name: str
    features: str


def host() -> Processor:
    """The processor of this machine."""
    return Processor(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def processor() -> Processor:
    """The processor that code is compiled for. ``NUMTAPE_CPU`` applies to Numba as well.

    A named processor has no features that this machine lacks: code for it runs here.

    Raises:
      ValueError: If ``NUMTAPE_CPU`` names no processor or feature, or a feature that this machine
        lacks.
      RuntimeError: If Numba has compiled code for another processor before.
      ImportError: If Numba is imported, and numtape does not support its version.
    """
    text = settings.cpu()
    if text is None:
        return host()
    name, *changes = (part.strip() for part in text.split(","))
    own = dict(llvm.get_host_cpu_features())
    baseline = _BASELINE.get(llvm.get_process_triple().partition("-")[0], ())
    if name == "host":
        name, features = host()
    elif name in (names := known_names()):
        without = [f"-{feature}" for feature, present in own.items() if not present]
        features = ",".join((*without, *(f"+{feature}" for feature in baseline)))
    else:
        raise settings.wrong_value(
            settings.CPU,
            f"LLVM knows no processor {name!r} of this architecture",
            name,
            ("host", *names),
        )
    for change in changes:
        sign, feature = change[:1], change[1:]
        if sign not in ("+", "-"):
            raise settings.wrong_value(settings.CPU, f"{change!r} does not begin with + or -")
        if feature not in own:
            raise settings.wrong_value(
                settings.CPU,
                f"LLVM knows no feature {feature!r} of this architecture",
                feature,
                tuple(own),
            )
        if sign == "+" and not own[feature]:
            raise settings.wrong_value(settings.CPU, f"this processor lacks {feature}")
        if sign == "-" and feature in baseline:
            raise settings.wrong_value(settings.CPU, f"LLVM requires {feature}")
    chosen = Processor(name, ",".join((features, *changes)))
    _tell_numba(chosen)
    return chosen


@cache
def known_names() -> tuple[str, ...]:
    """LLVM's names of the processors of this architecture.

    LLVM lists them on stderr only, and once in a process. It would ignore an unknown name, with a
    message on stderr for each function.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    with tempfile.TemporaryFile() as file:
        saved = None
        with suppress(OSError):  # stderr may be closed
            saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            target.create_target_machine(cpu="help")
        finally:
            os.close(2) if saved is None else os.dup2(saved, 2)
            if saved is not None:
                os.close(saved)
        file.seek(0)
        text = file.read().decode()
    table = text.partition("Available features")[0].splitlines()[1:]
    return tuple(words[0] for line in table if (words := line.split()))


def _tell_numba(chosen: Processor) -> None:
    """Have Numba compile for the processor: kernels, and also functions of the program."""
    if "numba" in sys.modules:
        numba_internals = importlib.import_module("numtape.kernels.numba_internals")
        if not numba_internals.set_processor(*chosen):
            raise RuntimeError(
                f"{settings.CPU} comes too late: Numba has compiled code for another processor. "
                f"Import numtape before that."
            )
    settings.set_numba_cpu(*chosen)


# Checked before compiled code can be called. Errors are raised when code is needed.
if settings.cpu() is not None:
    with suppress(ValueError, RuntimeError, ImportError):
        processor()
