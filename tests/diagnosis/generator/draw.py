#!/usr/bin/env python3
"""Draws a training program and what is wrong with it from a seed: the same seed gives the same plan, on every machine.

A quarter of the seeds is healthy, half of these with something that looks wrong and costs nothing; some have two faults.

examples:
  tests/diagnosis/generator/draw.py 4711                 what this seed is
  tests/diagnosis/generator/draw.py 4711 --plan          the plan as the program reads it
  tests/diagnosis/generator/draw.py 4711 --plan --twin   without the fault
"""

import argparse
import contextlib
import dataclasses
import functools
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import faults  # noqa: E402
import structure  # noqa: E402
from outside import Outside  # noqa: E402
from scenarios import Scenario, probed  # noqa: E402

PROGRAM = probed.BUILD / "bin/generated_program"
HEALTHY, HIDDEN, PAIRS = 0.25, 0.5, 0.12  # of all, of the healthy ones, of all
RUN_US = 1.7e6  # of steps, without the fault


@functools.cache
def iterations_per_us():
    """What this machine computes: part of how a plan is run, not of what is drawn."""
    return float(subprocess.run([PROGRAM, "--calibrate"], capture_output=True, text=True, check=True).stdout)


@dataclasses.dataclass(frozen=True)
class PlannedRun(Scenario):
    """A run of a plan, as a scenario."""

    plan: str = ""
    environment: tuple = ()

    def start(self, folder, mode="trace"):
        path = folder.parent / "plan"
        path.write_text(self.plan + f"iterations_per_us {iterations_per_us()}\n")
        planned = dataclasses.replace(self, command=(PROGRAM, path))
        command, changes = Scenario.start(planned, folder, mode)
        return command, {**changes, **dict(self.environment)}

    def key(self):
        return self.plan, self.gpus, self.faults, self.outside, self.cpus, self.environment


@dataclasses.dataclass(frozen=True)
class Drawn:
    seed: int
    structure: structure.Structure
    faults: tuple  # none: healthy, one, or two with the heavier one first
    steps: int

    @property
    def hidden(self):
        return bool(self.faults) and self.faults[0].strength == 0

    def plan(self, some=None):
        """As the program reads it, with some of the faults; None: all."""
        some = self.faults if some is None else some
        keys = {**self.structure.keys, "steps": self.steps}
        deeds = []
        for fault in self.faults:
            keys.update(fault.changes if fault in some else {})
            deeds += fault.deeds if fault in some else fault.instead
        lines = [f"kernel {name} {us}" for name, us in keys.pop("kernels")]
        lines.append("layer_kernels " + " ".join(str(kernel) for kernel in keys.pop("layer_kernels")))
        lines += [f"{key} {value}" for key, value in keys.items()]
        lines += ["deed " + " ".join(f"{key}={value}" for key, value in deed.items()) for deed in deeds]
        return "\n".join(lines) + "\n"

    def run(self, some=None, first=0):
        """The scenario with some of the faults; what is expected is of the fault of that number."""
        some = self.faults if some is None else some
        expected = self.faults[first] if self.faults else faults.Fault("healthy")
        services = tuple(Service(fault.changes["port"]) for fault in some if fault.changes.get("port"))
        return PlannedRun(
            name=str(self.seed), command=(), gpus=self.structure.ranks, causes=expected.causes, rank=expected.rank,
            faults=";".join(fault.simnode for fault in some if fault.simnode),
            outside=sum((fault.around for fault in self.faults), ()) + sum((fault.outside for fault in some), ()) + services,
            cpus=next((fault.cpus for fault in self.faults if fault.cpus), ""),
            plan=self.plan(some), environment=sum((fault.environment for fault in self.faults), ()))

    def without(self, number):
        """The twin without the fault of that number."""
        return self.run(tuple(fault for at, fault in enumerate(self.faults) if at != number))

    def words(self):
        """In a line."""
        keys = self.structure.keys
        what = " and ".join(f"{fault.kind} {100 * fault.strength:.0f} % {fault.pattern}" for fault in self.faults) or "nothing"
        return f"{keys['structure']} of {keys['ranks']}: {what}"

    def show(self):
        """For people."""
        keys = self.structure.keys
        yield f"seed {self.seed}: {self.words()}"
        yield f"  about {self.structure.step_us / 1000:.1f} ms of GPU and {self.structure.host_us / 1000:.1f} ms of host in a step; {self.steps} steps"
        yield "  " + ", ".join(f"{key} {value}" for key, value in keys.items() if key not in self.structure.names)
        yield "  names: " + ", ".join(f"{role} {name}" for role, name in self.structure.names.items())
        for fault in self.faults:
            yield f"  fault: {fault.kind}, {fault.pattern}, aimed at {100 * fault.strength:.0f} % of the steps"
            yield f"    right: {' or '.join(fault.causes)}, rank {'any' if fault.rank is None else fault.rank}"
            for group in fault.sites:
                yield f"    it names {' or '.join(group)}"
            for what in (*fault.deeds, *((fault.simnode,) if fault.simnode else ()), *fault.outside, *((fault.changes,) if fault.changes else ())):
                yield f"    {what}"


class Service(Outside):
    """A service on this machine that is no part of the job: it answers after as many microseconds as it is asked to."""

    def __init__(self, port):
        self.port = port

    def __eq__(self, other):
        return isinstance(other, Service) and other.port == self.port

    def __hash__(self):
        return hash(self.port)

    def __repr__(self):
        return f"a service on port {self.port}"

    @contextlib.contextmanager
    def around(self, process):
        service = subprocess.Popen([sys.executable, "-S", "-E", HERE / "service.py", str(self.port)])
        try:
            yield
        finally:
            service.terminate()
            service.wait()


def draw(seed):
    rng = random.Random(f"hostprobe {seed}")

    luck, found = rng.random(), ()
    if luck < HEALTHY * (1 - HIDDEN):
        drawn = structure.draw_structure(rng)
    elif luck < HEALTHY:
        drawn, *found = faults.draw_hidden(rng)
    elif luck < HEALTHY + PAIRS:
        drawn, *found = faults.draw_pair(rng)
    else:
        drawn, *found = faults.draw_one(rng)
    steps = int(min(1200, max(60, RUN_US / drawn.step_us)))
    return Drawn(seed, drawn, tuple(found), steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--plan", action="store_true", help="as the program reads it")
    parser.add_argument("--twin", action="store_true", help="without the (heavier) fault")
    options = parser.parse_args()
    drawn = draw(options.seed)
    some = drawn.faults[1:] if options.twin else None
    print(drawn.plan(some) if options.plan else "\n".join(drawn.show()))


if __name__ == "__main__":
    main()
