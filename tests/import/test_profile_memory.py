#!/usr/bin/env python3
"""A profile of any length is imported in little memory, whole or damaged: 4 GiB of text in less than 1 GiB.

test_profile_memory.py [-v] [Test.test_…]; HOSTPROBE_MIB: how long the profile is, 320 MiB by default, which is more than is read in one piece
"""

import gzip
import json
import os
import subprocess

from imported import COMMAND, ImportTest, call, kernel, main, span

MIB = 1 << 20
LENGTH = int(os.environ.pop("HOSTPROBE_MIB", 320)) * MIB
MOST_OF_4_GIB, WITHOUT_A_PROFILE = 960 * MIB, 64 * MIB
START = 1_700_000_000_000_000
EVENTS = 4000  # of a part


class LongProfile(ImportTest):
    def events(self):
        """With the arguments that profiles of today have."""
        events = []
        for n in range(EVENTS // 4):
            at, correlation = START + 100 * n, n + 1
            events += [span("aten::linear", at, 60, category="cpu_op", **{"External id": correlation, "Record function id": 0,
                            "Concrete Inputs": ["", "", ""], "Input type": ["float", "float", "float"], "Input Strides": [[4096, 1], [4096, 1], [1]],
                            "Input Dims": [[512, 4096], [4096, 4096], [4096]], "Ev Idx": correlation, "Fwd thread id": 0, "Sequence number": n}),
                       call("cudaLaunchKernel", at + 10, 5, correlation, cbid=211, **{"External id": correlation}),
                       kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_relu_f2f_stages_32x5_tn", at + 20, 8, correlation, grid=[32, 4, 1],
                              block=[128, 1, 1], context=1, queued=0, **{"External id": correlation, "registers per thread": 174,
                              "shared memory": 81920, "blocks per SM": 1.2, "warps per SM": 4.7, "est. achieved occupancy %": 7}),
                       {"ph": "s", "id": correlation, "pid": 10, "tid": 10, "ts": at + 10, "cat": "ac2g", "name": "ac2g"}]
        return json.dumps(events, indent=2)[1:-1].encode()

    def write(self, path, damage):
        """In gzip members, so that little of it lies on a disk. Returns how many parts it has."""
        parts, events = 0, self.events()
        with open(path, "wb") as file:
            file.write(gzip.compress(b'{"distributedInfo": {"rank": 1}, "traceEvents": ['))
            done = 0
            while done < LENGTH:
                # Each part is 100 s later than the one before.
                text = (b"" if parts == 0 else b",") + events.replace(b'"ts": 17000000', b'"ts": %d' % (17000000 + parts))
                if damage and parts % 10 == 5:
                    text = text.replace(b'"ts": ', b'"ts" ', 1)
                file.write(gzip.compress(text, 1, mtime=0))
                done += len(text)
                parts += 1
            file.write(gzip.compress(b"]}"))
        return parts

    def check(self, damage):
        path = self.folder / "long.json.gz"
        parts = self.write(path, damage)
        process = subprocess.Popen([COMMAND, "import", "-o", self.run_folder, "--kineto", path], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        err = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        self.assertEqual(process.returncode, 0, err)
        self.assertLess(used.ru_maxrss * 1024, MOST_OF_4_GIB * LENGTH / (4096 * MIB) + WITHOUT_A_PROFILE)
        print(f"{LENGTH >> 20} MiB of text, {EVENTS * parts} events: {used.ru_maxrss >> 10} MiB", flush=True)
        return parts, err

    def test_whole(self):
        _, err = self.check(damage=False)
        self.assertEqual(err, "")

    def test_damaged(self):
        parts, err = self.check(damage=True)
        damaged, = [line for line in err.splitlines() if "events that are damaged" in line]
        self.assertIn(f": {(parts + 4) // 10} events", damaged)


if __name__ == "__main__":
    main()
