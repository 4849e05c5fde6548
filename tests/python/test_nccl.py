#!/usr/bin/env python3
"""The real libnccl.so.2, from the wheel that PyTorch brings, in a process without a GPU: its calls fail exactly as without
hostprobe, and each is recorded once."""

import probed
from probed import ProbedTest, path_of

PROGRAM = """
import ctypes, sys
nccl = ctypes.CDLL(sys.argv[1])
nccl.ncclGetErrorString.restype = ctypes.c_char_p
def say(name, result):
    print(name, result, nccl.ncclGetErrorString(result).decode())
class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
version = ctypes.c_int()
say("ncclGetVersion", nccl.ncclGetVersion(ctypes.byref(version)))
for _ in range(5):
    say("ncclGroupStart", nccl.ncclGroupStart())
    say("ncclGroupStart", nccl.ncclGroupStart())
    say("ncclGroupEnd", nccl.ncclGroupEnd())
    say("ncclGroupEnd", nccl.ncclGroupEnd())
say("ncclGroupEnd", nccl.ncclGroupEnd())
none, comm = ctypes.c_void_p(), ctypes.c_void_p()
n = ctypes.c_size_t(4)
for _ in range(3):
    say("ncclAllReduce", nccl.ncclAllReduce(none, none, n, 7, 0, none, none))
    say("ncclAllGather", nccl.ncclAllGather(none, none, n, 7, none, none))
    say("ncclSend", nccl.ncclSend(none, n, 7, 0, none, none))
    say("ncclBcast", nccl.ncclBcast(none, n, 7, 0, none, none))
say("ncclCommInitAll", nccl.ncclCommInitAll(ctypes.byref(comm), 1, None))
say("ncclCommInitRank", nccl.ncclCommInitRank(ctypes.byref(comm), 0, Id(), 0))
say("ncclCommDestroy", nccl.ncclCommDestroy(none))
say("ncclCommAbort", nccl.ncclCommAbort(none))
say("ncclCommSplit", nccl.ncclCommSplit(none, 0, 0, ctypes.byref(comm), None))
"""


class Nccl(ProbedTest):
    def test_every_call_fails_as_without_us_and_is_recorded_once(self):
        library = next(path_of("TORCH_PYTHON").parents[1].glob("lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2"))
        command = path_of("SYSTEM_PYTHON"), "-c", PROGRAM, library
        plain, _ = self.run_program(*command)
        recorded, _ = self.record(*command)
        self.assertEqual(recorded, plain)
        called, found = {}, {}
        for line in plain.splitlines():
            name = line.split()[0]
            called[name] = called.get(name, 0) + 1
        for line in self.dump():
            if line.get("function", "").startswith("nccl"):
                found[line["function"]] = found.get(line["function"], 0) + 1
        called.pop("ncclGetVersion")  # asks nobody for anything: not hooked
        self.assertEqual(found, called)
        self.assertEqual([p["lost"] for p in self.report()["processes"]], [0])


if __name__ == "__main__":
    probed.main()
