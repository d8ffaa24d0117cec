"""The examples of the documentation run as they are printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from daemons import Daemon

PACKAGE = Path(__file__).resolve().parents[1]
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


def blocks() -> list[str]:
    """Returns the programs in the README."""
    marked = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    first = re.findall(r"^cat > first.py <<'END'\n(.*?)^END$", README, re.DOTALL | re.MULTILINE)
    assert len(first) == 1
    return [*first, *marked]


def run(daemon: Daemon, *arguments: str) -> str:
    """Runs Python and returns its output; warnings are errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env=daemon.environment() | {"WEFT_ADDR": daemon.address},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("block", blocks())
def test_program_in_readme_runs(daemon: Daemon, block: str) -> None:
    output = run(daemon, "-c", block)
    promised = re.findall(r"# ([A-Z_]{4,} .*)$", block, re.MULTILINE)
    for text in promised:
        assert text.replace("…)", "") in output
    assert output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ask.py", "leap second"], "Leap second"),
        (["watch.py", "leap second", "--answers", "1"], "Leap second"),
        (["rag.py", "leap second"], "--- user"),
    ],
)
def test_example_runs(daemon: Daemon, arguments: list[str], expected: str) -> None:
    assert expected in run(daemon, str(PACKAGE / "examples" / arguments[0]), *arguments[1:])


def test_example_reports_an_error_in_one_line(daemon: Daemon) -> None:
    done = subprocess.run(
        [sys.executable, str(PACKAGE / "examples" / "ask.py"), ""],
        env=daemon.environment() | {"WEFT_ADDR": daemon.address},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert re.fullmatch(r"INVALID_ARGUMENT: `query`: .*\n", done.stderr)
