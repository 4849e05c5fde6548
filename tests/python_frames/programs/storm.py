"""Threads that start, wait a moment and end, while others do the same: teardown and start at every instant."""
import queue
import sys
import threading

total = 0
lock = threading.Lock()


def short(n):
    global total
    try:
        queue.Queue().get(timeout=0.0005)
    except queue.Empty:
        pass
    with lock:
        total += n


def start(count):
    for first in range(0, count, 20):
        threads = [threading.Thread(target=short, args=(n,)) for n in range(first, first + 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


starters = [threading.Thread(target=start, args=(int(sys.argv[1]),)) for _ in range(4)]
for starter in starters:
    starter.start()
for starter in starters:
    starter.join()
print(total)
