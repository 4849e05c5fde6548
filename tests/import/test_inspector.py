#!/usr/bin/env python3
"""Collectives as NCCL's Inspector wrote them: on a line or on many, with times and without, damaged and cut.

test_inspector.py [-v] [Test.test_…]
"""

import gzip
import json
import os
import random
import shutil
import subprocess

from imported import ImportTest, main
from inspector_log import BEGIN_US, inspector_lines, record
from probed import COMMAND


class Inspector(ImportTest):
    def imported(self, content, status=0, name="gpu-node-1-pid438776.log"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        shutil.rmtree(self.run_folder, ignore_errors=True)
        done = subprocess.run([COMMAND, "import", "-o", self.run_folder, "--inspector", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def lines(self, function="AllReduce"):
        dumped = subprocess.check_output([COMMAND, "dump", self.run_folder, "--json"], text=True)
        return [line for line in map(json.loads, dumped.splitlines()) if line["function"] == function]

    def report(self):
        return json.loads(subprocess.check_output([COMMAND, "report", "--json", self.run_folder]))

    def test_collectives_meet_and_the_late_rank_is_named(self):
        said = self.imported("".join(inspector_lines(9)))
        self.assertIn("2 collectives without a time of their own", said)
        report = self.report()
        self.assertEqual({(process["pid"], process["host"], process["rank"]) for process in report["processes"]},
                         {(438776, "gpu-node-1", 0), (438777, "gpu-node-1", 1)})
        row = report["collectives"][0]
        self.assertEqual((row["op"], row["ranks"], row["count"], row["bytes"]), ("AllReduce", 2, 9, 9 << 20))
        self.assertEqual(row["last"]["rank"], 1)
        self.assertAlmostEqual(row["skew_max_us"], 300, delta=15)
        size = row["sizes"][0]
        self.assertEqual((size["source"], size["count"], size["median_us"]), ("gpu", 18, 400))
        self.assertAlmostEqual(row["bus_gb_s"], 2 * (2 - 1) / 2 * (1 << 20) / 400e-6 / 1e9, delta=0.03)

    def test_times_are_those_of_the_call_and_of_its_kernel(self):
        self.imported(json.dumps(record(1)))
        call, kernel = self.lines()[0], self.lines("kernel")[0]
        self.assertEqual((call["begin_ns"], call["duration_ns"]), (1000 * (BEGIN_US + 10_000), 5000))
        self.assertEqual((kernel["begin_ns"], kernel["duration_ns"]), (1000 * (BEGIN_US + 10_020), 401_000))

    def test_lines_and_objects_over_many_lines_are_the_same(self):
        records = [record(number, rank) for number in range(1, 5) for rank in range(2)]
        found = []
        for text in ("\n".join(map(json.dumps, records)), "\n".join(json.dumps(one, indent=1) for one in records),
                     "\r\n".join(map(json.dumps, records)), "\n\n".join(json.dumps(one, indent=4) for one in records) + "\n"):
            self.imported(text)
            found.append(self.lines())
        self.imported(gzip.compress("\n".join(map(json.dumps, records)).encode()), name="log.gz")
        self.assertTrue(all(one == found[0] for one in [*found, self.lines()]))
        self.assertEqual(len(found[0]), 8)

    def test_damaged_objects_cost_themselves(self):
        texts = [json.dumps(record(number), indent=2) for number in range(1, 8)]
        texts[1] = texts[1][:len(texts[1]) // 2]
        texts[3] = texts[3].replace('"rank": 0', '"rank": nope')
        texts[5] = texts[5].replace('"coll": "AllReduce"', '"coll": "NoSuchThing"')
        said = self.imported("rubbish\n" + "\n".join(texts)[:-20])
        self.assertEqual([line["args"]["call"]["sequence"] for line in self.lines()], [1, 3, 5])
        self.assertIn("objects that are damaged, the first at byte", said)
        self.assertIn("objects without a collective, or a time, the first at byte", said)

    def test_wrong_values_are_counted_or_taken_for_nothing(self):
        odd = []
        for number, change in enumerate(({"header": {"id": "zz", "rank": 0, "n_ranks": 2}}, {"header": None}, {"header": []},
                                         {"header": {"id": "0x1", "rank": 10**12, "n_ranks": -3}}), 1):
            odd.append({**record(number), **change})
        wrong = [{**record(5), "metadata": None}, {**record(6), "metadata": {"dump_timestamp_us": -1}},
                 {**record(7), "metadata": {"dump_timestamp_us": 2**62}}, {**record(8), "coll_perf": None}, {}, {"a": 1}]
        said = self.imported("\n".join(map(json.dumps, odd + wrong)))
        self.assertIn(f"{len(wrong)} objects without a collective, or a time", said)
        self.assertEqual(len(self.lines()), len(odd))
        self.report()

    def test_messages_are_read(self):
        one = record(3)
        work = one.pop("coll_perf")
        one["p2p_perf"] = {key.replace("coll", "p2p"): value for key, value in work.items()} | {"p2p": "Send", "p2p_peer": 1}
        self.imported(json.dumps(one))
        self.assertEqual(self.lines("Send")[0]["args"]["place"]["peer"], 1)

    def test_what_is_no_dump_is_refused_with_a_reason(self):
        for content in (b"", b"text", b"{}", b"[]", b"{" * 5000, b'{"header": {}}', os.urandom(500), b"{\n" * 3000):
            said = self.imported(content, status=1)
            self.assertEqual(len([line for line in said.splitlines() if "nothing imported" in line]), 1, (content[:9], said))

    def test_random_bytes_do_no_harm(self):
        whole = "".join(inspector_lines(4)).encode()
        draw = random.Random(5)
        for number in range(40):
            broken = bytearray(whole)
            for _ in range(5):
                broken[draw.randrange(len(broken))] = draw.randrange(256)
            path = self.folder / "broken.log"
            path.write_bytes(bytes(broken[:draw.randrange(1, len(broken))] if number % 3 == 0 else broken))
            run = self.folder / f"run-{number}"
            done = subprocess.run([COMMAND, "import", "-o", run, "--inspector", path], capture_output=True, text=True)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 0:
                self.assertEqual(subprocess.run([COMMAND, "report", "--json", run], capture_output=True).returncode, 0)


if __name__ == "__main__":
    main()
