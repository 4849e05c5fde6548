#!/usr/bin/env python3
"""stress-ng's stressors of threads, locks, processes and polls end preloaded as they do bare.

test_stress.py [--seconds 60] [-v] [Stress.test_sem …]   each stressor is preloaded for so long; without: one second
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import guest
from guest import KINDS, GuestTest, program

STRESSORS = ("sem", "mutex", "pthread", "futex", "fork", "vfork", "clone", "poll", "epoll")
BARE_SECONDS = 1
INSTANCES = 2


def options():
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--seconds", type=int, default=1)
    found, sys.argv[1:] = parser.parse_known_args()
    return found


OPTIONS = options()


def free_segments_of(pids):
    """Of processes that left their IPC namespace, as `clone` does: they could not free their shared memory themselves, and
    `hostprobe recover` does not look at the memory of complete traces."""
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        _, segment, _, _, creator, _, attached, *_ = line.split()
        if creator in pids and attached == "0":
            subprocess.run(["ipcrm", "--shmem-id", segment], check=True)


def complaints(text):
    """Lines of trouble, without what differs from run to run."""
    return sorted(re.sub(r"\[\d+\]|0x[0-9a-f]+|\d+", "N", line) for line in text.splitlines()
                  if re.search(r"\b(warn|fail|error)\b|died|abort|signal", line))


class Stress(GuestTest):
    def recover(self):
        super().recover()
        free_segments_of({path.stem.split("-")[-2] for path in self.run_folder.glob("*.hptrace")})

    def stress(self, kind, stressor):
        """Exit status and complaints."""
        seconds = BARE_SECONDS if kind == "bare" else OPTIONS.seconds
        results = self.folder / f"{kind}.yaml"
        process = self.start_kind(kind, program("stress-ng"), f"--{stressor}", INSTANCES, "--timeout", seconds, "--verify",
                                  "--no-rand-seed", "--temp-path", self.folder, "--metrics-brief", "--yaml", results)
        texts = process.communicate()
        self.assert_silent(*texts)
        operations = [int(n) for n in re.findall(r"bogo-ops: (\d+)", results.read_text())]
        self.assertEqual(len(operations), 1, texts)
        self.assertGreater(operations[0], 0, texts)
        print(f"{stressor} {kind}: {operations[0]} operations in {seconds} s", file=sys.stderr)
        return process.returncode, complaints("".join(texts))

    def check(self, stressor):
        bare, preloaded = (self.stress(kind, stressor) for kind in KINDS)
        self.assertEqual(bare[0], 0, bare)
        self.assertEqual(preloaded, bare)
        if not self.run_folder.exists():  # nothing that this stressor calls is worth a record
            return
        processes = self.processes()
        print(f"{stressor}: {len(processes)} processes, {sum(p['records'] for p in processes)} records, "
              f"{sum(p['lost'] for p in processes)} lost", file=sys.stderr)


for name in STRESSORS:
    setattr(Stress, f"test_{name}", lambda self, name=name: self.check(name))

if __name__ == "__main__":
    guest.main()
