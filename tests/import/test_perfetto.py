#!/usr/bin/env python3
"""The run in Perfetto's own form, read back by its schema: the slices, arrows and curves of the other timeline, and the events of
the scheduler that the dump has.

test_perfetto.py [-v] [Test.test_…]
"""

import gzip
import json
import tarfile
from collections import Counter

from imported import COMMAND, call, kernel, main, span
from perfetto_file import BOOTTIME, MONOTONIC, REALTIME, PerfettoFile
from runs import ExportTest

SWITCHES = """\
            cat-77    [000] d..2. 5.000001: sched_waking: comm=train pid=78 prio=120 target_cpu=001
         <idle>-0     [001] d..2. 5.000002: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
next_comm=train next_pid=78 next_prio=120
          train-78    [001] d.h2. 5.000003: irq_handler_entry: irq=27 name=virtio0
          train-78    [001] d.h2. 5.000004: irq_handler_exit: irq=27 ret=handled
          train-78    [001] ..s1. 5.000005: softirq_entry: vec=3 [action=NET_RX]
          train-78    [001] ..s1. 5.000006: softirq_exit: vec=3 [action=NET_RX]
CPU:1 [LOST 12 EVENTS]
          train-78    [001] d..2. 5.000009: sched_switch: prev_comm=train prev_pid=78 prev_prio=120 prev_state=S ==> \
next_comm=swapper/1 next_pid=0 next_prio=120
"""


class Perfetto(ExportTest):
    def both(self):
        """What is in the file, and the events of the other timeline."""
        file = PerfettoFile(self.export("--perfetto", "timeline.pftrace"))
        return file, json.loads(self.export("--chrome", "timeline.json").read_text())["traceEvents"]

    def check_same(self):
        file, events = self.both()
        slices = [e for e in events if e["ph"] == "X" and e["cat"] not in ("cpu", "irq", "softirq")]
        self.assertEqual(Counter((s.name, s.category) for s in file.slices), Counter((e["name"], e["cat"]) for e in slices))
        lengths = sorted(s.end - s.begin for s in file.slices)
        self.assertEqual(lengths, sorted(round(1000 * e["dur"]) for e in slices))
        self.assertEqual(len(file.flows), sum(e["ph"] == "s" for e in events))
        self.assertTrue(all(flow == [1, 1] for flow in file.flows.values()))
        self.assertEqual(len(file.numbers), sum(e["ph"] == "C" for e in events))
        names = sorted(e["args"]["name"] for e in events if e["name"] == "process_name")
        self.assertEqual(sorted(file.processes.values()), names)
        return file, events

    def test_ranks(self):
        self.record_ranks("trace")
        file, events = self.check_same()
        self.assertTrue(file.flows)
        self.assertTrue(any(s.category == "gpu" for s in file.slices))
        launch = next(s for s in file.slices if s.name == "cuLaunchKernel")
        self.assertEqual(set(launch.arguments), {"kernel", "grid", "block", "stream", "shared_bytes"})
        self.assertIsInstance(launch.arguments["shared_bytes"], int)
        sizes = [(self.folder / name).stat().st_size for name in ("timeline.pftrace", "timeline.json")]
        self.assertLess(sizes[0], sizes[1])

    def test_threads_and_who_woke_them(self):
        self.record_threads("trace")
        file, _ = self.check_same()
        self.assertTrue(file.threads)
        woken = [i for i in file.instants if i.name == "woken"]
        self.assertTrue(woken)
        self.assertEqual(len(woken), sum(i.name == "wake" for i in file.instants))

    def test_times_are_the_hosts_own_clock(self):
        self.record_threads("trace")
        file, _ = self.both()
        begins = [row["begin_ns"] for row in self.dump() if "function" in row]
        self.assertEqual(min(s.begin for s in file.slices), min(begins))
        self.assertEqual(file.clocks[BOOTTIME], file.clocks[MONOTONIC])
        self.assertGreater(file.clocks[REALTIME], 1_700_000_000 * 10**9)

    def test_arrows_lead_from_launch_to_kernel(self):
        base = 1_700_000_000_000_000
        self.import_profile([call("cudaLaunchKernel", base + 1, 3, 5), kernel("gemm", base + 9, 4, 5), kernel("no launch", base + 15, 1, 77)])
        file, _ = self.check_same()
        gemm, = [s for s in file.slices if s.name == "gemm"]
        begin, = [i for i in file.instants if i.name == "launch"]
        self.assertEqual(begin.flows, gemm.flows)
        self.assertEqual(begin.begin, next(s.begin for s in file.slices if s.name == "cudaLaunchKernel"))

    def test_what_overlaps_goes_to_a_track_of_its_own(self):
        self.import_profile([span("a", 1000, 10), span("b", 1005, 10), span("c", 1006, 2)])
        file, _ = self.check_same()
        tracks = {s.name: s.track for s in file.slices}
        self.assertEqual(len(set(tracks.values())), 2)

    def test_names_that_are_no_text_are_made_one(self):
        self.import_profile([span("\u202e\x07 gr\u00fc\u00df", 1000, 10), span("", 2000, 10)])
        file, _ = self.both()
        self.assertEqual(len(file.slices), 2)

    def test_the_scheduler_is_told_as_perfetto_records_it(self):
        (self.folder / "trace.txt").write_text(SWITCHES)
        self.run_program(COMMAND, "import", "-o", self.run_folder, "--ftrace", "--clock", "mono", self.folder / "trace.txt")
        file, _ = self.both()
        told = Counter(event.WhichOneof("event") for _, event in file.ftrace)
        dumped = Counter(row["function"] for row in self.dump() if "function" in row)
        self.assertEqual(told, dumped)
        self.assertEqual(told["sched_switch"], 2)
        self.assertEqual([bundle.lost_events for bundle in file.bundles if bundle.cpu == 1], [False, True])
        by_kind = {event.WhichOneof("event"): (cpu, event) for cpu, event in file.ftrace}
        cpu, switch = by_kind["sched_switch"]
        self.assertEqual((cpu, switch.timestamp, switch.pid), (1, 5_000_009_000, 78))
        self.assertEqual((switch.sched_switch.prev_comm, switch.sched_switch.prev_pid, switch.sched_switch.prev_state), ("train", 78, 1))
        self.assertEqual((switch.sched_switch.next_comm, switch.sched_switch.next_pid), ("swapper", 0))
        cpu, waking = by_kind["sched_waking"]
        self.assertEqual((cpu, waking.pid, waking.sched_waking.pid, waking.sched_waking.target_cpu), (0, 77, 78, 1))
        self.assertEqual(by_kind["irq_handler_entry"][1].irq_handler_entry.name, "virtio0")
        self.assertEqual(by_kind["softirq_entry"][1].softirq_entry.vec, 3)

    def test_compressed_where_the_name_says_so(self):
        self.import_profile([span("a", 1000, 10)])
        path = self.export("--perfetto", "t.pftrace.gz")
        self.assertTrue(gzip.decompress(path.read_bytes()))
        self.assertEqual(len(PerfettoFile(path).slices), 1)
        self.run_program(COMMAND, "export", self.folder / "nothing", "--perfetto", path, status=1)
        self.assertTrue(gzip.decompress(path.read_bytes()))

    def test_a_second_trace_of_the_same_moments_is_left_out_and_said(self):
        (self.folder / "trace.txt").write_text(SWITCHES)
        for _ in range(2):
            self.run_program(COMMAND, "import", "-o", self.run_folder, "--ftrace", "--clock", "mono", self.folder / "trace.txt")
        path = self.folder / "timeline.pftrace"
        _, said = self.run_program(COMMAND, "export", self.run_folder, "--perfetto", path)
        self.assertIn("another trace tells of the same moments", said)
        self.assertEqual(sum(e.HasField("sched_switch") for _, e in PerfettoFile(path).ftrace), 2)


class OfHosts(ExportTest):
    """Ranks of two hosts whose clocks are 100 ms apart, in one archive."""

    def setUp(self):
        super().setUp()
        self.record_ranks("trace", SIMNODE_HOSTS="2", SIMNODE_CLOCK_OFFSET_MS="0,100")

    def archive(self, *options):
        """The manifest, and by name what each file holds."""
        path = self.folder / "timeline.tar"
        _, self.said = self.run_program(COMMAND, "export", self.run_folder, "--perfetto", path, *options)
        with tarfile.open(path) as archive:
            archive.extractall(self.folder / "archive")
            self.sizes = {member.name: member.size for member in archive}
        self.sizes.pop("perfetto_manifest.json")  # the ranks' launcher is on a host of its own
        manifest = json.loads((self.folder / "archive/perfetto_manifest.json").read_text())["perfetto_manifest"]
        return manifest, {name: PerfettoFile(self.folder / "archive" / name) for name in self.sizes}

    def test_each_has_a_file_and_the_manifest_places_their_clocks(self):
        manifest, files = self.archive()
        self.assertEqual(manifest["version"], 1)
        self.assertEqual([entry["path"] for entry in manifest["files"]], list(files))
        self.assertEqual(len({entry["machine"]["name"] for entry in manifest["files"]}), 3)
        first, second, of_launcher = manifest["files"]
        self.assertNotIn("clocks", of_launcher)
        self.assertEqual(manifest["trace_time"], {"clock": "BOOTTIME", "file": first["path"]})
        self.assertNotIn("clocks", first)
        self.assertEqual(second["clocks"]["sync_to"], {"file": first["path"], "clock": "BOOTTIME"})
        self.assertAlmostEqual(abs(second["clocks"]["offset_ns"]), 100e6, delta=1e6)
        self.assertEqual({len(file.processes) for file in files.values()}, {1})
        begins = [min(s.begin for s in files[entry["path"]].slices if s.name.startswith("nccl")) for entry in (first, second)]
        self.assertLess(abs(begins[1] + second["clocks"]["offset_ns"] - begins[0]), 50e6)

    def test_sizes_are_said_before(self):
        self.archive()
        for name, size in self.sizes.items():
            self.assertIn(f"{name} {1e-6 * size:.1f} MB", self.said)

    def test_of_some_steps_and_ranks_the_rest_is_left_out(self):
        _, whole = self.archive()
        _, part = self.archive("--steps", "10-12")
        _, of_one = self.archive("--ranks", "1")
        (name, file), = of_one.items()
        self.assertEqual(len(file.slices), len(whole[name].slices))
        self.assertEqual([process.split(" pid ")[0] for process in file.processes.values()], ["rank 1 train_parallel"])
        for name, file in list(part.items())[:2]:
            launches, all_launches = (sum(s.name == "cuLaunchKernel" for s in one.slices) for one in (file, whole[name]))
            self.assertLess(launches, all_launches / 5)
            self.assertGreater(launches, all_launches / 40)

    def test_what_cannot_be_is_said(self):
        path = self.folder / "none"
        for words in (("--steps", "12-10"), ("--steps", "x"), ("--steps", "1,2"), ("--steps", "-3"), ("--ranks", "1-"), ("--ranks", ",")):
            self.run_program(COMMAND, "export", self.run_folder, "--perfetto", path, *words, status=2)
        for words in (("--steps", "900-901"), ("--ranks", "7")):
            self.run_program(COMMAND, "export", self.run_folder, "--perfetto", path, *words, status=1)
        for form in ("--csv", "--flamegraph"):
            self.run_program(COMMAND, "export", self.run_folder, form, path, "--steps", "1", status=2)
        self.assertFalse(path.exists())


if __name__ == "__main__":
    main()
