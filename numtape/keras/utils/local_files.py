"""`get_file`, which finds files where Keras keeps them; numtape downloads nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

from ...compat.traceback_filter import warn
from ...errors import NotFoundError


def keras_home() -> Path:
    """Return Keras's folder: the environment variable KERAS_HOME, or ``~/.keras``."""
    return Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")


def get_file(
    fname: str | os.PathLike[str] | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str | None = "auto",
    cache_dir: str | os.PathLike[str] | None = None,
    force_download: bool = False,
) -> str:
    """Return the path of a file in Keras's folder; copy it there if the origin is a local file.

    numtape does not use the network: for a file that is not there, the error gives the address and
    the path.

    Args:
      fname: The name of the file; None for the last part of the origin.
      origin: A URL, also ``file://...``, or the path of a local file.
      untar: Whether to extract a tar archive.
      md5_hash: The MD5 hash of the file.
      file_hash: The hash of the file.
      cache_subdir: The folder inside ``cache_dir``.
      hash_algorithm: "sha256", "md5", or "auto" to choose it by the length of the hash.
      extract: Whether to extract an archive; the path of the folder is returned then.
      archive_format: "tar", "zip", or "auto" for either.
      cache_dir: Keras's folder; None for the environment variable KERAS_HOME, or ``~/.keras``.
      force_download: Whether to copy a local origin again.

    Returns:
      The path of the file, or of the folder of an extracted archive.

    Raises:
      NotFoundError: If the file is not there, and the origin is not a local file.
      ValueError: If no origin is given, ``fname`` has folders, or the hash differs.

    Example:
      >>> import pathlib, tempfile
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> _ = (folder / "numbers.txt").write_text("1 2 3")
      >>> path = tf.keras.utils.get_file(origin=(folder / "numbers.txt").as_uri(),
      ...                                cache_dir=folder / "keras")
      >>> pathlib.Path(path).relative_to(folder).as_posix(), pathlib.Path(path).read_text()
      ('keras/datasets/numbers.txt', '1 2 3')
    """
    if origin is None:
        raise ValueError('Please specify the "origin" argument (URL of the file to download).')
    if md5_hash is not None and file_hash is None:
        file_hash, hash_algorithm = md5_hash, "md5"
    folder = Path(keras_home() if cache_dir is None else cache_dir).expanduser() / cache_subdir
    is_archive = extract or untar
    name = os.fspath(fname) if fname else ""
    if os.sep in name:
        raise ValueError(
            f"Paths are no longer accepted as the `fname` argument. To specify the file's parent "
            f"directory, use the `cache_dir` argument. Received: fname={name}"
        )
    target = folder / name
    extracted = folder / (f"{name[: name.find('.')]}_extracted" if "." in name else name)
    if not name:
        name = os.path.basename(urllib.parse.urlsplit(origin).path)
        if not name:
            raise ValueError(
                f"Can't parse the file name from the origin provided: '{origin}'. Please specify "
                f"the `fname` argument."
            )
        target = extracted = folder / name
    if is_archive and target == extracted:
        target = folder / f"{name}_archive"
    if is_archive and extracted.is_dir() and not target.exists() and not force_download:
        return str(extracted)  # extracted by hand
    is_valid = target.exists() and (file_hash is None or matches(target, file_hash, hash_algorithm))
    if force_download or not is_valid:
        _copy(origin, target, extracted if is_archive else None)
        if file_hash is not None and not matches(target, file_hash, hash_algorithm):
            raise ValueError(
                f"Incomplete or corrupted file detected. The {hash_algorithm} file hash does not "
                f"match the provided value of {file_hash}."
            )
    if not is_archive:
        return str(target)
    if not extract_archive(target, extracted, "tar" if untar else archive_format):
        warn("Could not extract archive.")
    return str(extracted)


def _copy(origin: str, target: Path, extracted: Path | None) -> None:
    """Copy a local file."""
    parts = urllib.parse.urlsplit(origin)
    source = Path(urllib.request.url2pathname(parts.path)) if parts.scheme == "file" else None
    if parts.scheme == "":
        source = Path(origin)
    if source is None or not source.is_file():
        where = f", or the extracted archive in the folder {extracted}" if extracted else ""
        raise NotFoundError(
            f"File not found: {target}. numtape does not use the network: download {origin} "
            f"yourself, and put it there{where}. The environment variable KERAS_HOME changes the "
            f"folder {keras_home()}."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def matches(path: str | os.PathLike[str], file_hash: str, algorithm: str = "auto") -> bool:
    """Whether a file has a hash.

    Args:
      path: The file.
      file_hash: The hash, in hexadecimal digits.
      algorithm: "sha256", "md5", or "auto" to choose it by the length of the hash.
    """
    is_sha256 = algorithm == "sha256" or (algorithm == "auto" and len(str(file_hash)) == 64)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256" if is_sha256 else "md5")
    return digest.hexdigest() == str(file_hash)


def extract_archive(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    archive_format: str | None = "auto",
) -> bool:
    """Extract a tar or zip archive to a folder, and return whether it is one.

    Members that lead out of the folder raise an error of the module `tarfile`.
    """
    folder = Path(folder)
    is_tar = archive_format in ("auto", "tar") and tarfile.is_tarfile(path)
    if not is_tar and not (archive_format in ("auto", "zip") and zipfile.is_zipfile(path)):
        return False
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=folder.parent))  # a complete folder or none
    try:
        if is_tar:
            with tarfile.open(path) as tar:
                tar.extractall(partial, filter="data")
        else:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(partial)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return True
