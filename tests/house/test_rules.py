#!/usr/bin/env python3
"""Breaks the house rules on purpose: a rule that cannot fail is no rule."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import list_rules
import rules


class Rules(unittest.TestCase):
    def breaches(self, rule, files):
        """The breaches that `rule` finds in a checkout of just these files."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            subprocess.run(["git", "init", "-q", folder], check=True)
            subprocess.run(["git", "-C", folder, "add", "."], check=True)
            return list(rules.RULES[rule](rules.Tree(folder)))

    def assert_rule(self, rule, good, bad, breaches=1):
        self.assertEqual(self.breaches(rule, good), [])
        self.assertEqual(len(self.breaches(rule, bad)), breaches)

    def test_probe_may_not_include_the_analysis_nor_a_cpp_runtime(self):
        probe = "libhostprobe/probe/record/chunk.cpp"
        self.assert_rule("rooms_include_only_what_they_may",
                         {probe: '#include <atomic>\n#include <sys/mman.h>\n#include "format/record.h"\n#include "chunk.h"\n',
                          "libhostprobe/probe/record/chunk.h": "", "libhostprobe/probe/fixes/placement/pin.cpp": '#include "../../record/chunk.h"\n'},
                         {probe: '#include <string>\n#include "analysis/trace.h"\n#include <iostream>\n'}, breaches=3)

    def test_analysis_may_not_include_the_probe(self):
        self.assert_rule("rooms_include_only_what_they_may",
                         {"libhostprobe/analysis/reader.cpp": '#include <string>\n#include "format/file.h"\n'},
                         {"libhostprobe/analysis/reader.cpp": '#include "../probe/chunk.h"\n#include "probe/record/chunk.h"\n',
                          "libhostprobe/probe/record/chunk.h": ""}, breaches=2)

    def test_python_may_include_the_analysis_and_neither_the_probe_nor_the_command(self):
        name = "python/tables/module.cpp"
        self.assert_rule("rooms_include_only_what_they_may",
                         {name: '#include "trace/reader.h"\n#include "hostprobe/hostprobe.h"\n#include "table.h"\n'},
                         {name: '#include "probe/record/chunk.h"\n#include "../../libhostprobe/cli/output.h"\n'}, breaches=2)

    def test_a_cause_is_found_and_has_a_page_with_its_evidence(self):
        rows = "HP_CAUSE(GcPause, gc_pause, \"Garbage\", 3, Gc, \"\", \"\")\n#define HP_COUNT(name)\nHP_COUNT(periods) HP_MAYBE_REAL(quota_cpus)\n"
        page, found = "# `gc_pause`\n\n`periods`\n", "libhostprobe/analysis/causes/garbage.cpp"
        good = {list_rules.CAUSES: rows, "docs/reference/findings.md": "`quota_cpus`", "docs/causes/gc_pause.md": page, found: "Cause::kGcPause;"}
        self.assert_rule("causes_are_found_and_have_a_page", good,
                         {**good, list_rules.CAUSES: rows + "HP_CAUSE(Dummy, dummy, \"Dummy\", 3, None, \"\", \"\")\nHP_TEXT(group)\n",
                          "docs/causes/gone.md": "", found: "Cause::kGcPauses;"}, breaches=5)

    def test_a_fix_stands_in_its_page(self):
        pages = {"docs/reference/fixes.md": "\n| `gc` | what |", "docs/reference/findings.md": "`processes`"}
        self.assert_rule("fixes_stand_in_their_page",
                         {**pages, list_rules.FIXES: "HP_FIX(Gc, gc, \"\", \"\")\nHP_REMEDY(Processes, processes, \"\")\n"},
                         {**pages, list_rules.FIXES: "HP_FIX(Pin, pin, \"\", \"\")\nHP_REMEDY(More, more, \"\")\n"}, breaches=2)

    def test_a_heavy_header_is_in_one_file(self):
        home, other = "libhostprobe/cli/command_line.cpp", "libhostprobe/cli/job_option"
        self.assert_rule("heavy_headers_are_in_one_file",
                         {home: "#include <CLI/CLI.hpp>\n", other + ".cpp": '// #include <CLI/CLI.hpp>\n#include "command_line.h"\n'},
                         {home: "#include <CLI/CLI.hpp>\n", other + ".h": "#include <CLI/App.hpp>\n", "libhostprobe/live/a.cpp": '#include "CLI/CLI.hpp"\n'},
                         breaches=2)

    def test_what_a_hook_is_no_name_says(self):
        hooks = 'HP_WAIT_HOOK(kSemaphore, sem_wait, "GLIBC_2.34", (sem_t * sem)) {\nHP_POLL_HOOK(poll, "x")\nHP_ROW(kWait, kRead, read, "")\n'
        waits, model = "libhostprobe/analysis/measures/waits.cpp", "libhostprobe/model/function.cpp"
        self.assert_rule("only_a_row_says_what_a_hook_is",
                         {"libhostprobe/probe/hooks/wait.cpp": hooks, "libhostprobe/trace/hook_list.cpp": 'return name == "sem_wait";\n',
                          waits: '// "sem_wait"\njson["poll"] = one.read;\n{{"read", 1}, {"x", 2}};\nreturn role == HookRole::kPoll;\n'},
                         {"libhostprobe/probe/hooks/wait.cpp": hooks, model: 'if (name.starts_with("sem_")) return;\nconst char* name = "sem_wait";\n',
                          waits: 'return name == "poll";\nconstexpr const char* kIo[] = {"poll", "read"};\n'}, breaches=4)

    def test_sub_rooms_know_only_those_below(self):
        waits, ranks = "libhostprobe/analysis/measures/waits.h", "libhostprobe/analysis/ranks/collectives.h"
        self.assert_rule("sub_rooms_know_only_those_below",
                         {waits: '#include "blocked.h"\n', ranks: '#include "analysis/measures/waits.h"\n',
                          "libhostprobe/analysis/process.h": '#include "ranks/collectives.h"\n'},
                         {waits: '#include "analysis/ranks/collectives.h"\n#include "../ranks/collectives.h"\n', ranks: "",
                          "libhostprobe/probe/stray.h": ""}, breaches=3)

    def test_rooms_stay_small(self):
        room = {f"libhostprobe/trace/unit{number}.cpp": "" for number in range(rules.MOST_UNITS)}
        self.assert_rule("rooms_stay_small", {**room, "libhostprobe/trace/unit0.h": ""}, {**room, "libhostprobe/trace/unit.h": ""})

    def test_files_include_few_of_ours(self):
        headers = {f"libhostprobe/trace/h{number}.h": "" for number in range(rules.MOST_INCLUDES + 1)}
        quoted = "".join(f'#include "h{number}.h"\n' for number in range(rules.MOST_INCLUDES))
        self.assert_rule("files_include_few_of_ours",
                         {**headers, "libhostprobe/trace/reader.cpp": "#include <vector>\n" + quoted + '#include "trace/h0.h"\n'},
                         {**headers, "libhostprobe/trace/reader.cpp": quoted + f'#include "trace/h{rules.MOST_INCLUDES}.h"\n'})

    def test_headers_are_shallow(self):
        chain = {f"libhostprobe/trace/h{number}.h": f'#include "h{number + 1}.h"\n' for number in range(1, rules.MOST_DEEP)}
        chain[f"libhostprobe/trace/h{rules.MOST_DEEP}.h"] = ""
        self.assert_rule("headers_are_shallow", {**chain, "libhostprobe/trace/reader.cpp": '#include "h1.h"\n'},
                         {**chain, "libhostprobe/trace/reader.h": '#include "trace/h1.h"\n'})

    def test_units_know_each_other_one_way(self):
        reader, clock = "libhostprobe/trace/reader", "libhostprobe/trace/clock"
        self.assert_rule("units_know_each_other_one_way",
                         {reader + ".h": "", reader + ".cpp": '#include "reader.h"\n#include "clock.h"\n', clock + ".h": ""},
                         {reader + ".h": "", reader + ".cpp": '#include "clock.h"\n', clock + ".h": "", clock + ".cpp": '#include "reader.h"\n'})

    def test_the_simulated_libraries_know_the_node_and_not_each_other(self):
        room = "libhostprobe/simnode/"
        headers = {room + "node/clock.h": "", room + "cuda/model/stream.h": '#include "node/clock.h"\n', room + "nvml/library.h": ""}
        self.assert_rule("sub_rooms_know_only_those_below",
                         {**headers, room + "cuda/entries/stream.cpp": '#include "cuda/model/stream.h"\n',
                          room + "nccl/group.cpp": '#include "node/clock.h"\n'},
                         {**headers, room + "node/clock.cpp": '#include "../cuda/model/stream.h"\n#include "clock.h"\n',
                          room + "nvml/device.cpp": '#include "cuda/model/stream.h"\n#include "library.h"\n'}, breaches=2)

    def test_a_variable_of_the_probe_says_what_children_have(self):
        line = "{:20}|0000000000000000|   b  |            OBJECT|0000000000000004|     |{}"
        sorted_ones = [line.format("g_one", "hp_process"), line.format("g_two", ".bss.hp_start"), line.format("kThree", ".data.rel.ro")]
        self.assertEqual(list(rules.unsorted(sorted_ones)), [])
        self.assertEqual(list(rules.unsorted([line.format("g_four", ".bss"), line.format("g_five", ".data")])), ["g_four", "g_five"])

    def test_probe_may_not_call_up_but_through_doors(self):
        symbols = {"record": ({"probe::ring()"}, {"probe::start_writer()", "probe::drain(int)", "memcpy"}),
                   "writer": ({"probe::start_writer()", "probe::drain(int)"}, {"probe::ring()"})}
        self.assertEqual(list(rules.calls_up(symbols, "void start_writer();\nvoid drain(int);\n")), [])
        self.assertEqual(len(list(rules.calls_up(symbols, "void start_writer();\nvoid drained(int);\n"))), 1)

    def test_answers_need_the_standard_library_alone(self):
        name = "libhostprobe/answer/run.h"
        self.assert_rule("rooms_include_only_what_they_may", {name: '#include <vector>\n#include "role.h"\n', "libhostprobe/answer/role.h": ""},
                         {name: '#include <fmt/format.h>\n#include "trace/trace.h"\n'}, breaches=2)

    def test_format_may_include_three_headers(self):
        self.assert_rule("rooms_include_only_what_they_may", {"libhostprobe/format/file.h": "#include <cstdint>\n"},
                         {"libhostprobe/format/file.h": "#include <vector>\n"})

    def test_format_has_no_loops_but_may_mention_them(self):
        name = "libhostprobe/format/file.h"
        self.assert_rule("format_has_no_loops", {name: '// for each word\n/* while */ const char* s = "do";\n'},
                         {name: "inline int f() {\n  for (;;) {}\n}\n"})

    def test_pure_is_headers_that_need_no_runtime(self):
        name = "libhostprobe/steps/step_period.h"
        self.assert_rule("shared_rooms_are_headers_without_memory_of_their_own",
                         {name: "// new, std::vector\nstd::size_t f() {\n  for (;;) {}\n}\nstd::uint64_t g();\n"},
                         {name: "std::vector<int> v;\nint* p = new int;\n", "libhostprobe/steps/period.cpp": ""}, breaches=3)
        self.assert_rule("rooms_include_only_what_they_may", {name: "#include <cstdint>\n"}, {name: "#include <vector>\n"})

    def test_analysis_neither_prints_nor_exits(self):
        name = "libhostprobe/analysis/wake.cpp"
        self.assert_rule("analysis_neither_prints_nor_exits",
                         {name: 'auto s = fmt::format("printf(");  // exit(1)\nsnprintf(b, 4, "x");\nthread.exit();\n'},
                         {name: 'printf("x");\nstd::exit(1);\nstd::cout << 1;\nfmt::print("x");\n'}, breaches=4)

    def test_files_and_functions_stay_short(self):
        name = "libhostprobe/probe/writer/writer.cpp"
        body = "  ++x;\n" * 44
        self.assert_rule("files_stay_short", {name: "void f() {\n" + body[:-7] + "}\n", "docs/long.md": "x\n" * 900},
                         {name: "void f() {\n" + body + "}\n" + "\n" * 500}, breaches=2)

    def test_a_source_file_that_is_not_built_is_found(self):
        self.assert_rule("every_source_file_is_built",
                         {"tests/unit/a.cpp": "", "tests/unit/CMakeLists.txt": "x(a.cpp)"},
                         {"tests/unit/a.cpp": "", "tests/unit/CMakeLists.txt": "x(ba.cpp)"})

    def test_places_of_one_machine_are_found(self):
        path, host = "/" + "work/main", "py" + "pi.org"
        self.assert_rule("no_machine_paths_hosts_or_authoring_words",
                         {"README.md": "build/framework/x, network/workers\n", "a.bin": "\0" + path},
                         {"README.md": f"cd {path}\n", "setup.sh": f"pip --index https://{host}\n"}, breaches=2)

    def test_scripts_parse_and_can_be_executed(self):
        self.assert_rule("shell_scripts_parse", {"a.txt": "not ( a script"}, {"run.sh": "#!/bin/bash\nif true; then\n"},
                         breaches=2)

    def test_python_parses(self):
        self.assert_rule("python_files_parse", {"a.py": "x = 1\n"}, {"a.py": "x = = 1\n"})

    def test_layout_is_checked(self):
        if not shutil.which("clang-format-14"):
            self.skipTest("there is no clang-format-14")
        style = (Path(__file__).resolve().parents[2] / ".clang-format").read_text()
        self.assert_rule("cpp_files_are_formatted", {"a.cpp": "int x = 1;\n", ".clang-format": style},
                         {"a.cpp": "int  x=1;\n", ".clang-format": style})

    def test_links_lead_somewhere(self):
        self.assert_rule("links_in_docs_resolve", {"README.md": "# One two\n[a](docs/b.md) [c](#one-two)\n", "docs/b.md": ""},
                         {"README.md": "# One\n[a](docs/b.md) [c](#two)\n"}, breaches=2)

    def test_named_pages_exist(self):
        good = {"docs/reference/format.md": "", "a.h": "// docs/reference/format.md says, and so does format.md\n"}
        self.assert_rule("pages_that_are_named_exist", good, {"a.h": "// docs/reference/format.md says\n"})
        self.assert_rule("pages_that_are_named_exist", good, {"docs/reference/format.md": "", "a.h": "// docs/format.md says\n"})

    def test_prose_is_plain(self):
        page, source = "docs/a.md", "libhostprobe/cli/a.cpp"
        self.assert_rule("prose_is_plain", {page: "The verdict is CANNOT TELL.\n", source: "// tells nobody\n"},
                         {page: "It tells. Nobody knows.\n", source: 'say("told");\n'}, breaches=3)
        self.assert_rule("prose_is_plain", {"docs/decisions/1.md": "It tells.\n"}, {"README.md": "It tells.\n"})

    def test_changelog_names_the_version(self):
        cmake = "project(hostprobe VERSION 1.2.3)\n"
        self.assert_rule("changelog_names_the_version", {"CMakeLists.txt": cmake, "CHANGELOG.md": "## 1.2.3\n"},
                         {"CMakeLists.txt": cmake, "CHANGELOG.md": "## 1.2.2\n"})

    def test_words_of_the_design_are_used(self):
        old = {"driver": "stand" + "-in", "call": "fold" + "s it", "total": "adds to su" + "ms", "place": "per pla" + "ce"}
        for what, text in old.items():
            with self.subTest(what):
                self.assertEqual(self.breaches("words_are_those_of_the_design", {"docs/a.md": "aggregates, per call site\n"}), [])
                self.assertEqual(len(self.breaches("words_are_those_of_the_design", {"docs/a.md": f"it {text}\n"})), 2)

    def test_files_are_named_by_what_they_hold(self):
        self.assert_rule("files_are_named_by_what_they_hold", {"a/wait.cpp": ""}, {"a/wait_helper.cpp": "", "a/util.h": ""},
                         breaches=2)

    def test_heads_do_not_say_who_calls(self):
        self.assert_rule("heads_do_not_say_who_calls",
                         {"a.h": "// a.h: one.\n#pragma once\n// Called by b.cpp when it ends.\nvoid f();\n"},
                         {"a.h": "// a.h: one.\n//\n// Used by b.cpp only.\n#pragma once\n", "b.py": '"""b: called from c."""\n'}, breaches=2)

    def test_long_subjects_are_found(self):
        lines = ["1 " + "x" * 71, "2 " + "x" * 72, "3 Merge " + "x" * 90]
        self.assertEqual([breach.split(":")[0] for breach in rules.subjects_too_long(lines)], ["2"])

    def test_licence_is_whole(self):
        whole = (Path(__file__).resolve().parents[2] / "LICENSE").read_text()
        self.assert_rule("licence_is_whole", {"LICENSE": whole}, {"LICENSE": whole[:2000]})


LIBRARY = """
struct Row { char name[NAME_BYTES]; char rest[REST_BYTES]; };
#define ROW(text) {text, {}}
__attribute__((section("hp_hooks"), used)) static struct Row rows[] = {TABLE};
void sem_clockwait(void) {}
void hostprobe_version(void) {}
EXTRA
"""


class Injected(unittest.TestCase):
    def breaches(self, rule, table, extra="", flags=()):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "lib").mkdir()
            source = Path(folder, "probe.c")
            row_bytes, name_bytes = rules.hook_row_sizes()
            sizes = f"-DNAME_BYTES={name_bytes}", f"-DREST_BYTES={row_bytes - name_bytes}"
            source.write_text(LIBRARY.replace("TABLE", table).replace("EXTRA", extra))
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", f"{folder}/lib/libhostprobe.so", source, *sizes, *flags],
                           check=True)
            return list(rules.RULES[rule](rules.Tree(folder, folder)))

    exports = "probe_exports_the_hook_table_and_no_driver_function"
    both = 'ROW("sem_clockwait"), ROW("cuLaunchKernel")'

    def test_hidden_driver_functions_and_exported_hooks_are_right(self):
        self.assertEqual(self.breaches(self.exports, self.both), [])

    def test_an_exported_driver_function_is_found(self):
        self.assertEqual(len(self.breaches(self.exports, self.both, "void cuLaunchKernel(void) {}")), 1)

    def test_an_export_that_is_no_hook_is_found(self):
        self.assertEqual(len(self.breaches(self.exports, self.both, "void stray(void) {}")), 1)

    def test_a_hook_that_is_not_exported_or_listed_twice_is_found(self):
        self.assertEqual(len(self.breaches(self.exports, self.both + ', ROW("sem_wait"), ROW("sem_clockwait")')), 2)

    def test_an_export_that_an_older_glibc_lacks_is_found(self):
        newer = "probe_exports_nothing_that_the_oldest_glibc_lacks"
        self.assertEqual(self.breaches(newer, self.both), [])
        self.assertEqual(len(self.breaches(newer, self.both, "int epoll_pwait2() { return 0; }")), 1)

    def test_a_needed_library_and_an_executable_stack_are_found(self):
        self.assertEqual(self.breaches("probe_needs_only_libc", self.both), [])
        flags = ("-Wl,--no-as-needed", "-lm", "-z", "execstack")
        self.assertEqual(len(self.breaches("probe_needs_only_libc", self.both, flags=flags)), 2)

    def test_a_connection_and_a_program_that_is_started_are_found(self):
        name = "probe_opens_no_connection_and_starts_no_program"
        self.assertEqual(self.breaches(name, self.both), [])
        self.assertEqual(len(self.breaches(name, self.both, "int socket(), fork(); int call(void) { return socket() + fork(); }")), 2)


if __name__ == "__main__":
    unittest.main()
