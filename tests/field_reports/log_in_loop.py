"""Rank 0 of 2 logs inside the loop: an fsync in each step, and in every tenth a request to a slow server."""

import json
import os
import subprocess
import sys
import urllib.request

from training import Training, join_ranks, leave_ranks, parser

SERVER = """
import http.server, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.08)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
print(server.server_port, flush=True)
server.serve_forever()
"""
options = parser(__doc__, steps=120).parse_args()
rank = join_ranks()
training = Training(rank)
logs = rank == 0 and not options.healthy
if rank == 0:
    apart = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, env=apart)
    port = int(server.stdout.readline())
    events = open("events.log", "a")


def log(step):
    events.write(json.dumps({"step": step, "pad": "x" * 2000}) + "\n")
    events.flush()
    os.fsync(events.fileno())  # THE LINE: fsync


def show_progress(step):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/run", data=b"%d" % step, method="PUT")
    urllib.request.urlopen(request).read()  # THE LINE: request


for step in range(options.steps):
    training.compute(0.008)
    training.backward()
    training.average()
    training.update()
    if logs:
        log(step)
        if step % 10 == 9:
            show_progress(step)
    training.end_step()
training.write_times()
leave_ranks()
if rank == 0:
    server.kill()
