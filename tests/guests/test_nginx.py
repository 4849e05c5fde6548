#!/usr/bin/env python3
"""nginx, a master with workers that gave up root: serves files and passes requests on while its settings are read again and its
program is replaced under it, and ends gracefully, as without hostprobe.

It listens on a socket in a folder: no port has to be free.
"""

import hashlib
import http.client
import os
import re
import signal
import socket
import threading
import time
from collections import Counter

import guest
from guest import KINDS, GuestTest
from probed import path_of

CLIENTS = 8
REQUESTS = 60  # of each client, in each round
SETTINGS = """
{user}
worker_processes 2;
pid {folder}/pid;
error_log {folder}/error.log notice;
thread_pool default threads=4;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxied;
  fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u;
  scgi_temp_path {folder}/s;
  sendfile on;
  aio threads;
  upstream behind {{ server unix:{folder}/behind; keepalive 4; }}
  server {{
    listen unix:{folder}/socket;
    location /files/ {{ alias {folder}/files/; }}
    location /by_threads/ {{ alias {folder}/files/; sendfile off; output_buffers 2 32k; }}
    location /passed_on {{ proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    location /version {{ return 200 "{version}"; }}
  }}
  server {{
    listen unix:{folder}/behind;
    location / {{ return 200 "behind $request_uri"; }}
  }}
}}
"""
PAGES = [f"/{kind}/{size}" for kind in ("files", "by_threads") for size in (0, 100, 5000, 300000)] + \
        [f"/passed_on?{n}" for n in range(4)] + ["/files/none"]


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Nginx(GuestTest):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)  # for workers that are nobody

    def write_settings(self, version):
        user = "user nobody nogroup;" if os.geteuid() == 0 else ""
        (self.place / "settings").write_text(SETTINGS.format(user=user, folder=self.place, version=version))

    def pid(self):
        try:
            return int((self.place / "pid").read_text() or 0)
        except FileNotFoundError:
            return 0

    def until(self, is_so):
        end = time.monotonic() + 100
        while not is_so():
            self.assertLess(time.monotonic(), end, self.log())
            time.sleep(0.01)

    def log(self):
        return (self.place / "error.log").read_text()

    def serve(self, kind):
        self.place = self.folder / kind
        (self.place / "files").mkdir(parents=True)
        for size in (0, 100, 5000, 300000):
            (self.place / "files" / str(size)).write_bytes(hashlib.sha256(str(size).encode()).digest() * (size // 32))
        self.write_settings("first")
        out, err = self.run_kind(kind, path_of("NGINX"), "-p", self.place, "-e", self.place / "error.log", "-c", "settings")
        self.addCleanup(self.end)
        self.until(self.pid)
        return out, err

    def end(self):
        """A daemon has no parent that could end it."""
        for name in ("pid", "pid.oldbin"):
            try:
                os.kill(int((self.place / name).read_text()), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError, ValueError):
                pass

    def get(self, connection, page):
        """A worker that ends closes connections that wait for the next request; then it is made on a new one."""
        for _ in range(5):
            try:
                connection.request("GET", page)
                answer = connection.getresponse()
                return page, answer.status, hashlib.sha256(answer.read()).hexdigest()
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
        return page, "no answer", None

    def client(self, number, answers):
        connection = Connection(self.place / "socket")
        for n in range(REQUESTS):
            answers.append(self.get(connection, PAGES[(number + n) % len(PAGES)]))
            if n % 20 == 19:
                connection.close()
        connection.close()

    def load(self, meanwhile=lambda: None):
        """What many clients get at the same time, and how often, while something else is done."""
        answers = []
        clients = [threading.Thread(target=self.client, args=(n, answers)) for n in range(CLIENTS)]
        for thread in clients:
            thread.start()
        meanwhile()
        for thread in clients:
            thread.join()
        self.assertEqual(len(answers), CLIENTS * REQUESTS)
        return Counter(answers)

    def version(self):
        connection = Connection(self.place / "socket")
        connection.request("GET", "/version")
        answer = connection.getresponse().read().decode()
        connection.close()
        return answer

    def read_settings_again(self):
        self.write_settings("again!")
        os.kill(self.pid(), signal.SIGHUP)
        self.until(lambda: self.version() == "again!")

    def replace_program(self):
        old = self.pid()
        os.kill(old, signal.SIGUSR2)
        self.until(lambda: self.pid() not in (0, old))
        os.kill(old, signal.SIGQUIT)
        self.until(lambda: not (self.place / "pid.oldbin").exists())

    def results(self, kind):
        out, err = self.serve(kind)
        answers = [self.load(), self.load(self.read_settings_again), self.load(self.replace_program)]
        workers = re.findall(r"start worker process (\d+)", self.log())
        os.kill(int(workers[-1]), signal.SIGKILL)  # the master makes another
        self.until(lambda: len(re.findall("start worker process ", self.log())) == len(workers) + 1)
        answers.append(self.load())
        last = self.pid()
        os.kill(last, signal.SIGQUIT)
        self.until(lambda: f"{last}#{last}: exit" in self.log())
        # Not the errors: what is passed on to a worker that is ending is passed on once more.
        troubles = sorted(re.sub(r"^.*?\[|\d+", "", line) for line in self.log().splitlines()
                          if re.search(r"\[(warn|crit|alert|emerg)\]", line))
        self.assert_silent(out, err)
        return {"out": out, "err": err, "answers": answers, "troubles": troubles}

    def test_answers_as_without_and_ends_gracefully(self):
        bare, preloaded = (self.results(kind) for kind in KINDS)
        self.assertEqual(preloaded, bare)
        self.check_records("nginx")


if __name__ == "__main__":
    guest.main()
