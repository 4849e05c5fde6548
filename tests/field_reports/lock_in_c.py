"""A thread beside the loop holds the interpreter lock inside C: it frees large memory, or pickles a large structure on rank 0 of 2."""

import pickle
import threading
import time

from training import Training, join_ranks, leave_ranks, parser

made = parser(__doc__, steps=3000)
made.add_argument("--call", choices=("free", "pickle"), default="free")
options = made.parse_args()
together = options.call == "pickle"
rank = join_ranks() if together else 0
training = Training(rank, width=16)
plans = {number: (number, str(number), [number]) for number in range(600_000)} if together and rank == 0 else {}


def recycle():
    while True:
        time.sleep(0.5)
        buffer = bytearray(768 << 20)  # THE LINE: free
        del buffer


def save_checkpoints():
    while True:
        time.sleep(1.0)
        pickle.dumps(plans)  # THE LINE: pickle


def python_work():
    n = 0
    for number in range(12_000):
        n += number & 3
    return n


if not options.healthy and rank == 0:
    threading.Thread(target=save_checkpoints if together else recycle, name="ckpt-0", daemon=True).start()
for _ in range(options.steps):
    python_work()
    training.backward()
    if together:
        training.average()
    training.update()
    training.end_step()
training.write_times()
if together:
    leave_ranks()
