"""A run of one kind of trouble under `hostprobe run`, with the fault or without it: its report, and its own step times."""

import contextlib
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "diagnosis")]

import kinds  # noqa: E402
import outside  # noqa: E402
from score import end_all  # noqa: E402

LIMIT_S = 120


@dataclasses.dataclass(frozen=True)
class Trial:
    report: dict
    step_s: float | None  # mean of all ranks; None: it hung

    @property
    def findings(self):
        return self.report["findings"]

    @property
    def standing(self):
        """What the head of the report says of threads that stand still now."""
        said = {one["text"] for one in self.findings}
        return [line for line in self.report["headline"] if line not in said]


def library_of(kind, folder):
    """Builds what the program loads, and what its environment says of that."""
    if not kind.library:
        return {}
    stem = Path(kind.library).stem
    path = folder / f"lib{stem}.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-pthread", "-o", path, HERE / kind.library], check=True)
    return {stem.upper(): str(path)}


def start(kind, folder, healthy):
    changes = {"STEP_TIMES": str(folder / "steps"), **library_of(kind, folder)}
    command = (kinds.probed.COMMAND, "run", "-o", folder / "run", "--", *kind.command(healthy))

    def prepare():
        for one in kind.outside:
            one.prepare()

    return subprocess.Popen([str(word) for word in command], env={**os.environ, **changes}, cwd=folder, text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=prepare)


def report_of(folder):
    out = subprocess.run([kinds.probed.COMMAND, "report", folder / "run", "--json"], capture_output=True, text=True, check=True,
                         timeout=LIMIT_S)
    return json.loads(out.stdout)


def step_seconds(folder):
    steps = [json.loads(path.read_text()) for path in folder.glob("steps.*")]
    return statistics.fmean(map(statistics.fmean, steps)) if steps else None


def await_end(kind, process):
    try:
        _, errors = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        end_all(process.pid)
        raise SystemExit(f"{kind.name} had not ended after {LIMIT_S} s") from None
    if process.returncode != 0:
        raise SystemExit(f"{kind.name} ended with {process.returncode}: {errors[-2000:]}")


def run_hanging(kind, process, folder):
    """The report on a run that stands still, while it does."""
    try:
        time.sleep(kind.hangs_for_s)
        return Trial(report_of(folder), None)
    finally:
        end_all(process.pid)
        process.communicate()


def run(kind, folder, healthy=False):
    """In an empty folder."""
    process = start(kind, folder, healthy)
    with contextlib.ExitStack() as stack:
        for one in kind.outside:
            stack.enter_context(one.around(process))
        if kind.hangs_for_s and not healthy:
            return run_hanging(kind, process, folder)
        await_end(kind, process)
    return Trial(report_of(folder), step_seconds(folder))
