#!/usr/bin/env python3
"""`hostprobe agent`: metrics of processes that record, scraped by a real Prometheus; who may ask; what hostile processes say."""

import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import probed
from probed import BUILD, COMMAND, SOURCE

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

from hostprobe import agent as hostprobe_agent
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

PROMETHEUS = Path(os.environ.get("HOSTPROBE_CACHE") or Path.home() / ".cache/hostprobe", "prometheus/usr/bin")
FILES = SOURCE / "python/hostprobe/prometheus"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(BUILD / "lib/hostprobe/python")}


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what} did not come")


def free_port():
    """None of those that the kernel gives to whoever asks for any: another test would get it before it is used."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(10000, first), 100):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise AssertionError("no port is free")


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.read().decode()


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, *words, **options):
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def agent(self, *words):
        process = self.start(sys.executable, "-m", "hostprobe.agent", "--every", "0.5", *words, env=ENVIRONMENT)
        self.assertIn("metrics at", process.stdout.readline())
        return process


class OfAJob(WithFolder):
    def metrics(self):
        """Of this test's job: the agent sees the jobs of other tests that run meanwhile, too."""
        families = text_string_to_metric_families(get(f"http://127.0.0.1:{self.port}/metrics"))
        return {(sample.name, sample.labels.get("rank")): sample for family in families for sample in family.samples
                if sample.labels.get("job", "nightly") == "nightly"}

    def record(self):
        """Two ranks that go on until they are ended."""
        self.job = self.start(COMMAND, "run", "-o", self.folder / "run", "--simgpu", "2", "--job", "nightly", "--", BUILD / "examples/train_parallel",
                              "--ranks", "2", "--steps", "1000000", "--pipeline", "1", start_new_session=True)

        def end():
            try:
                os.killpg(self.job.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.addCleanup(end)
        self.port = free_port()

    def test_prometheus_scrapes_a_running_job_and_every_query_of_the_dashboard_has_rows(self):
        self.record()
        self.agent("--listen", f"127.0.0.1:{self.port}", "--data", self.folder / "data", "--rows-cpu", "50")
        wait_for(lambda: self.metrics().get(("hostprobe_late_seconds_total", "1")))
        metrics = self.metrics()
        for rank in ("0", "1"):
            labels = metrics["hostprobe_records_total", rank].labels
            self.assertEqual((labels["job"], set(labels)), ("nightly", {"job", "host", "rank"}))
            self.assertGreater(metrics["hostprobe_records_total", rank].value, 0)
            self.assertEqual(metrics["hostprobe_recording", rank].value, 1)
        web = free_port()
        config = self.folder / "prometheus.yml"
        config.write_text(f"global: {{scrape_interval: 1s}}\nrule_files: [{FILES}/alerts.yml]\nscrape_configs:\n"
                          f"  - {{job_name: hostprobe, honor_labels: true, static_configs: [{{targets: ['127.0.0.1:{self.port}']}}]}}\n")
        self.start(PROMETHEUS / "prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
                   f"--web.listen-address=127.0.0.1:{web}")

        def rows(query):
            try:
                return json.loads(get(f"http://127.0.0.1:{web}/api/v1/query?query={urllib.parse.quote(query)}"))["data"]["result"]
            except (OSError, urllib.error.URLError):
                return []
        dashboard = json.loads((FILES / "dashboard.json").read_text())
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                with self.subTest(panel["title"]):
                    self.assertTrue(wait_for(lambda: rows(target["expr"].replace("$job", ".*"))))
        rules = json.loads(get(f"http://127.0.0.1:{web}/api/v1/rules"))["data"]["groups"][0]["rules"]
        self.assertEqual({rule["name"] for rule in rules if rule["lastError" if "lastError" in rule else "health"] in ("ok", "unknown", "")},
                         {rule["name"] for rule in rules})

    def test_a_request_in_the_folder_of_rows_has_all_ranks_write_out_the_same_step(self):
        script = self.folder / "steps.py"
        script.write_text("import hostprobe, time\nwhile True:\n    hostprobe.step()\n    time.sleep(0.005)\n")
        one = f"{sys.executable} {script}"
        self.job = self.start(COMMAND, "run", "-o", self.folder / "run", "--target", "all", "--job", "nightly", "--", "sh", "-c",
                              f"RANK=0 WORLD_SIZE=2 {one} & RANK=1 WORLD_SIZE=2 {one}", start_new_session=True,
                              env={**ENVIRONMENT, "HOSTPROBE_SLOW_STEP_PCT": "0"})  # on a busy machine there are slow ones
        self.addCleanup(lambda: os.killpg(self.job.pid, signal.SIGKILL))
        data = self.folder / "data"
        self.port = free_port()
        self.agent("--listen", f"127.0.0.1:{self.port}", "--data", data)
        wait_for(lambda: self.metrics().get(("hostprobe_steps_total", "1")))
        ask = [COMMAND, "job", data, "--job", "nightly", "--trigger"]
        for words in (["0"], ["soon"], ["next", "--text", "x" * 100]):
            self.assertNotEqual(subprocess.run([*ask, *words], capture_output=True, env=ENVIRONMENT).returncode, 0, words)
        subprocess.run([*ask, "next", "--text", "all of you"], check=True, capture_output=True, env=ENVIRONMENT)

        def said():
            status = json.loads(subprocess.run([COMMAND, "ctl", self.folder / "run", "status", "--json"], capture_output=True).stdout)
            triggers = [process["last_trigger"] for process in status["processes"] if process["rank"] is not None]
            return [trigger["text"] for trigger in triggers if trigger and trigger["reason"] == "command"]
        wait_for(lambda: len(said()) == 2)
        self.assertEqual(len(set(said())), 1)
        self.assertRegex(said()[0], r"^step \d+: all of you$")

    def test_of_very_large_jobs_hosts_have_metrics_in_the_place_of_ranks(self):
        self.record()
        self.agent("--listen", f"127.0.0.1:{self.port}", "--per-host", "--data", self.folder / "data", "--rows-cpu", "50")

        def samples():
            families = text_string_to_metric_families(get(f"http://127.0.0.1:{self.port}/metrics"))
            return {(sample.name, sample.labels.get("of")): sample for family in families for sample in family.samples}
        wait_for(lambda: samples().get(("hostprobe_lost_seconds_total", "median")))
        found = samples()
        self.assertFalse([name for (name, _), sample in found.items() if "rank" in sample.labels])
        self.assertGreaterEqual(found["hostprobe_records_total", "max"].value, found["hostprobe_records_total", "median"].value)
        self.assertIn(("hostprobe_step_seconds_count", None), found)

    def test_the_agent_outlives_the_processes_and_they_the_agent(self):
        self.record()
        first = self.agent("--listen", f"127.0.0.1:{self.port}")
        wait_for(lambda: self.metrics().get(("hostprobe_steps_total", "0")))
        first.kill()
        first.wait()
        self.assertIsNone(self.job.poll())
        self.agent("--listen", f"127.0.0.1:{self.port}")
        wait_for(lambda: self.metrics().get(("hostprobe_steps_total", "0")))
        os.killpg(self.job.pid, signal.SIGKILL)
        wait_for(lambda: self.metrics()["hostprobe_agent_processes", None].value == 0)
        self.assertNotIn(("hostprobe_steps_total", "0"), self.metrics())


class WhoMayAsk(WithFolder):
    def refusal(self, *words):
        done = subprocess.run([sys.executable, "-m", "hostprobe.agent", *map(str, words)], capture_output=True, text=True, env=ENVIRONMENT,
                              timeout=60)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        return done.stderr

    def test_beyond_loopback_only_with_a_token(self):
        for address in ("0.0.0.0:0", "[::]:0", "10.1.2.3:9465", "node17:9465"):
            self.assertIn("--token-file", self.refusal("--listen", address))
        for address in ("9465", "localhost", "127.0.0.1:x", "127.0.0.1:70000", ":1", ""):
            self.assertIn("ADDRESS:PORT", self.refusal("--listen", address))

    def test_a_token_that_others_may_read_or_that_is_none_is_refused(self):
        token = self.folder / "token"
        for text, mode in (("a" * 32, 0o644), ("short", 0o600), ("", 0o600)):
            token.write_text(text)
            token.chmod(mode)
            self.refusal("--listen", "0.0.0.0:0", "--token-file", token)

    def test_who_asks_with_the_token_gets_the_metrics_and_others_do_not(self):
        token = self.folder / "token"
        token.write_text("secret" * 6)
        token.chmod(0o600)
        port = free_port()
        self.agent("--listen", f"127.0.0.1:{port}", "--token-file", token)
        url = f"http://127.0.0.1:{port}/metrics"
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret" * 6}):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                get(url, **headers)
            self.assertEqual(refused.exception.code, 401)
            refused.exception.close()
        self.assertIn("hostprobe_agent_processes", get(url, Authorization="Bearer " + "secret" * 6))

    def test_a_unix_socket_is_its_users_and_what_a_killed_agent_left_is_replaced(self):
        path = self.folder / "socket"
        for _ in range(2):
            one = self.agent("--listen", f"unix:{path}")
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
                client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                self.assertIn(b"200 OK", client.recv(1000))
            self.assertIn("another agent", self.refusal("--listen", f"unix:{path}"))
            one.kill()
            one.wait()

    def test_a_file_that_is_no_socket_stays(self):
        path = self.folder / "file"
        path.write_text("mine")
        self.refusal("--listen", f"unix:{path}")
        self.assertEqual(path.read_text(), "mine")

    def test_without_prometheus_client_one_line_says_what_to_install(self):
        (self.folder / "prometheus_client.py").write_text("raise ImportError('No module named prometheus_client')")
        done = subprocess.run([sys.executable, "-m", "hostprobe.agent"], capture_output=True, text=True,
                              env={**ENVIRONMENT, "PYTHONPATH": f"{self.folder}:{ENVIRONMENT['PYTHONPATH']}"})
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.assertIn("pip install", done.stderr)


class Hostile(WithFolder):
    """A command in the place of hostprobe's that says what a process might make it say."""

    def metrics(self, answer, status=0):
        command = self.folder / "hostprobe"
        (self.folder / "answer").write_text(answer)
        command.write_text(f'#!/bin/sh\ncat "{self.folder}/answer"\nexit {status}\n')
        command.chmod(0o755)
        agent = hostprobe_agent.Agent(str(command))
        agent.processes = lambda: [1]
        collector = hostprobe_agent.Collector(agent, 5)
        collector.look()
        registry = CollectorRegistry()
        registry.register(collector)
        text = generate_latest(registry).decode()
        return {sample.name: sample for family in text_string_to_metric_families(text) for sample in family.samples}

    def test_labels_are_bounded_and_escaped(self):
        job = 'a"} 1\nhostprobe_hang{job="b\\\x1b[31m' + "x" * 1000
        found = self.metrics(json.dumps({"job": job, "rank": "7\n8", "records": 3}))
        label = found["hostprobe_records_total"].labels["job"]
        self.assertTrue(label.startswith('a"} 1?hostprobe_hang{job="b\\?[31m'))
        self.assertEqual((len(label), found["hostprobe_records_total"].labels["rank"]), (64, "7?8"))

    def test_numbers_that_are_none_have_no_metric(self):
        for value in ("1", None, [], {}, -1, float("inf"), float("nan")):
            self.assertNotIn("hostprobe_records_total", self.metrics(json.dumps({"records": value, "steps": 7, "last_trigger": "x"})))

    def test_an_answer_that_is_none_is_a_silent_process(self):
        for answer, status in (("", 0), ("[1]", 0), ("{", 0), ('{"records": 1}', 1), ('"' + "x" * (2 << 20) + '"', 0)):
            found = self.metrics(answer, status)
            self.assertEqual((found["hostprobe_agent_processes"].value, found["hostprobe_agent_silent_processes"].value), (0, 1))

    def test_a_table_of_shared_memory_that_is_none_names_nobody(self):
        table = self.folder / "shm"
        for text in ("", "key shmid\n", "cpid nattch uid\nx y z\n1 0 0\n\xff\n", "cpid nattch uid\n" + f"{2**40} 1 {os.geteuid()}\n" * 10000):
            table.write_text(text)
            self.assertEqual(hostprobe_agent.Agent("/bin/false", str(table)).processes(), [])
        self.assertEqual(hostprobe_agent.Agent("/bin/false", str(self.folder / "absent")).processes(), [])

    def test_a_process_that_does_not_have_the_library_is_not_asked(self):
        table = self.folder / "shm"
        table.write_text(f"cpid nattch uid\n{os.getpid()} 1 {os.geteuid()}\n")
        self.assertEqual(hostprobe_agent.Agent("/bin/false", str(table)).processes(), [])


class Files(unittest.TestCase):
    def test_promtool_finds_nothing_wrong_with_the_rules(self):
        done = subprocess.run([PROMETHEUS / "promtool", "check", "rules", FILES / "alerts.yml"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("8 rules found", done.stdout)

    def test_time_lost_and_a_rank_that_is_last_raise_alerts_and_a_busy_gpu_does_not(self):
        def series(name, labels, each):
            return {"series": f"{name}{{{labels}}}", "values": f"0+{each}x60"}
        bad, good = 'job="bad",host="n",rank="3"', 'job="good",host="n",rank="3"'
        inputs = [series("hostprobe_lost_seconds_total", bad + ',cause="gpu_bound"', 48), series("hostprobe_lost_seconds_total", bad + ',cause="gc_pause"', 6),
                  series("hostprobe_waited_seconds_total", bad, 6), series("hostprobe_last_steps_total", bad, 60), series("hostprobe_step_seconds_count", bad, 100),
                  series("hostprobe_lost_seconds_total", good + ',cause="gpu_bound"', 57), series("hostprobe_lost_seconds_total", good + ',cause="gc_pause"', 3),
                  series("hostprobe_waited_seconds_total", good, 0), series("hostprobe_last_steps_total", good, 40), series("hostprobe_step_seconds_count", good, 100)]
        last = {"job": "bad", "host": "n", "rank": "3", "severity": "warning"}
        expected = [{"alertname": "HostprobeTimeLost", "eval_time": "40m", "exp_alerts": [{"exp_labels": {"job": "bad", "severity": "warning"}}]},
                    {"alertname": "HostprobeRankLast", "eval_time": "40m", "exp_alerts": [{"exp_labels": last}]},
                    {"alertname": "HostprobeTimeLost", "eval_time": "5m", "exp_alerts": []}]
        for one in expected:
            for alert in one["exp_alerts"]:
                alert["exp_annotations"] = {"summary": self.summary(one["alertname"]).replace("{{ $labels.job }}", "bad").replace(
                    "{{ $labels.host }}", "n").replace("{{ $labels.rank }}", "3")}
        with tempfile.TemporaryDirectory(prefix="hostprobe-test.") as folder:
            path = Path(folder, "test.yml")  # JSON is YAML
            path.write_text(json.dumps({"rule_files": [str(FILES / "alerts.yml")], "evaluation_interval": "1m",
                                        "tests": [{"interval": "1m", "input_series": inputs, "alert_rule_test": expected}]}))
            done = subprocess.run([PROMETHEUS / "promtool", "test", "rules", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def summary(self, alert):
        rules = (FILES / "alerts.yml").read_text().partition(f"alert: {alert}\n")[2]
        return json.loads(rules.partition("summary: ")[2].partition("\n")[0])

    def test_promtool_finds_nothing_wrong_with_the_metrics(self):
        registry = CollectorRegistry()
        agent = hostprobe_agent.Agent("/bin/false")
        agent.look = lambda: ([hostprobe_agent.Status("j", "0", {"records": 1, "lost": 0, "steps": {"count": 3, "median_ms": 5.0}})], 0)
        collector = hostprobe_agent.Collector(agent, 5)
        collector.look()
        registry.register(collector)
        done = subprocess.run([PROMETHEUS / "promtool", "check", "metrics"], input=generate_latest(registry), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
