"""A program of the distribution, once as it is and once preloaded.

What a test compares is what the program's users see: exit status, complaints, results. How long anything took is never
compared: the preloaded program may be slower, and machines that run tests are busy.
"""

import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import probed  # noqa: E402
from probed import COMMAND, PRELOAD, ProbedTest  # noqa: E402

KINDS = ("bare", "preloaded")
MODES = ("flight", "trace", "monitor")
SEGMENT = "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap".split()


def program(name):
    """Where the distribution's program is; a failure, not a skip, when it is not there."""
    found = shutil.which(name)
    if found is None:
        raise AssertionError(f"there is no {name}; run ./setup.sh test")
    return Path(found)


class GuestTest(ProbedTest):
    def setUp(self):
        super().setUp()
        self.began = int(time.time())
        self.addCleanup(self.recover)

    def recover(self):
        """Frees what killed processes left in shared memory, however the test ended."""
        if self.run_folder.exists():
            self.run_program(COMMAND, "recover", self.run_folder)

    library = PRELOAD
    mode = None  # the default

    def environment(self, kind, preloads=()):
        if kind == "bare":
            return {}
        mode = {"HOSTPROBE_MODE": self.mode} if self.mode else {}
        return {"LD_PRELOAD": ":".join(str(path) for path in preloads or [self.library]), "HOSTPROBE_TARGET": "all",
                "HOSTPROBE_OUT": str(self.run_folder), **mode}

    def start_kind(self, kind, *command, **changes):
        return self.start(*command, **self.environment(kind), **changes)

    def run_kind(self, kind, *command, status=0, **changes):
        return self.finish(self.start_kind(kind, *command, **changes), status)

    def start_server(self, kind, *command, **changes):
        """A program that must not outlive the test, not even one that was killed for running over its time."""
        server = self.start_kind(kind, program("setpriv"), "--pdeathsig=KILL", "--", *command, **changes)
        self.addCleanup(server.kill)
        return server

    def await_ready(self, server, is_ready):
        while not is_ready():
            if server.poll() is not None:
                self.fail(server.communicate())
            time.sleep(0.01)

    def assert_silent(self, *texts):
        """hostprobe had nothing to complain about."""
        said = [line for text in texts for line in text.splitlines() if line.startswith("hostprobe[")]
        self.assertEqual(said, [])

    def processes(self, *names):
        """What the report says about the processes that recorded; those that run the programs `names` must be among them."""
        self.recover()
        processes = [process for process in self.report()["processes"] if process["records"] > 0]
        seen = {Path(word.rstrip(":")).name for process in processes for word in process["command"].split()[:1]}
        self.assertLessEqual(set(names), seen)
        return processes

    def check_records(self, *names):
        """The run is readable and whole; nothing is left in shared memory of processes that have ended. Programs that
        `names` tells were recorded."""
        if not self.run_folder.exists():  # nothing was worth a record
            self.assertFalse(names)
            return []
        processes = self.processes(*names)
        self.assertEqual([(process["command"], process["lost"]) for process in processes if process["lost"]], [])
        self.assertEqual(orphans({process["pid"] for process in processes}, self.began), [])
        return processes

    def check_part(self, part, *names):
        """What run_part gives for it is the same bare and preloaded in each mode."""
        bare = self.run_part("bare", part)
        for self.mode in MODES:
            with self.subTest(mode=self.mode):
                self.run_folder = self.folder / self.mode
                self.assertEqual(self.run_part("preloaded", part), bare)
                self.check_records(*names)


def orphans(pids, since):
    """Shared memory made by processes of these numbers, that no process is attached to. Older memory is of others: numbers
    of processes come again."""
    rows = [dict(zip(SEGMENT, line.split())) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return [row["shmid"] for row in rows
            if int(row["cpid"]) in pids and int(row["nattch"]) == 0 and int(row["ctime"]) >= since]


main = probed.main
