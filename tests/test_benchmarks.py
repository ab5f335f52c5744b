"""The harness runs: what it measures is not looked at here, only what it writes."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_quick_run_writes_json_and_readme(tmp_path: Path) -> None:
    """One case, one library: every part of the result is there, and the table replaced."""
    output, readme = tmp_path / "new" / "result.json", tmp_path / "README.md"
    readme.write_text("above\n<!-- benchmarks:begin -->\nold\n<!-- benchmarks:end -->\nbelow\n")
    done = _run(
        "--libraries",
        "numtape",
        "--cases",
        "scalar_chain",
        "--output",
        output,
        "--readme",
        readme,
    )
    assert done.returncode == 0, done.stderr

    text = output.read_text()
    result = json.loads(text)
    assert result["schema"] == 1
    assert result["device"] == "cpu"
    assert result["quick"] is True
    assert result["skipped"] == []
    assert {"cpu", "cores", "memory_gib", "os"} <= result["machine"].keys()
    assert {"python", "numpy", "numtape"} <= result["versions"].keys()
    assert str(ROOT) not in text

    assert list(result["cases"]) == ["scalar_chain"]
    case = result["cases"]["scalar_chain"]
    assert case["unit"] == "s"
    assert case["errors"] == {}
    assert case["goal"] == {"text": "≤ 1/10 PyTorch, 1/50 TF eager", "met": None}
    column = case["columns"]["numtape"]
    assert 0 < column["min"] <= min(column["median"], column["p25"])
    assert column["p25"] <= column["p75"]
    assert len(column["rounds"]) == result["rounds"]
    assert column["repeats"] >= result["rounds"]
    assert column["ratio"] == 1
    assert column["relative_error"] < 1e-4

    rewritten = readme.read_text()
    assert rewritten.startswith("above\n<!-- benchmarks:begin -->\n| case | numtape | goal | met |")
    assert rewritten.endswith("<!-- benchmarks:end -->\nbelow\n")
    assert "old" not in rewritten
    assert case["title"] in rewritten
    assert case["title"] in done.stdout


def test_readme_without_markers_is_refused(tmp_path: Path) -> None:
    """Before anything is measured, and without touching the file."""
    readme = tmp_path / "README.md"
    readme.write_text("no place for a table\n")
    done = _run("--libraries", "numtape", "--cases", "scalar_chain", "--readme", readme)
    assert done.returncode == 2
    assert "benchmarks:begin" in done.stderr
    assert readme.read_text() == "no place for a table\n"
