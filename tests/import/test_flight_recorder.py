#!/usr/bin/env python3
"""Dumps of PyTorch's Flight Recorder: of a job that really hangs, made by PyTorch itself; of samples, in each form and protocol of
pickle; and of files that are cut, wrong, or want to run something.

test_flight_recorder.py [-v] [Test.test_…]
"""

import json
import os
import pickle
import random
import shutil
import subprocess
import unittest
from pathlib import Path

from imported import ImportTest, main
from probed import COMMAND, path_of

SAMPLES = Path(__file__).resolve().parent / "samples"
LAST_NS = 1795722072_575376622  # the last operation of the samples
HANG = """
import os, sys, threading, time
import torch, torch.distributed as dist, torch.multiprocessing as mp
import torch._C._distributed_c10d as c10d
def work(rank, folder, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=3)
    tensor = torch.ones(1000)
    for _ in range(4): dist.all_reduce(tensor)
    def dump():
        for name, make in (("", c10d._dump_fr_trace), (".json", c10d._dump_fr_trace_json)):
            with open(f"{folder}/nccl_trace_rank_{rank}{name}", "wb") as file: file.write(make())
        time.sleep(3)  # who ends first would end the operations of the others
        os._exit(0)
    threading.Timer(4, dump).start()
    forget(rank, tensor)
def forget(rank, tensor):
    if rank != 2: dist.all_reduce(tensor)
    time.sleep(60)
if __name__ == "__main__": mp.spawn(work, (sys.argv[1], int(sys.argv[2])), nprocs=3)
"""


class Bomb:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


class FlightRecorder(ImportTest):
    def imported(self, *files, status=0, name="imported"):
        """(lines of the dump, what was said on stderr) of a new run of these files."""
        run = self.folder / name
        shutil.rmtree(run, ignore_errors=True)
        done = subprocess.run([COMMAND, "import", "-o", run, "--flight-recorder", *files], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        self.run_folder = run
        dumped = subprocess.run([COMMAND, "dump", run, "--json"], capture_output=True, text=True).stdout if status == 0 else ""
        return [json.loads(line) for line in dumped.splitlines()], done.stderr

    def samples(self, suffix="", moment_ns=LAST_NS + 9_000_000_000):
        """Copies with a time of their own, which says when they were made."""
        paths = []
        for rank in range(3):
            path = self.folder / f"nccl_trace_rank_{rank}{suffix}"
            shutil.copy(SAMPLES / path.name, path)
            os.utime(path, ns=(moment_ns, moment_ns))
            paths.append(path)
        return paths

    def report(self):
        return json.loads(subprocess.check_output([COMMAND, "report", "--json", self.run_folder]))

    def write(self, value, name="nccl_trace_rank_0", protocol=2):
        path = self.folder / name
        path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol))
        return path

    def test_job_that_hangs_names_who_is_missing_and_where_the_others_wait(self):
        script = self.folder / "hang.py"
        script.write_text(HANG)
        port = 20000 + os.getpid() % 20000
        subprocess.run([path_of("TORCH_PYTHON"), script, self.folder, str(port)], check=False, capture_output=True, timeout=200,
                       env={**os.environ, "TORCH_FR_BUFFER_SIZE": "100", "GLOO_SOCKET_IFNAME": "lo"})
        for suffix in ("", ".json"):
            lines, _ = self.imported(*(self.folder / f"nccl_trace_rank_{rank}{suffix}" for rank in range(3)))
            self.assertEqual(len(lines), 5 + 5 + 4)
            report = self.report()
            self.assertEqual([(stuck["op"], stuck["sequence"], stuck["arrived"], stuck["ranks"]) for stuck in report["stuck"]],
                             [("AllReduce", 5, 2, 3)])
            self.assertEqual([(one["rank"], one["sequence"]) for one in report["stuck"][0]["missing"]], [(2, 4)])
            if not suffix:
                self.assertTrue(any("forget (hang.py:" in frame for frame in report["stuck"][0]["stack"]))
                self.assertIn("forget (hang.py:", report["stuck"][0]["text"])
                self.assertTrue(any("work (hang.py:" in frame for frame in report["stuck"][0]["missing"][0]["stack"]))
                stacks = [line["stack"] for line in lines if line["args"]["call"]["sequence"] == 5]
                self.assertEqual(len(stacks), 2)
                for stack in stacks:
                    self.assertTrue(any("forget (hang.py:" in frame for frame in stack), stack)

    def test_samples_give_the_same_in_both_forms(self):
        lines, said = self.imported(*self.samples())
        self.assertIn("rank 2 guessed from the name of the file", said)
        self.assertEqual({line.get("no_end") for line in lines}, {True})  # gloo does not look when an operation ends
        of_json, _ = self.imported(*self.samples(".json"), name="json")
        for line in lines:
            line.pop("stack", None)
        self.assertEqual(lines, of_json)
        for rank in range(3):
            dump = pickle.loads((SAMPLES / f"nccl_trace_rank_{rank}").read_bytes())
            entries = [entry for entry in dump["entries"]]
            own = [line for line in lines if line["pid"] == rank + 1]
            self.assertEqual([line["begin_ns"] for line in own], [entry["time_created_ns"] for entry in entries])
            self.assertEqual([line["args"]["call"]["sequence"] for line in own], [entry["collective_seq_id"] for entry in entries])

    def test_standstill_lasts_until_the_dump_was_made(self):
        self.imported(*self.samples())
        report = self.report()
        self.assertAlmostEqual(report["stuck"][0]["since_ms"], 9000, delta=20)
        self.assertEqual(report["findings"][0]["cause"], "slow_rank")
        self.assertEqual(report["findings"][0]["rank"], 2)
        self.assertEqual(report["run"]["ranks"], 3)
        # A copy that lost the time of its file says nothing about how long.
        self.imported(*self.samples(moment_ns=LAST_NS + 400 * 86400 * 10**9))
        self.assertNotIn("stuck", self.report())

    def test_every_protocol_of_pickle_gives_the_same(self):
        dump = pickle.loads((SAMPLES / "nccl_trace_rank_0").read_bytes())
        expected, _ = self.imported(self.write((SAMPLES / "nccl_trace_rank_0").read_bytes()))
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            lines, _ = self.imported(self.write(dump, protocol=protocol))
            self.assertEqual(lines, expected, protocol)

    def test_nothing_is_called(self):
        mark = self.folder / "called"
        dump = pickle.loads((SAMPLES / "nccl_trace_rank_0").read_bytes())
        for value in (Bomb(mark), {**dump, "version": Bomb(mark)}, {**dump, "last": Bomb(mark)}, {"entries": [Bomb(mark)]}):
            for protocol in range(2, 6):
                done = subprocess.run([COMMAND, "import", "-o", self.folder / "x", "--flight-recorder", self.write(value, protocol=protocol)],
                                      capture_output=True, text=True)
                self.assertIn("plain types alone", done.stderr)
                self.assertFalse(mark.exists())
        # What stood before it is read.
        lines, said = self.imported(self.write({**dump, "last": Bomb(mark)}))
        self.assertEqual(len(lines), len(dump["entries"]))
        self.assertIn("read in part", said)

    def test_cut_dumps_give_the_entries_that_are_whole(self):
        whole = (SAMPLES / "nccl_trace_rank_0").read_bytes()
        all_lines, _ = self.imported(self.write(whole))
        counts = set()
        for cut in sorted({*range(1, len(whole), 37), len(whole) - 1}):
            path = self.write(whole[:cut])
            done = subprocess.run([COMMAND, "import", "-o", self.folder / f"cut-{cut}", "--flight-recorder", path], capture_output=True, text=True)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertIn(f"{path}: ", done.stderr)
            if done.returncode == 0:
                dumped = subprocess.check_output([COMMAND, "dump", self.folder / f"cut-{cut}", "--json"], text=True)
                lines = [json.loads(line) for line in dumped.splitlines()]
                counts.add(len(lines))
                self.assertEqual([line["begin_ns"] for line in lines], [line["begin_ns"] for line in all_lines[:len(lines)]], cut)
        self.assertEqual(max(counts), len(all_lines))
        self.assertGreater(len(counts), 3)
        # A rank whose dump is cut may have come further: nobody is missing then.
        paths = self.samples()
        paths[2].write_bytes(paths[2].read_bytes()[:-5])
        self.imported(*paths)
        self.assertNotIn("stuck", self.report())

    def test_cut_json_gives_the_entries_that_are_whole(self):
        whole = (SAMPLES / "nccl_trace_rank_0.json").read_bytes()
        lines, said = self.imported(self.write(whole[:len(whole) * 2 // 3], "nccl_trace_rank_0.json"))
        self.assertTrue(0 < len(lines) < 6)
        self.assertIn("read in part", said)

    def test_what_is_no_dump_is_refused_with_a_reason(self):
        for content in (b"", b"\x80", b"\x80\x02", b"\x80\x02}.", b"\x80\x02].", b"{}", b"[]", b"null", b"text", b"\x80\x02K\x01.",
                        b"\x80\x63}.", b"\x80\x02(((((", b"\x80\x02}q\x00h\x05.", b'{"entries": 3}', b'{"entries": [1, null, "x"]}',
                        b'{"entries": [{}]}', b"[" * 100000, b"\x80\x02]q\x00h\x00a.", os.urandom(300), b"\x80\x02\x8b\xff\xff\xff\xff"):
            lines, said = self.imported(self.write(content), status=1)
            self.assertEqual(len([line for line in said.splitlines() if "nothing imported" in line]), 1, (content[:20], said))

    def test_wrong_values_are_counted_and_the_rest_is_read(self):
        entry = {"profiling_name": "nccl:all_reduce", "time_created_ns": 10**18, "collective_seq_id": 1, "process_group": ("0", "default_pg")}
        wrong = [{**entry, "time_created_ns": None}, {**entry, "time_created_ns": -5}, {**entry, "time_created_ns": 2**70},
                 {**entry, "profiling_name": ""}, {**entry, "profiling_name": "nccl:no_such_thing"}, 7, None, {}]
        odd = [{**entry, "collective_seq_id": 2**40}, {**entry, "input_sizes": [[2**40, 2**40]]}, {**entry, "input_sizes": "x"},
               {**entry, "frames": [{}] * 200}, {**entry, "frames": 3}, {**entry, "process_group": None}, {**entry, "process_group": []},
               {**entry, "time_discovered_completed_ns": 5}, {**entry, "collective_seq_id": "3"}, {**entry, "is_p2p": True, "profiling_name": "nccl:send 0->1"}]
        lines, said = self.imported(self.write({"entries": wrong + odd, "pg_config": {"0": {"ranks": "[0, 99999999999, x]"}, 5: 6}}))
        self.assertEqual(len(lines), len(odd))
        for words in ("entries without a time or a name", "entries that are no maps", "operations 'nccl:no_such_thing'"):
            self.assertIn(words, said)
        self.report()

    def test_random_bytes_change_nothing_but_what_they_hit(self):
        whole = (SAMPLES / "nccl_trace_rank_1").read_bytes()
        draw = random.Random(7)
        for number in range(60):
            broken = bytearray(whole)
            for _ in range(draw.randint(1, 4)):
                broken[draw.randrange(len(broken))] = draw.randrange(256)
            path = self.write(bytes(broken), "nccl_trace_rank_1")
            done = subprocess.run([COMMAND, "import", "-o", self.folder / f"r{number}", "--flight-recorder", path], capture_output=True, text=True)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 0:
                self.assertEqual(subprocess.run([COMMAND, "report", "--json", self.folder / f"r{number}"], capture_output=True).returncode, 0)


if __name__ == "__main__":
    main()
