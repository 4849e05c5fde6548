#!/usr/bin/env python3
"""Stacks of running and waiting time (export --flamegraph, --speedscope, --pprof): the three say the same, it is what the dump and the
report say, pprof itself reads its form, and steps part it.

test_stacks.py [-v] [Test.test_…]
"""

import gzip
import json
import re
import subprocess
from collections import Counter

from imported import main
from probed import BUILD, COMMAND
from runs import ExportTest


def lines_of(text):
    """{frames: ns} of the lines of stacks."""
    counted = Counter()
    for line in text.splitlines():
        stack, ns = line.rsplit(" ", 1)
        counted[tuple(stack.split(";"))] += int(ns)
    return counted


class Stacks(ExportTest):
    def lines(self, *options):
        return lines_of(self.export("--flamegraph", "stacks.txt", *options).read_text())

    def pprof(self, *options):
        path = self.export("--pprof", "run.pb.gz")
        done = subprocess.run(["go", "tool", "pprof", *options, path], capture_output=True, text=True, check=True,
                              env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "PPROF_TMPDIR": str(self.folder)})
        return done.stdout

    def samples_of_pprof(self):
        """[(running ns, waiting ns, frames, labels)] as pprof itself prints them."""
        raw = self.pprof("-raw")
        part = raw.split("Samples:")[1].split("Locations")
        names = {int(number): re.sub(r" \S*:\d+:\d+ s=\d+$| :0:0 s=0$", "", text).strip()
                 for number, text in re.findall(r"^\s+(\d+): 0x0 (?:M=\d+ )?(.*)$", part[1], flags=re.M)}
        samples = []
        for line in part[0].splitlines():
            if found := re.match(r"\s+(\d+)\s+(\d+): ((?:\d+ )*\d+)\s*$", line):
                samples.append((int(found[1]), int(found[2]), [names[int(one)] for one in found[3].split()], {}))
            elif samples:
                samples[-1][3].update(re.findall(r"(\w+):\[(.*?)\]", line))
        return samples

    def check_forms_agree(self):
        lines, by_step = self.lines(), self.lines("--by-step")
        self.assertAlmostEqual(sum(by_step.values()), sum(lines.values()), delta=len(by_step))  # each is rounded
        document = json.loads(self.export("--speedscope", "stacks.json").read_text())
        frames = document["shared"]["frames"]
        found = Counter()
        for profile in document["profiles"]:
            self.assertEqual((profile["type"], profile["unit"], profile["startValue"]), ("sampled", "nanoseconds", 0))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(sum(profile["weights"]), profile["endValue"])
            process, state = profile["name"].rsplit(", ", 1)
            for stack, ns in zip(profile["samples"], profile["weights"]):
                texts = [frames[one]["name"] + (f" ({frames[one]['file']}{':%d' % frames[one]['line'] if 'line' in frames[one] else ''})"
                                                if "file" in frames[one] else "") for one in stack]
                found[tuple(text.replace(";", ":") for text in (process, texts[0], state, *texts[1:]))] += ns
        self.assertEqual(found, lines)
        samples = self.samples_of_pprof()
        for state, place in (("running", 0), ("waiting", 1)):
            expected = sum(ns for frames, ns in lines.items() if frames[2] == state)
            self.assertAlmostEqual(sum(sample[place] for sample in samples), expected, delta=len(samples) + len(lines))
        return lines, by_step, samples

    def waited_by_dump(self):
        """{pid: ns} in waits and synchronisations, of the main thread each instant once, by what the dump says."""
        spans = {}
        for line in self.command("dump", self.run_folder, "--json").splitlines():
            row = json.loads(line)
            if row.get("function") in self.waits and row["role"] == "main":
                spans.setdefault(row["pid"], []).append((row["begin_ns"], row["begin_ns"] + row["duration_ns"]))
        waited = {}
        for pid, own in spans.items():
            end = 0
            for begin, until in sorted(own):
                waited[pid] = waited.get(pid, 0) + max(0, until - max(begin, end))
                end = max(end, until)
        return waited

    def command(self, *words):
        return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=True).stdout

    def test_ranks_agree_with_dump_and_steps(self):
        self.record_ranks("trace")
        lines, by_step, samples = self.check_forms_agree()
        report = json.loads(self.command("report", "--json", self.run_folder))
        self.waits = {site["function"] for process in report["processes"] for site in process["waits"]} | {
            name for process in report["processes"] for name in process.get("syncs", {}).get("by_function", {})}
        short = 1e6 * sum(site["total_ms"] for process in report["processes"] for site in process["waits"])
        for process in report["processes"]:
            if process["rank"] is None:
                continue
            own = sum(sample[1] for sample in samples if sample[3].get("rank") == str(process["rank"]) and sample[3]["role"] == "main")
            waited = self.waited_by_dump()[process["pid"]]
            self.assertGreaterEqual(own, waited - len(samples))
            self.assertLessEqual(own, waited + short)  # those that are too short for a record
            labels = {sample[3].get("step") for sample in samples if sample[3].get("rank") == str(process["rank"])}
            self.assertGreater(len(labels), process_steps(report) / 2)
        self.assertTrue(any(frames[2] == "waiting" for frames in lines))
        self.assertTrue(any(frames[1].startswith("step ") for frames in by_step))

    def test_steps_part_the_time_of_made_runs(self):
        subprocess.run([BUILD / "bin/golden_runs", self.folder / "made"], check=True)
        for run in ("python", "own_work", "input", "flight", "monitor", "threads", "wakes"):
            with self.subTest(run):
                self.run_folder = self.folder / "made" / run
                lines, by_step, samples = self.check_forms_agree()
                self.assertTrue(lines)
                for frames in by_step:
                    self.assertRegex(frames[1], r"^(step \d+|in no step)$")
        self.run_folder = self.folder / "made/python"
        waiting = Counter()
        for _, ns, _, labels in self.samples_of_pprof():
            waiting[labels["rank"], labels["step"]] += ns
        # Each of its steps waits for the same: a lock 120 µs, a semaphore 90 µs, the GPU 138 µs on rank 0.
        self.assertEqual({ns for (rank, _), ns in waiting.items() if rank == "0"}, {348_000})
        self.assertEqual(len([1 for rank, _ in waiting if rank == "0"]), 12)

    def test_samples_are_running_time(self):
        subprocess.run([BUILD / "bin/golden_runs", self.folder / "made"], check=True)
        sampled = 0
        for self.run_folder in sorted((self.folder / "made").iterdir()):
            report = json.loads(self.command("report", "--json", self.run_folder))
            expected = sum(thread["running_samples"]["python_ms"] or thread["running_samples"]["code_ms"]
                           for process in report["processes"] for thread in process["threads"] if "running_samples" in thread)
            if expected == 0:
                continue
            with self.subTest(self.run_folder.name):
                lines, _, _ = self.check_forms_agree()
                running = sum(ns for frames, ns in lines.items() if frames[2] == "running")
                self.assertAlmostEqual(running, 1e6 * expected, delta=1e4)
                sampled += 1
        self.assertGreater(sampled, 0)

    def test_names_that_hold_a_semicolon_or_a_line_end_do_not_break_lines(self):
        events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize;a b\n1", "pid": 1, "tid": 1, "ts": 1000 + 100 * i,
                   "dur": 50, "args": {"correlation": i}} for i in range(5)]
        path = self.folder / "p.json"
        path.write_text(json.dumps({"traceEvents": events}))
        self.run_folder = self.folder / "imported"
        self.command("import", "-o", self.run_folder, "--kineto", path)
        lines = self.lines()
        self.assertEqual(list(lines.values()), [250_000])
        self.assertEqual(len(next(iter(lines))), 4)
        self.check_forms_agree()

    def test_a_run_without_stacks_says_so(self):
        path = self.folder / "p.json"
        path.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "mm", "pid": 1, "tid": 1, "ts": 1000, "dur": 50}]}))
        run = self.folder / "imported"
        self.command("import", "-o", run, "--kineto", path)
        for form in ("--flamegraph", "--speedscope", "--pprof"):
            done = subprocess.run([COMMAND, "export", run, form, self.folder / "none.pb.gz"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("it has no stacks", done.stderr)

    def test_compressed_and_refused(self):
        subprocess.run([BUILD / "bin/golden_runs", self.folder / "made"], check=True)
        self.run_folder = self.folder / "made/python"
        self.assertEqual(gzip.decompress(self.export("--flamegraph", "s.txt.gz").read_bytes()), self.export("--flamegraph", "s.txt").read_bytes())
        done = subprocess.run([COMMAND, "export", self.run_folder, "--csv", self.folder / "x.csv", "--by-step"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        damaged = self.folder / "made/damaged"
        done = subprocess.run([COMMAND, "export", damaged, "--flamegraph", self.folder / "d.txt"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("testhost-4502-1.hptrace", done.stderr)


def process_steps(report):
    return report["steps"]["count"]


if __name__ == "__main__":
    main()
