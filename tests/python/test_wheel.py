#!/usr/bin/env python3
"""The wheel, as `pip wheel .` builds it: what is in it, how old a libc it runs on, and that it works from a clean environment of
the Python that built it: a wheel is for one version.

The first build takes minutes; objects are kept by ccache, and the build folder lies in that of the tests.
"""

import json
import re
import shutil
import subprocess
import sys
import zipfile

import probed
from probed import BUILD, SOURCE, ProbedTest, path_of

TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"  # of the Python whose pip builds it: both are the distribution's
LIBRARIES = {"lib/libhostprobe.so", "lib/hostprobe/simnode/libcuda.so.1", "lib/hostprobe/simnode/libnccl.so.2",
             "lib/hostprobe/simnode/libnvidia-ml.so.1"}
HEADERS = {"include/hostprobe/hostprobe.h", "include/hostprobe/options.def", "include/hostprobe/fixes.def",
           "include/hostprobe/causes.def"}
OF_LIBC = {"libc.so.6"}  # all that goes into other people's processes
OF_THE_DISTRIBUTION = OF_LIBC | {"ld-linux-x86-64.so.2", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "libzstd.so.1",
                                 "libfmt.so.9", "libdw.so.1", "libelf.so.1", "libunwind-ptrace.so.0",
                                 "libunwind-x86_64.so.8", "libtracefs.so.1", "libtraceevent.so.1", "libtracecmd.so.1",
                                 "libncursesw.so.6", "libtinfo.so.6"}

PROGRAM = """
import hostprobe, hostprobe.torch, hostprobe.megatron
assert hostprobe.problem is None, hostprobe.problem
for i in range(5):
    with hostprobe.region("r"): hostprobe.mark("m", i)
    hostprobe.step(i)
print(hostprobe.active(), hostprobe.__file__)
"""


class Wheel(ProbedTest):
    built = None

    def setUp(self):
        super().setUp()
        if Wheel.built is None:
            Wheel.built = self.build()
        self.wheel = Wheel.built

    def build(self):
        made = BUILD / "wheel-made"
        shutil.rmtree(made, ignore_errors=True)
        # Compiled as the tests' own build is, by the same names of the compilers: ccache has it then.
        settings = [f"build-dir={BUILD / 'wheel'}", "cmake.build-type=RelWithDebInfo"]
        if shutil.which("ccache"):
            settings += [f"cmake.define.CMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")]
        # Without isolation: what pip would fetch for the build lies in the cache.
        self.run_program(path_of("WHEEL_PYTHON"), "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index",
                         "--no-build-isolation", "--disable-pip-version-check", "-w", made, SOURCE,
                         *(word for setting in settings for word in ("--config-settings", setting)),
                         CC="/usr/bin/cc", CXX="/usr/bin/c++")
        wheels = list(made.iterdir())
        self.assertEqual(len(wheels), 1, wheels)
        return wheels[0]

    def test_contents(self):
        self.assertRegex(self.wheel.name, rf"^hostprobe-[0-9.]+-{TAG}-{TAG}-linux_x86_64\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            metadata = wheel.read(next(name for name in names if name.endswith("/METADATA"))).decode()
        package = {name for name in names if name.startswith("hostprobe/")}
        sources = {str(path.relative_to(SOURCE / "python")) for path in (SOURCE / "python/hostprobe").rglob("*")
                   if path.is_file() and "__pycache__" not in path.parts}
        tables = f"hostprobe/_tables.cpython-{TAG[2:]}-x86_64-linux-gnu.so"
        self.assertEqual(package, sources | {"hostprobe/_marks.abi3.so", tables})
        rest = {re.sub(r"^hostprobe-[0-9.]+\.(data|dist-info)/", "", name) for name in names if name not in package}
        self.assertEqual({name for name in rest if not name.isupper() and not name.startswith("licenses/")},
                         {f"data/{name}" for name in LIBRARIES | HEADERS} | {"scripts/hostprobe"})
        self.assertIn("Requires-Python: >=3.9\n", metadata)
        for line in re.findall(r"Requires-Dist: .*", metadata):
            self.assertRegex(line, r"extra == [\"'][a-z]+[\"']$")  # nothing is needed but for what is asked for by name

    def elf_files(self):
        shutil.unpack_archive(self.wheel, self.folder / "files", "zip")
        for path in (self.folder / "files").rglob("*"):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                yield path

    def printed(self, *command):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout

    def test_the_glibc_it_needs_is_the_one_that_is_stated(self):
        floors = {}
        for path in self.elf_files():
            versions = re.findall(r"GLIBC_(\d+)\.(\d+)", self.printed("objdump", "-T", path))
            floors[path.name] = max((int(major), int(minor)) for major, minor in versions)
        self.assertEqual(len(floors), 7, floors)
        needed = "glibc {}.{}".format(*max(floors.values()))
        for page in ("README.md", "docs/reference/python.md"):
            stated = set(re.findall(r"glibc \d+\.\d+", (SOURCE / page).read_text()))
            self.assertIn(needed, stated, f"{page}: {floors}")

    def test_what_is_loaded_into_programs_needs_libc_only(self):
        for path in self.elf_files():
            needs = set(re.findall(r"NEEDED\s+(\S+)", self.printed("objdump", "-p", path)))
            guest = path.name in ("libhostprobe.so", "_marks.abi3.so")
            self.assertLessEqual(needs, OF_LIBC if guest else OF_THE_DISTRIBUTION, path.name)
            self.assertNotIn("RUNPATH", self.printed("objdump", "-p", path), path.name)

    def environment(self, python, version):
        folder = self.folder / f"venv-{version}"
        self.run_program(python, "-m", "venv", folder)
        return folder

    def pip(self, environment, *words, status=0):
        return self.run_program(environment / "bin/python", "-m", "pip", "--disable-pip-version-check", *words, status=status)

    def test_works_from_a_clean_environment_of_its_python(self):
        served = [item for item in sorted(probed.pythons().items()) if f"cp{item[0][0]}{item[0][1]}" == TAG]
        self.assertTrue(served)
        for version, python in served:
            with self.subTest(python):
                venv = self.environment(python, f"{version[0]}.{version[1]}")
                self.pip(venv, "install", "--quiet", "--no-index", self.wheel)
                out, _ = self.run_program(venv / "bin/python", "-c", PROGRAM)
                self.assertEqual(out.split()[0], "False")
                run, command = self.folder / f"run-{version}", venv / "bin/hostprobe"
                out, _ = self.run_program(command, "run", "-o", run, "--target", "all", "--", "python", "-c", PROGRAM,
                                          PATH=f"{venv / 'bin'}:/usr/bin:/bin")
                self.assertEqual(out.split()[0], "True")
                self.assertTrue(out.split()[1].startswith(str(venv)), out)
                report = json.loads(self.run_program(command, "report", run, "--json")[0])
                self.assertEqual(report["steps"]["count"], 4)
                self.assertEqual([(region["name"], region["count"]) for process in report["processes"]
                                  for region in process["regions"]], [("r", 5)])
                self.pip(venv, "uninstall", "--quiet", "--yes", "hostprobe")
                self.assertEqual([path for path in venv.rglob("*hostprobe*") if not path.is_dir()], [])  # pip leaves folders of folders

    def test_an_older_python_refuses_it(self):
        for version, python in sorted(probed.pythons().items()):
            if (3, 6) <= version < (3, 9):
                with self.subTest(python):
                    venv = self.environment(python, f"{version[0]}.{version[1]}")
                    _, said = self.pip(venv, "install", "--no-index", self.wheel, status=1)
                    self.assertIn("is not a supported wheel on this platform", said)
                    return  # one is enough


if __name__ == "__main__":
    probed.main()
