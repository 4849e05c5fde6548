#!/usr/bin/env python3
"""A Redis server with I/O threads, its benchmark and its client do preloaded what they do bare: same values, same data, same
numbers of commands, a clean end.

Debian's server and its checker of dump files are one program that goes by the name it was started with; the package with
the server's own name would bring a service with it.
"""

import csv
import re
import time

import guest
from guest import KINDS, GuestTest, program

REQUESTS = 2000
COMMANDS = ("set", "get", "incr", "lpush", "lpop", "sadd", "hset")
SETTINGS = ("--port", "0", "--save", "", "--appendonly", "yes", "--io-threads", "2", "--io-threads-do-reads", "yes",
            "--enable-debug-command", "yes", "--daemonize", "no")


class Redis(GuestTest):
    def setUp(self):
        super().setUp()
        self.server_program = self.folder / "redis-server"
        self.server_program.symlink_to(program("redis-check-rdb"))

    def serve(self, kind):
        self.socket = self.folder / f"{kind}.socket"
        self.data = self.folder / kind
        self.data.mkdir()
        server = self.start_server(kind, self.server_program, *SETTINGS, "--unixsocket", self.socket, "--dir", self.data,
                                   "--logfile", self.data / "log")
        self.await_ready(server, self.socket.exists)
        self.until(lambda: self.client("bare", "PING"), "PONG")
        return server

    def client(self, kind, *words):
        out, err = self.run_kind(kind, program("redis-cli"), "-s", self.socket, *words)
        self.assert_silent(out, err)
        return out.removesuffix("\n")

    def until(self, ask, answer):
        while answer not in ask():
            time.sleep(0.01)

    def benchmark(self, kind):
        out, err = self.run_kind(kind, program("redis-benchmark"), "-s", self.socket, "-n", REQUESTS, "-c", "10", "-P", "4",
                                 "--threads", "2", "-t", ",".join(COMMANDS), "--csv")
        self.assert_silent(out, err)
        rates = {row["test"]: float(row["rps"]) for row in csv.DictReader(out.splitlines())}
        self.assertEqual({name.lower() for name in rates}, set(COMMANDS))
        self.assertGreater(min(rates.values()), 0)

    def store_and_fetch(self, kind):
        """Values of many sizes come back; a blocked client gets what another one pushes."""
        values = {f"key:{i}": "x" * (i * i) + str(i) for i in range(100)}
        for key, value in values.items():
            self.assertEqual(self.client(kind if key == "key:1" else "bare", "SET", key, value), "OK")
        fetched = self.client(kind, "MGET", *values).splitlines()
        self.assertEqual(fetched, list(values.values()))
        waiting = self.start_kind(kind, program("redis-cli"), "-s", self.socket, "BLPOP", "queue", "0")
        self.until(lambda: self.client("bare", "INFO", "clients"), "blocked_clients:1")
        self.client(kind, "RPUSH", "queue", "pushed")
        self.assertEqual(self.finish(waiting)[0], "queue\npushed\n")

    def digest_after_saving(self, kind):
        """Saved by a forked child, rewritten by another, and read back: the data stays the same."""
        digest = self.client(kind, "DEBUG", "DIGEST")
        for command, under_way in (("BGSAVE", "rdb_bgsave_in_progress:0"), ("BGREWRITEAOF", "aof_rewrite_in_progress:0")):
            self.client(kind, command)
            self.until(lambda: self.client("bare", "INFO", "persistence"), under_way)
        state = self.client(kind, "INFO", "persistence")
        for kept in ("rdb_last_bgsave_status:ok", "aof_last_bgrewrite_status:ok", "aof_last_write_status:ok"):
            self.assertIn(kept, state)
        self.assertEqual(self.client(kind, "DEBUG", "RELOAD"), "OK")
        self.assertEqual(self.client(kind, "DEBUG", "DIGEST"), digest)
        return digest

    def results(self, kind):
        server = self.serve(kind)
        self.benchmark(kind)
        self.store_and_fetch(kind)
        calls = dict(re.findall(r"cmdstat_(\w+):calls=(\d+)", self.client(kind, "INFO", "commandstats")))
        digest = self.digest_after_saving(kind)
        keys = self.client(kind, "DBSIZE")
        self.client(kind, "SHUTDOWN")
        out, err = self.finish(server)
        self.assert_silent(out, err)
        log = (self.data / "log").read_text()
        self.assertIn("ready to exit", log)
        warnings = sorted(re.sub(r"^.*? # |\d+", "", line) for line in log.splitlines() if re.match(r"\d+:\w .* # ", line))
        return {"digest": digest, "keys": keys, "calls": {name: calls.get(name) for name in COMMANDS}, "warnings": warnings,
                "out": out, "err": err}

    def test_serves_the_same_data_and_ends_cleanly(self):
        bare, preloaded = (self.results(kind) for kind in KINDS)
        self.assertEqual(preloaded, bare)
        self.processes("redis-server", "redis-benchmark")


if __name__ == "__main__":
    guest.main()
