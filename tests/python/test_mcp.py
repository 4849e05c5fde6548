#!/usr/bin/env python3
"""python -m hostprobe.mcp through the client of the SDK: what its tools answer, and what they refuse.

test_mcp.py [-v] [Test.test_…]; HOSTPROBE_TEST_BUILD is the build folder, the Python is MCP_PYTHON of setup.sh --paths
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import probed
from mcp import Client, StdioServerParameters
from probed import BUILD, COMMAND, ProbedTest

PACKAGE = BUILD / "lib/hostprobe/python"
TOOLS = {"list_runs", "findings", "steps", "explain", "tables", "query", "compare"}
MOST_BYTES = 256 << 10


class Mcp(ProbedTest):
    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs"
        subprocess.run([BUILD / "bin/golden_runs", self.runs], check=True)
        self.outside = self.folder / "outside"
        shutil.copytree(self.runs / "healthy", self.outside)

    def asked(self, *questions, folders=None, raw=False):
        """The answers to (tool, arguments), of one server: JSON, or the text of a refusal as a str."""
        async def ask():
            server = StdioServerParameters(command=sys.executable, args=["-m", "hostprobe.mcp", *map(str, folders or [self.runs])],
                                           env={**os.environ, "PYTHONPATH": str(PACKAGE)})
            async with Client(server) as client:
                listed = await client.list_tools()
                self.tools = {tool.name: tool for tool in listed.tools}
                return [await client.call_tool(name, arguments) for name, arguments in questions]
        answers = []
        for result in asyncio.run(ask()):
            text = "".join(part.text for part in result.content)
            self.assertLessEqual(len(text.encode()), MOST_BYTES)
            answers.append(text if result.is_error or raw else json.loads(text))
        return answers if len(answers) != 1 else answers[0]

    def refused(self, *questions, **options):
        answers = self.asked(*questions, **options)
        for question, answer in zip(questions, answers if len(questions) > 1 else [answers]):
            self.assertIsInstance(answer, str, question)
        return answers

    def test_its_tools_are_read_only_and_say_what_they_do(self):
        runs = self.asked(("list_runs", {}))["runs"]
        self.assertEqual(set(self.tools), TOOLS)
        for tool in self.tools.values():
            self.assertTrue(tool.annotations.read_only_hint, tool.name)
            self.assertGreater(len(tool.description), 40, tool.name)
        self.assertEqual({Path(run["path"]).name for run in runs}, {path.name for path in self.runs.iterdir()})
        self.assertEqual(sum(run["traces"] for run in runs), len(list(self.runs.rglob("*.hptrace"))))

    def test_answers_are_those_of_the_command(self):
        found, steps, explained, compared = self.asked(
            ("findings", {"run": "python"}), ("steps", {"run": str(self.runs / "python")}),
            ("explain", {"run": "python", "cause": "gc_pause"}), ("compare", {"a": "before", "b": "after", "fail_over_pct": 3}))
        report = json.loads(subprocess.check_output([COMMAND, "report", "--json", self.runs / "python"]))
        self.assertEqual(found["findings"], report["findings"])
        self.assertEqual(found["headline"], report["headline"])
        self.assertEqual(found["step_share_pct"], report["step_share_pct"])
        self.assertEqual(steps["steps"], report["steps"])
        self.assertEqual(explained["findings"], [one for one in report["findings"] if one["cause"] == "gc_pause"])
        self.assertIn("Python stops its threads", explained["page"])
        done = subprocess.run([COMMAND, "diff", "--json", "--fail-over", "3%", self.runs / "before", self.runs / "after"],
                              capture_output=True)
        expected = json.loads(done.stdout)
        self.assertEqual({**compared, "hostprobe": None}, {**expected, "hostprobe": None})  # which build, that is
        self.assertEqual(compared["gate"]["result"], "slower")

    def test_a_recorded_program_can_be_asked_about(self):
        run = self.folder / "recorded"
        subprocess.run([COMMAND, "run", "-o", run, "--mode", "trace", "--simgpu", "1", "--", BUILD / "examples/train_loop"], check=True,
                       capture_output=True)
        counted, steps = self.asked(("query", {"run": str(run), "sql": "select count(*), min(duration_ns) >= 0 from launches"}),
                                    ("steps", {"run": str(run)}), folders=[run])
        report = json.loads(subprocess.check_output([COMMAND, "report", "--json", run]))
        self.assertEqual(counted["rows"], [[sum(process["launches"]["count"] for process in report["processes"]), True]])
        self.assertEqual(steps["steps"]["count"], report["steps"]["count"])

    def test_query_gives_rows_and_says_when_there_were_more(self):
        few, many, wide, tables, joined = self.asked(
            ("query", {"run": "python", "sql": "select cause, rank, share_pct from findings order by share_pct desc limit 2"}),
            ("query", {"run": "python", "sql": "select i from range(5000) t(i)"}),
            ("query", {"run": "python", "sql": "select repeat('x', 10000) from range(900)"}),
            ("tables", {}),
            ("query", {"run": "python", "sql": "with w as (select tid, sum(duration_ns) s from waits group by tid) "
                                               "select role, s from w join threads using (tid) order by s desc"}))
        self.assertEqual(few["columns"], ["cause", "rank", "share_pct"])
        self.assertEqual(few["rows"][0][:2], ["gc_pause", 0])
        self.assertFalse(few["more"])
        self.assertEqual((many["rows"][:2], len(many["rows"]), many["more"]), ([[0], [1]], 1000, True))
        self.assertTrue(wide["more"] and 0 < len(wide["rows"]) < 900)
        self.assertIn("launches", {table["name"] for table in tables["tables"]})
        self.assertGreater(len(joined["rows"]), 0)

    def test_query_can_neither_write_nor_reach_files_nor_change_settings(self):
        secret = self.folder / "secret.csv"
        secret.write_text("a\n1\n")
        made = self.folder / "made.csv"
        wrong = ["insert into findings values (1)", "create table t as select 1", "drop table findings", f"copy findings to '{made}'",
                 f"select * from read_csv('{secret}')", f"select * from '{secret}'", f"attach '{made}' as x", "install httpfs",
                 "load httpfs", "set enable_external_access = true", "select 1; select 2", "pragma version", "", "selec",
                 "select * from no_such_table", "explain analyze select 1", f"select * from glob('{self.folder}/*')",
                 "select getenv('HOME')", "call pragma_version()", f"select * from read_text('{secret}')",
                 "select * from os", "select * from sys_modules"]
        answers = self.refused(*(("query", {"run": "python", "sql": sql}) for sql in wrong))
        self.assertFalse(made.exists())
        for sql, answer in zip(wrong, answers):
            self.assertNotIn("Traceback", answer, sql)

    def test_query_that_does_not_end_is_ended(self):
        self.assertIn("one SELECT", self.refused(("query", {"run": "python", "sql": "begin; select 1"})))
        script = ("import hostprobe.mcp as m, json, sys\nm._MOST_SECONDS = 0.3\n"
                  "try:\n m._rows(m.Run(sys.argv[1]), 'select count(*) from range(10000000000) a, range(1000000) b')\n"
                  "except m.Refused as error: print(error)")
        said = subprocess.run([sys.executable, "-c", script, self.runs / "python"], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                              capture_output=True, text=True, timeout=120, check=True).stdout
        self.assertIn("longer than", said)

    def test_no_path_leads_out_of_the_folders(self):
        (self.runs / "link").symlink_to(self.outside)
        inner = self.runs / "inner"
        shutil.copytree(self.runs / "python", inner)
        trace = next(self.outside.glob("*.hptrace"))
        (inner / "other.hptrace").symlink_to(trace)
        deep = self.runs / "deep/one"
        deep.mkdir(parents=True)
        (deep / "other.hptrace").symlink_to(trace)
        paths = [str(self.outside), "../outside", "python/../../outside", "link", str(self.runs / "link"), "inner", "deep", "/", "",
                 "/etc/passwd", "no_such_run", "python\0", "python/" + "x" * 5000]
        answers = self.refused(*((tool, {"run": path}) for path in paths for tool in ("findings", "steps")))
        for answer in answers:
            self.assertNotIn("Traceback", answer)
        self.refused(*(("compare", {"a": "python", "b": path}) for path in paths))
        self.assertIn("outside", answers[0])
        own = self.asked(("findings", {"run": "python/" + next((self.runs / "python").glob("*.hptrace")).name}))
        self.assertIsInstance(own["findings"], list)

    def test_nothing_in_the_folders_changes(self):
        def states():
            return {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in sorted(self.runs.rglob("*"))}
        (self.runs / "python/testhost-9-1-0001.profile.json").write_text('{"traceEvents": []}')
        before = states()
        self.asked(("list_runs", {}), *((tool, {"run": "python"}) for tool in ("findings", "steps")),
                   ("explain", {"run": "python", "cause": "gc_pause"}), ("query", {"run": "python", "sql": "select * from waits"}),
                   ("compare", {"a": "python", "b": "before"}))
        self.assertEqual(states(), before)

    def test_wrong_arguments_are_answered(self):
        self.refused(("findings", {}), ("findings", {"run": 3}), ("findings", {"run": "python", "job": 99}), ("no_such_tool", {}),
                     ("explain", {"run": "python", "cause": "no_such_cause"}), ("compare", {"a": "python"}),
                     ("compare", {"a": "python", "b": "before", "fail_over_pct": -1}), ("query", {"run": "python", "sql": None}),
                     ("findings", {"run": "damaged/testhost-4502-1.hptrace"}))

    def test_damaged_runs_are_answered_with_what_can_be_read(self):
        found = self.asked(("findings", {"run": "damaged"}))
        self.assertGreater(len(found["unreadable"]), 0)

    def test_what_is_missing_is_one_line(self):
        for words, python, expected in ((["-m", "hostprobe.mcp", self.runs], "/usr/bin/python3", "pip install 'hostprobe[mcp]'"),
                                        (["-m", "hostprobe.mcp", "/no/such"], sys.executable, "is no folder")):
            done = subprocess.run([python, *map(str, words)], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, "")
            self.assertIn(expected, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    probed.main()
