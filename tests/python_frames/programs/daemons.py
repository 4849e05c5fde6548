"""The interpreter ends while daemon threads go in and out of waits, in Python and in C."""
import queue
import sys
import threading
import time


def poll(seconds):
    waiting = queue.Queue()
    while True:
        try:
            deep(5, waiting, seconds)
        except queue.Empty:
            pass


def deep(n, waiting, seconds):
    return deep(n - 1, waiting, seconds) if n else waiting.get(timeout=seconds)


for i in range(8):
    threading.Thread(target=poll, args=(0.0002 * (i + 1),), daemon=True).start()
time.sleep(float(sys.argv[1]))
print("bye")
