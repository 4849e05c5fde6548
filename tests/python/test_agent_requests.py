#!/usr/bin/env python3
"""Requests to write out one step of all ranks, which agents pass on; and metrics of hosts in the place of their ranks'."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from probed import BUILD

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

from hostprobe._per_host import PerHost
from hostprobe._triggers import BadRequest, TriggerRequests, leave_request
from prometheus_client import core

EVERY_S = 5


class Sleeper:
    """A process of this user that is there."""

    def __init__(self, case):
        self.process = subprocess.Popen(["sleep", "600"])
        case.addCleanup(self.end)

    def end(self):
        self.process.kill()
        self.process.wait()

    def status(self, job="nightly", count=100, median_ms=50.0, **others):
        steps = {"source": "marks", "count": count, "median_ms": median_ms}
        return {"pid": self.process.pid, "job": job, "rank": 0, "steps": steps, "worker": False, **others}


class Requests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        self.addCleanup(folder.cleanup)
        self.data = Path(folder.name)
        self.ranks = [Sleeper(self) for _ in range(2)]
        self.requests = TriggerRequests(self.data, EVERY_S)

    def taken(self, statuses, requests=None):
        """Who is asked, and takes it."""
        requests = requests or self.requests
        due = requests.due(statuses)
        for one in due:
            requests.taken(one)
        return due

    def statuses(self, **changes):
        return [rank.status(**changes) for rank in self.ranks]

    def test_each_rank_of_the_job_is_asked_once(self):
        leave_request(self.data, "nightly", 12000, "slow one")
        statuses = [*self.statuses(), self.ranks[0].status(job="other") | {"pid": os.getpid()}]
        self.assertEqual([(one.at_step, one.text) for one in self.taken(statuses)], [(12000, "slow one")] * 2)
        self.assertEqual(self.requests.due(statuses), [])
        leave_request(self.data, "nightly", 13000, "")
        self.assertEqual([one.at_step for one in self.taken(statuses)], [13000] * 2)

    def test_who_does_not_take_it_is_asked_three_times(self):
        leave_request(self.data, "nightly", 12000, "")
        self.assertEqual([len(self.requests.due(self.statuses())) for _ in range(5)], [2, 2, 2, 0, 0])

    def test_a_rank_that_comes_later_is_asked_too(self):
        leave_request(self.data, "nightly", 12000, "")
        self.assertEqual(len(self.taken(self.statuses()[:1])), 1)
        self.assertEqual([one.pid for one in self.taken(self.statuses())], [self.ranks[1].process.pid])

    def test_of_next_all_agents_name_the_same_step_that_none_has_ended(self):
        leave_request(self.data, "nightly", None, "")
        other = TriggerRequests(self.data, EVERY_S)
        named = {one.at_step for one in self.requests.due(self.statuses(count=100)) + other.due(self.statuses(count=104))}
        self.assertEqual(len(named), 1)
        self.assertGreaterEqual(named.pop(), 100 + 2 * EVERY_S * 1000 / 50)

    def test_of_next_agents_at_the_same_moment_name_one(self):
        leave_request(self.data, "nightly", None, "")
        named = []
        agents = [threading.Thread(target=lambda count=count: named.extend(TriggerRequests(self.data, EVERY_S).due(self.statuses(count=count))))
                  for count in range(100, 108)]
        for agent in agents:
            agent.start()
        for agent in agents:
            agent.join()
        self.assertEqual((len(named), len({one.at_step for one in named})), (16, 1))

    def test_of_next_ranks_that_count_from_different_moments_are_asked_at_one_moment(self):
        agent = TriggerRequests(self.data, 0.05)
        for wrong in ({"source": "detected", "count": 7, "median_ms": 5.0}, {"source": "not_yet", "count": 0, "median_ms": 0.0}, {}):
            leave_request(self.data, "nightly", None, "")
            statuses = [self.ranks[0].status(), self.ranks[1].status(steps=wrong)]
            self.assertEqual(agent.due(statuses), [])
            time.sleep(0.25)
            self.assertEqual([one.at_step for one in self.taken(statuses, agent)], [None, None])
            self.assertEqual(agent.due(statuses), [])

    def test_what_is_named_by_others_or_is_nothing_counts_not(self):
        name = leave_request(self.data, "nightly", None, "")
        for wrong in ("", "{}", '{"at_s": "now"}', '{"at_s": NaN}', '{"at_step": -1}', "[" * 3000):
            (self.data / "_triggers" / f"{name}.when").write_text(wrong)
            self.assertEqual(self.requests.due(self.statuses()), [], wrong)

    def test_who_is_no_rank_is_not_asked(self):
        leave_request(self.data, "nightly", 12000, "")
        self.assertEqual(self.requests.due([self.ranks[0].status(rank=None), self.ranks[1].status(worker=True)]), [])

    def test_what_is_no_request_is_left_alone(self):
        folder = self.data / "_triggers"
        folder.mkdir()
        good = {"job": "nightly", "at_step": 7, "text": ""}
        for number, wrong in enumerate(({}, [], 3, {**good, "job": 1}, {**good, "at_step": 0}, {**good, "at_step": -3}, {**good, "at_step": 1 << 70},
                                        {**good, "at_step": True}, {**good, "at_step": "7"}, {**good, "text": "-o/tmp/x"}, {**good, "text": "a\nb"},
                                        {**good, "text": "x" * 67}, {**good, "text": None}, {**good, "job": "other"})):
            (folder / f"{number}.json").write_text(json.dumps(wrong))
        (folder / "cut.json").write_text('{"job": "nightly", "at_')
        (folder / "large.json").write_text(json.dumps(good) + " " * 5000)
        (folder / "deep.json").write_text("[" * 2000)
        (folder / "bytes.json").write_bytes(b"\xff\xfe")
        os.mkfifo(folder / "pipe.json")
        (folder / "folder.json").mkdir()
        (self.data / "elsewhere").write_text(json.dumps(good))
        (folder / "link.json").symlink_to(self.data / "elsewhere")
        self.assertEqual(self.requests.due(self.statuses()), [])

    def test_an_old_one_counts_no_more(self):
        path = self.data / "_triggers" / leave_request(self.data, "nightly", 12000, "")
        os.utime(path, (time.time() - 3600,) * 2)
        self.assertEqual(self.requests.due(self.statuses()), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root can make files of others")
    def test_another_users_request_is_not_for_this_users_processes(self):
        path = self.data / "_triggers" / leave_request(self.data, "nightly", 12000, "")
        os.chown(path, 12345, 12345)
        self.assertEqual(self.requests.due(self.statuses()), [])

    def test_statuses_that_are_none_name_nobody(self):
        leave_request(self.data, "nightly", None, "")
        for wrong in ({"pid": "x"}, {"pid": 1 << 40}, {"pid": None}, {"steps": 3}, {"steps": {"count": "x", "median_ms": "y"}}, {"job": 7}):
            self.assertEqual(self.requests.due([{**self.ranks[0].status(), **wrong}]), [], wrong)

    def test_a_folder_that_is_not_there_has_none(self):
        self.assertEqual(TriggerRequests(self.data / "absent", EVERY_S).due(self.statuses()), [])

    def test_a_link_in_the_place_of_the_folder_leads_nowhere(self):
        elsewhere = self.data / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "1.json").write_text(json.dumps({"job": "nightly", "at_step": None, "text": ""}))
        (self.data / "_triggers").symlink_to(elsewhere)
        self.assertEqual(self.requests.due(self.statuses()), [])
        with self.assertRaises(OSError):
            leave_request(self.data, "nightly", 7, "")
        self.assertEqual([path.name for path in elsewhere.iterdir()], ["1.json"])

    def test_looking_leaves_no_file_open(self):
        self.test_what_is_no_request_is_left_alone()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            self.requests.due(self.statuses())
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_old_requests_go_when_another_is_made(self):
        old = self.data / "_triggers" / leave_request(self.data, "nightly", 7, "")
        os.utime(old, (time.time() - 3600,) * 2)
        leave_request(self.data, "nightly", 8, "")
        self.assertFalse(old.exists())

    def test_a_text_that_does_not_fit_is_refused_where_it_is_asked_for(self):
        for text in ("x" * 67, "a\nb", "\x1b[31m", "-o"):
            with self.assertRaises(BadRequest):
                leave_request(self.data, "nightly", 7, text)


class OfHosts(unittest.TestCase):
    def setUp(self):
        self.hosts = PerHost(core)

    def families(self, values, kind=core.GaugeMetricFamily):
        family = kind("of_ranks", "x", labels=["job", "host", "rank"])
        for rank, value in values.items():
            family.add_metric(["j", "n", rank], value)
        return [family]

    def values(self, families):
        found = list(self.hosts.of(families))
        return {sample.labels.get("of"): sample.value for family in found for sample in family.samples}

    def test_a_gauge_is_its_largest_and_its_median(self):
        self.assertEqual(self.values(self.families({"0": 1.0, "1": 7.0, "2": 2.0})), {"max": 7.0, "median": 2.0})

    def test_no_label_is_of_a_rank(self):
        found = list(self.hosts.of(self.families({"0": 1.0, "1": 7.0})))
        self.assertEqual({frozenset(sample.labels) for sample in found[0].samples}, {frozenset({"job", "host", "of"})})

    def test_a_counter_grows_by_what_the_ranks_gained_and_never_falls(self):
        counter = core.CounterMetricFamily
        self.assertEqual(self.values(self.families({"0": 10.0, "1": 20.0, "2": 90.0}, counter)), {"max": 90.0, "median": 20.0})
        self.assertEqual(self.values(self.families({"0": 11.0, "1": 25.0, "2": 91.0}, counter)), {"max": 95.0, "median": 21.0})
        self.assertEqual(self.values(self.families({"0": 12.0, "1": 25.0}, counter)), {"max": 96.0, "median": 21.5}, "a rank is gone")
        self.assertEqual(self.values(self.families({"0": 3.0, "1": 25.0}, counter)), {"max": 99.0, "median": 23.0}, "one began again")

    def test_a_histogram_is_added_up(self):
        family = core.HistogramMetricFamily("lengths", "x", labels=["job", "host", "rank"])
        for rank in ("0", "1"):
            family.add_metric(["j", "n", rank], [("1.0", 3.0), ("+Inf", 4.0)], 5.0)
        found, = self.hosts.of([family])
        self.assertEqual({(sample.name, sample.labels.get("le")): sample.value for sample in found.samples},
                         {("lengths_bucket", "1.0"): 6.0, ("lengths_bucket", "+Inf"): 8.0, ("lengths_count", None): 8.0, ("lengths_sum", None): 10.0})

    def test_what_is_of_no_rank_stays(self):
        family = core.GaugeMetricFamily("of_agent", "x", value=3)
        self.assertEqual(list(self.hosts.of([family])), [family])

    def test_jobs_that_ended_are_forgotten(self):
        self.values(self.families({"0": 10.0}, core.CounterMetricFamily))
        self.values([])
        self.assertEqual((self.hosts._grown, self.hosts._last), ({}, {}))


if __name__ == "__main__":
    unittest.main()
