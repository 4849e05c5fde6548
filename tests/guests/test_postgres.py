#!/usr/bin/env python3
"""PostgreSQL and pgbench do preloaded what they do bare: every transaction is there, the balances agree, a fast shutdown ends
with 0.

The server refuses to run as root; a root that tests lends it an unprivileged user, and a copy of the library, because a
checkout in root's home is closed to that user.
"""

import os
import pwd
import re
import shutil
import signal
from pathlib import Path

import guest
from guest import KINDS, PRELOAD, GuestTest, program

CLIENTS, TRANSACTIONS = 4, 100
SETTINGS = ("fsync=off", "listen_addresses=", "max_connections=20", "shared_buffers=16MB", "autovacuum_naptime=1",
            "min_parallel_table_scan_size=0", "parallel_setup_cost=0", "parallel_tuple_cost=0", "log_line_prefix=")
SUMS = "; ".join(["SELECT count(*), sum(delta) FROM pgbench_history", "SELECT sum(abalance) FROM pgbench_accounts",
                  "SELECT sum(tbalance) FROM pgbench_tellers", "SELECT sum(bbalance) FROM pgbench_branches"])


def server_programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    if not found:
        raise AssertionError("there is no PostgreSQL server; run ./setup.sh test")
    return found[-1]


def unprivileged():
    """A user other than root, by name."""
    known = {user.pw_name for user in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in known else "nobody")


def troubles(log):
    """Not that a shutdown met a worker at work: that is chance."""
    return sorted(re.sub(r" \(PID \d+\)", "", line) for line in log.splitlines()
                  if re.search(r"WARNING|ERROR|FATAL|PANIC|terminated by|exited with", line)
                  and "due to administrator command" not in line)


class Postgres(GuestTest):
    as_user = ()

    def setUp(self):
        super().setUp()
        self.programs = server_programs()
        self.library = Path(shutil.copy(PRELOAD, self.folder))
        if os.geteuid() == 0:
            user = unprivileged()
            self.as_user = (program("setpriv"), f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                            "--pdeathsig=KILL", "--")
            self.run_folder.mkdir()
            for path in (self.folder, self.run_folder):
                os.chown(path, user.pw_uid, user.pw_gid)

    def command(self, name, *words):
        return *self.as_user, self.programs / name, *words

    def settings(self):
        return {"LC_ALL": "C", "PGHOST": str(self.folder), "PGDATABASE": "postgres", "PGUSER": "tester"}

    def run_one(self, kind, name, *words):
        out, err = self.run_kind(kind, *self.command(name, *words), **self.settings())
        self.assert_silent(out, err)
        return out, err

    def serve(self, kind):
        data = self.folder / kind
        self.run_one(kind, "initdb", "--pgdata", data, "--username", "tester", "--auth", "trust", "--no-sync", "--no-locale")
        settings = [word for setting in SETTINGS for word in ("-c", setting)]
        server = self.start_server(kind, *self.command("postgres", "-D", data, "-k", self.folder, *settings), **self.settings())
        state = data / "postmaster.pid"
        self.await_ready(server, lambda: state.exists() and "ready" in state.read_text())
        return server

    def bench(self, kind):
        """What pgbench says, without the times."""
        self.run_one(kind, "pgbench", "--initialize", "--scale=1", "--quiet")
        out, err = self.run_one(kind, "pgbench", f"--client={CLIENTS}", "--jobs=2", f"--transactions={TRANSACTIONS}")
        return [line for line in out.splitlines() if not re.search(r"latency|tps|connection time", line)], err

    def sums(self, kind):
        out, _ = self.run_one(kind, "psql", "--no-align", "--tuples-only", "--field-separator= ", f"--command={SUMS}")
        return [int(word) for word in out.split()]

    def results(self, kind):
        server = self.serve(kind)
        said, complaints = self.bench(kind)
        count, *sums = self.sums(kind)
        self.assertEqual(count, CLIENTS * TRANSACTIONS)
        self.assertEqual(len(sums), 4)
        self.assertEqual(len(set(sums)), 1, f"the balances do not agree: {sums}")
        server.send_signal(signal.SIGINT)  # the server's word for a fast shutdown
        out, log = self.finish(server)
        self.assert_silent(out, log)
        self.assertIn("database system is shut down", log)
        return {"said": said, "complaints": complaints, "troubles": troubles(log), "out": out}

    def test_keeps_every_transaction_and_ends_cleanly(self):
        bare, preloaded = (self.results(kind) for kind in KINDS)
        self.assertIn(f"number of transactions actually processed: {CLIENTS * TRANSACTIONS}/{CLIENTS * TRANSACTIONS}",
                      bare["said"])
        self.assertEqual(preloaded, bare)
        self.processes("pgbench", "postgres")


if __name__ == "__main__":
    guest.main()
