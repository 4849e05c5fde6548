#!/usr/bin/env python3
"""Every JSON document of the golden runs is as its schema says, has no key that the schema lacks, and a schema that lies is found out.

test_schema.py [-v] [Test.test_…]; HOSTPROBE_TEST_BUILD is the build folder
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import documents  # noqa: E402

BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", HERE.parents[1] / "build")).absolute()
ADD = "add it to libhostprobe/report/schema"


def strict(schema):
    """The same, but an object has no other keys than those that it names."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") is not None:
        made.setdefault("additionalProperties", False)
    return made


def problems(schema, document):
    """A line for each place where the document is not as the schema says."""
    found = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{'/'.join(str(part) for part in one.absolute_path)}: {one.message[:200]}" for one in found]


def properties(schema, at=""):
    """Paths of all keys that a schema names."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties" and isinstance(value, dict):
                for name, one in value.items():
                    yield f"{at}.{name}"
                    yield from properties(one, f"{at}.{name}")
            else:
                yield from properties(value, at)
    elif isinstance(schema, list):
        for one in schema:
            yield from properties(one, at)


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.build = documents.Build(BUILD)
        cls.schemas = {name: json.loads(cls.build.run(("schema", name), folder.name)) for name in ("report", "diff", "top")}
        said = documents.documents_of(cls.build, (), Path(folder.name))
        cls.documents = {"report": {}, "diff": {}}
        for (_, words), text in said.items():
            kind = words.split()[0]
            if kind in cls.documents and "--json" in words and text.startswith(b"{"):
                whole = text.split(b"--- standard error")[0].split(b"--- status")[0]
                cls.documents[kind][words] = json.loads(whole.decode(errors="replace"))

    def test_schemas_are_schemas_and_lie_in_the_repository(self):
        for name, schema in self.schemas.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            path = HERE.parents[1] / f"libhostprobe/report/schema/{name}.schema.json"
            self.assertEqual(json.loads(path.read_text()), schema)
            self.assertEqual(schema["$id"], f"urn:hostprobe:{name}:{schema['properties']['schema']['const']}")

    def test_every_document_is_as_its_schema_says(self):
        self.assertGreater(len(self.documents["report"]), 100)
        self.assertGreater(len(self.documents["diff"]), 10)
        for kind, all_of_kind in self.documents.items():
            for words, document in all_of_kind.items():
                with self.subTest(words):
                    self.assertEqual(problems(self.schemas[kind], document), [])

    def test_no_document_has_a_key_that_its_schema_lacks(self):
        for kind, all_of_kind in self.documents.items():
            schema = strict(self.schemas[kind])
            for words, document in all_of_kind.items():
                with self.subTest(words):
                    self.assertEqual(problems(schema, document), [], ADD)

    def test_each_kind_of_lie_is_found(self):
        whole = max(self.documents["report"].values(), key=lambda document: len(document["findings"]))
        schema = self.schemas["report"]
        for change in (lambda d: d.update(schema=2), lambda d: d.pop("findings"), lambda d: d["run"].update(wall_s="1.5"),
                       lambda d: d["findings"][0].update(rank="0"), lambda d: d["findings"][0].pop("cause"),
                       lambda d: d["processes"][0].update(pid=None), lambda d: d["steps"].update(count=1.5),
                       lambda d: d["processes"][0]["threads"][0].update(wait_ms="none")):
            broken = copy.deepcopy(whole)
            change(broken)
            self.assertNotEqual(problems(schema, broken), [])
        more = copy.deepcopy(whole)
        more["processes"][0]["threads"][0]["new_key"] = 1
        self.assertEqual(problems(schema, more), [], "keys may be added")
        self.assertNotEqual(problems(strict(schema), more), [])

    def test_names_of_keys_end_in_their_units(self):
        for name, schema in self.schemas.items():
            for path in set(properties(schema)):
                self.assertRegex(path.split(".")[-1], r"^[a-z][a-z0-9_]*$", name)

    def test_explain_has_the_findings_of_the_report(self):
        with tempfile.TemporaryDirectory(prefix="hostprobe-test.") as folder:
            subprocess.run([BUILD / "bin/golden_runs", folder], check=True)
            explained = 0
            for run in ("python", "own_work", "machine", "threads"):
                report = json.loads(self.build.run(("report", "--json", run), folder))
                for cause in {finding["cause"] for finding in report["findings"]}:
                    document = json.loads(self.build.run(("explain", "--json", cause, run), folder))
                    expected = [finding for finding in report["findings"] if finding["cause"] == cause]
                    self.assertEqual(document["findings"], expected)
                    self.assertTrue(document["page"].startswith(f"# `{cause}`\n"))
                    lost = [row for row in (report["step_time"] or {"lost": []})["lost"] if row["cause"] == cause]
                    self.assertEqual(document["step_time"], lost)
                    text = self.build.run(("explain", cause, run), folder).decode()
                    for finding in expected:
                        self.assertIn(finding["text"], text)
                        for name in finding["evidence"]:
                            self.assertRegex(text, rf"\n      {name} ")
                    explained += 1
            self.assertGreater(explained, 4)


if __name__ == "__main__":
    unittest.main()
