"""Finds the compiler libraries: libNVVM, libdevice and nvJitLink.

Each comes from a wheel or else from a CUDA toolkit: that of ``CUDA_PATH`` or ``CUDA_HOME``, or an
installed one. If other CUDA wheels are installed, numba-cuda reads only these variables.
"""

from __future__ import annotations

import ctypes
import importlib.metadata as metadata
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ....errors import DeviceError

VARIABLES = ("CUDA_PATH", "CUDA_HOME")
INSTALLED = Path("/usr/local/cuda")
LIBDEVICE = Path("nvvm", "libdevice", "libdevice.10.bc")
# Folders of libraries in a toolkit, and in the layout of wheels.
_FOLDERS = ("nvvm/lib64", "nvvm/lib", "lib64", "lib")
_WHEELS = {
    "libnvvm": "nvidia-nvvm",
    "libnvJitLink": "nvidia-nvjitlink",
    "libnvrtc": "nvidia-cuda-nvrtc",
}
_PACKAGES = "pip install 'numtape[cuda]'"


class Library(NamedTuple):
    """A library: its file, its CUDA release, and the toolkit's folder if it is from a toolkit."""

    path: Path
    release: str
    root: Path | None = None


def version(package: str) -> str:
    """The version of an installed package.

    Raises:
      DeviceError: If it is not installed.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise DeviceError(
            f"{package} is not installed, but needed to compile kernels: {_PACKAGES}."
        ) from None


def _wheel(name: str) -> Library | None:
    try:
        wheel = metadata.distribution(_WHEELS[name])
    except metadata.PackageNotFoundError:
        return None
    files = sorted(str(f.locate()) for f in wheel.files or () if f.name.startswith(f"{name}.so"))
    return Library(Path(files[0]), _release(wheel.version)) if files else None


def _release(number: str) -> str:
    """Major and minor version: updates of a release generate the same code."""
    return ".".join(number.split(".")[:2])


def _roots() -> Iterator[Path]:
    """Folders that may have a toolkit, those of environment variables first."""
    yield from (Path(folder) for name in VARIABLES if (folder := os.environ.get(name)))
    yield Path(sys.prefix)  # a Conda environment
    compiler = shutil.which("nvcc")
    if compiler is not None:
        yield Path(compiler).resolve().parents[1]
    yield INSTALLED


def _from_toolkit(name: str) -> Library | None:
    for root in _roots():
        if not (root / LIBDEVICE).is_file():
            continue
        for folder in _FOLDERS:
            files = sorted((root / folder).glob(f"{name}.so*"))
            if files:
                return Library(files[0], _release_of(root, files[0]), root)
    return None


def _release_of(root: Path, library: Path) -> str:
    """The release of a toolkit, from ``version.json`` or ``cuda.h``."""
    try:
        return _release(json.loads((root / "version.json").read_bytes())["cuda"]["version"])
    except (OSError, ValueError, LookupError):
        pass
    try:
        header = (root / "include" / "cuda.h").read_text(errors="replace")
        match = re.search(r"#define CUDA_VERSION (\d+)", header)
        if match is not None:
            return f"{int(match[1]) // 1000}.{int(match[1]) % 1000 // 10}"
    except OSError:
        pass
    return f"of {library.stat().st_size} bytes"  # the size tells releases apart


@cache
def library(name: str) -> Library:
    """``libnvvm`` or ``libnvJitLink``.

    Raises:
      DeviceError: If neither a wheel nor a toolkit provides it.
    """
    result = _wheel(name) or _from_toolkit(name)
    if result is None:
        looked = ", ".join(map(str, dict.fromkeys(_roots())))
        raise DeviceError(
            f"{name} was not found, but is needed to compile kernels: no wheel "
            f"{_WHEELS[name]}, and no CUDA toolkit in {looked}. Set CUDA_HOME to the folder of a "
            f"CUDA toolkit that has {LIBDEVICE}, or {_PACKAGES}."
        )
    return result


@cache
def prepare() -> None:
    """Load the libraries, so that numba-cuda and others find them. Call it before any compilation.

    Raises:
      DeviceError: If a library is not found.
    """
    nvvm, linker = library("libnvvm"), library("libnvJitLink")
    if nvvm.root is not None:  # for libdevice; numba-cuda warns if the variables differ
        os.environ.update(dict.fromkeys(VARIABLES, str(nvvm.root)))
    # numba-cuda loads NVRTC as well, although it is not used here.
    for dependency in (nvvm, linker, _wheel("libnvrtc") or _from_toolkit("libnvrtc")):
        if dependency is not None:  # so that later loads do not search for it
            ctypes.CDLL(str(dependency.path), os.RTLD_NOW | os.RTLD_GLOBAL)


def paths() -> dict[str, str]:
    """The paths of the libraries, by name."""
    nvvm = library("libnvvm")
    top = nvvm.root or next((p for p in nvvm.path.parents if (p / LIBDEVICE).is_file()), None)
    return {
        "libnvvm": str(nvvm.path),
        "libdevice": str(top / LIBDEVICE) if top else "",
        "libnvJitLink": str(library("libnvJitLink").path),
    }
