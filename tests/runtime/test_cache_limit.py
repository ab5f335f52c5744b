"""The size limit of the cache folder, and log messages about compilations."""

import logging
import os
import re
import subprocess
import sys
import time

import pytest
from processes import environment

from numtape.__main__ import main
from numtape.core import settings
from numtape.core.compile import cache

pytestmark = pytest.mark.numtape_only(reason="about numtape's cache")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache folder of this process."""
    found = tmp_path / "cache"
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(found))
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(cache, "_written", [0, cache.RECOUNT])
    return found


def built(size=1000):
    return os.urandom(size), ["f"], []


def use(name, compiled):
    """Load a unit from the cache, or compile it and record its name."""

    def compile_unit():
        compiled.append(name)
        return built()

    return cache.load_or_compile(name, f"source of {name}", compile_unit)


def aged(place, name, hours):
    """Set a unit's last use to a time in the past."""
    (path,) = place.glob(f"{name}-*")
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))


def names(place):
    return sorted(path.name.partition("-")[0] for path in place.iterdir())


def test_what_was_not_used_for_longest_goes(place, monkeypatch):
    compiled = []
    for k in range(8):
        use(f"unit{k}", compiled)
        aged(place, f"unit{k}", 100 - k)
    use("unit0", compiled)  # a read counts as a use
    assert compiled == [f"unit{k}" for k in range(8)]
    size = sum(path.stat().st_size for path in place.iterdir())
    assert size == cache.size()[1]
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", str(size))
    use("another", compiled)
    assert names(place) == ["another", "unit0", "unit3", "unit4", "unit5", "unit6", "unit7"]
    assert sum(path.stat().st_size for path in place.iterdir()) <= size * 9 // 10
    use("unit3", compiled)
    assert compiled[-1] == "another"
    use("unit1", compiled)  # removed, so it is recompiled
    assert compiled[-1] == "unit1"


@pytest.mark.parametrize("limit", ["none", "1 GiB", "1e", ""])
def test_below_the_limit_nothing_goes(place, monkeypatch, limit):
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", limit)
    if limit == "1e":
        with pytest.raises(ValueError, match="NUMTAPE_CACHE_LIMIT='1e' is not a size"):
            use("unit", [])
        return
    compiled = []
    for k in range(5):
        use(f"unit{k}", compiled)
    assert names(place) == [f"unit{k}" for k in range(5)]


def test_other_files_stay(place, monkeypatch):
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", "2500")
    use("first", [])
    (place / "mine.txt").write_text("x" * 10000)
    os.utime(place / "mine.txt", (0, 0))
    (place / f"killed{cache.PART}").write_bytes(b"x" * 1000)
    os.utime(place / f"killed{cache.PART}", (0, 0))
    cache._written[1] = cache.RECOUNT  # recounting includes files of other processes
    use("second", [])
    assert names(place) == ["first", "mine.txt", "second"]


def test_files_that_another_process_removes_meanwhile(place, monkeypatch):
    real = os.unlink

    def gone(path, **options):
        real(path, **options)
        return real(path, **options)  # the file is gone

    compiled = []
    for k in range(4):
        use(f"unit{k}", compiled)
        aged(place, f"unit{k}", 100 - k)
    monkeypatch.setattr(os, "unlink", gone)
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", "2500")
    use("another", compiled)
    assert "another" in names(place) and len(names(place)) <= 2


@pytest.mark.parametrize("limit", ["1 GiB", "none"])
def test_kernels_that_were_not_used_for_30_days_go(place, monkeypatch, limit):
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", limit)
    compiled = []
    for name, days in [("loops_f", 31), ("loops_g", 29), ("loops_h", 31), ("lane", 31)]:
        use(name, compiled)
        aged(place, name, 24 * days)
    use("loops_h", compiled)  # a read counts as a use
    cache._written[1] = cache.RECOUNT
    use("another", compiled)
    stays = ["another", "lane", "loops_f", "loops_g", "loops_h"]
    if limit != "none":
        stays.remove("loops_f")
    assert names(place) == stays


FILL = """
import os, sys
from numtape.core.compile import cache
for k in range(40):
    name = f"{sys.argv[1]}{k}"
    for again in range(2):
        found = cache.load_or_compile(name, name, lambda: (name.encode() * 100, ["f"], []))
        assert found[0] == name.encode() * 100
"""


def test_two_processes_share_a_small_folder(place):
    options = environment(NUMTAPE_CACHE_DIR=str(place), NUMTAPE_CACHE_LIMIT="6000")
    children = [
        subprocess.Popen([sys.executable, "-c", FILL, name], env=options) for name in ("one", "two")
    ]
    assert [child.wait(60) for child in children] == [0, 0]
    assert sum(path.stat().st_size for path in place.iterdir()) <= 2 * 6000


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1000", 1000),
        ("500 MB", 5 * 10**8),
        ("2GiB", 2 << 30),
        ("1.5 kib", 1536),
        ("0", 0),
        ("none", None),
        ("", 1 << 30),
    ],
)
def test_sizes(monkeypatch, text, size):
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", text)
    assert settings.cache_limit() == size


@pytest.mark.parametrize("text", ["much", "-1", "1 TB", "nan", "1 2"])
def test_no_sizes(monkeypatch, text):
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", text)
    with pytest.raises(ValueError, match="is not a size"):
        settings.cache_limit()


def test_info_shows_size_and_limit(place, monkeypatch, capsys):
    use("unit", [])
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", "100 MiB")
    assert main(["info"]) == 0
    assert re.search(r"1 kernels, 1 KiB, of 100 MiB\)", capsys.readouterr().out)
    monkeypatch.setenv("NUMTAPE_CACHE_LIMIT", "much")
    main(["info"])
    assert "cannot be used: NUMTAPE_CACHE_LIMIT='much'" in capsys.readouterr().out


def test_each_compile_is_logged_with_its_seconds(place, caplog):
    with caplog.at_level(logging.INFO, "numtape"):
        use("unit", [])
        use("unit", [])
    (record,) = [r for r in caplog.records if r.name == "numtape"]
    assert re.fullmatch(r"Compiled unit in \d+\.\d\d s\.", record.getMessage())
    assert record.levelno == logging.INFO


def slowly():
    time.sleep(0.2)
    return built()


@pytest.mark.parametrize("quiet", ["0", "1"])
def test_compiling_that_takes_long_is_said_once(place, monkeypatch, capfd, quiet):
    monkeypatch.setenv("NUMTAPE_QUIET", quiet)
    monkeypatch.setattr(cache, "PATIENCE", 0.1)
    monkeypatch.setattr(cache, "_waited", [0.0])
    monkeypatch.setattr(cache, "_announced", [])
    cache.load_or_compile("quick", "1", built)
    assert capfd.readouterr().err == ""
    for k in range(2):
        cache.load_or_compile("slow", f"2{k}", slowly)
    said = capfd.readouterr().err
    if quiet == "1":
        assert said == ""
    else:
        assert said.count("\n") == 1
        assert said.startswith("numtape compiles kernels at their first use")
        assert str(place) in said


@pytest.mark.slow
def test_a_first_run_says_that_it_compiles(tmp_path):
    code = (
        "import numtape as tf; from numtape.core.compile import cache; cache.PATIENCE = 0.0;"
        "print(tf.exp(tf.Variable([1.0, 2.0])).numpy())"
    )
    shown = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment(NUMTAPE_CACHE_DIR=str(tmp_path / "c"), NUMTAPE_QUIET=None),
        )
        shown.append(done.stderr)
    assert shown[0].count("numtape compiles") == 1
    assert shown[1] == ""
