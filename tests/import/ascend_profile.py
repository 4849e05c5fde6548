"""A profile of Ascend's devices as torch_npu writes it (trace_view.json), made by the documented schema: lanes of Python, CANN, the device
and communication, each a process of the file, with the arrows between them."""

import json

EPOCH_US = 1_742_490_378_000_000
PYTHON, GC, CANN, HARDWARE, COMMUNICATION, OVERLAP = 0, 1, 7, 13, 16, 18
NO_DEVICE = 31
NONE = 4294967295
GROUP = "10739503"


class AscendProfile:
    def __init__(self, pid, device=0):
        self.pid, self.device, self.events = pid, device, []

    def lane(self, index):
        return self.pid << 10 | index << 5 | (NO_DEVICE if index in (PYTHON, GC, CANN) else self.device)

    def meta(self, index, name, label, **threads):
        lane = self.lane(index)
        self.events.append({"ph": "M", "name": "process_name", "pid": lane, "tid": 0, "args": {"name": name}})
        self.events.append({"ph": "M", "name": "process_labels", "pid": lane, "tid": 0, "args": {"labels": label}})
        self.events.append({"ph": "M", "name": "process_sort_index", "pid": lane, "tid": 0, "args": {"sort_index": index}})
        for tid, text in threads.items():
            self.events.append({"ph": "M", "name": "thread_name", "pid": lane, "tid": int(tid[1:]), "args": {"name": text}})

    @staticmethod
    def time(us):
        return f"{EPOCH_US + int(us)}.{round(us % 1 * 1000):03}"

    def slice(self, index, name, begin, length, tid, category=None, **args):
        event = {"ph": "X", "name": name, "pid": self.lane(index), "tid": tid, "ts": self.time(begin), "dur": length, "args": args}
        if category:
            event["cat"] = category
        self.events.append(event)

    def op(self, name, begin, length, tid, category="cpu_op"):
        self.slice(PYTHON, name, begin, length, tid, category, **{"Sequence number": -1, "Fwd thread id": 0})

    def call(self, level, name, begin, length, tid, connection, item=""):
        kind = {"acl": "AscendCL", "node": "Node", "runtime": "Runtime", "communication": "Communication"}[level]
        self.slice(CANN, f"{kind}@{name}", begin, length, tid,
                   **{"Thread Id": tid, "Mode": name, "level": level, "id": "0", "item_id": item, "connection_id": connection})

    def task(self, name, begin, length, stream, connection, kind="AI_CORE", **args):
        self.slice(HARDWARE, name, begin, length, stream,
                   **{"Model Id": NONE, "Task Type": kind, "Physic Stream Id": stream, "Task Id": 1, "Batch Id": 0, "Subtask Id": NONE,
                      "connection_id": connection, **args})

    def arrow(self, category, name, number, begin, tid, index, end, stream, to=HARDWARE):
        for phase, lane, thread, at in (("s", index, tid, begin), ("f", to, stream, end)):
            self.events.append({"ph": phase, "bp": "e", "name": name, "id": number, "pid": self.lane(lane), "tid": thread,
                                "ts": self.time(at), "cat": category})

    def launch(self, kernel, at, tid, begin, length, stream, connection, with_cann=True):
        """An operator, what CANN does for it, the task on the device, and the arrows between the three."""
        self.op(f"aten::{kernel.lower()}", at, 20, tid)
        if with_cann:
            self.call("acl", f"aclnn{kernel}", at + 2, 15, tid, connection + 1_000_000, kernel)
            self.call("node", "launch", at + 5, 8, tid, connection, kernel)
            self.call("runtime", "KernelLaunch", at + 6, 5, tid, connection + 2_000_000)
            self.arrow("HostToDevice", f"HostToDevice{connection << 32}", str(connection << 32), at + 5, tid, CANN, begin, stream)
        self.arrow("async_npu", "torch_to_npu", round((EPOCH_US + begin) * 1000), at, tid, PYTHON, begin, stream)
        self.task(kernel, begin, length, stream, connection if with_cann else NONE)

    def collective(self, name, number, at, tid, begin, length, stream, connection, count, ranks):
        self.op(f"c10d::{name}_", at, 30, tid)
        self.call("node", "launch", at + 5, 20, tid, connection, f"hcom_{name}_")
        for part, (task, kind) in enumerate((("Notify_Wait", "NOTIFY_WAIT_SQE"), ("Memcpy", "SDMA"), ("Reduce_Inline", "SDMA"))):
            self.task(task, begin + 10 * part, 9, stream, connection, kind)
            self.slice(COMMUNICATION, task, begin + 10 * part, 9, 1,
                       **{"notify_id": 5, "duration estimated(us)": 3, "stream id": stream, "task id": part, "context id": NONE,
                          "task type": kind, "src rank": 0, "dst rank": 1, "transport type": "SDMA", "size(Byte)": count * 4,
                          "data type": "FP32", "link type": "HCCS", "bandwidth(GB/s)": 12.5, "model id": NONE})
        self.slice(COMMUNICATION, f"hcom_{name}__{GROUP[-3:]}_{number}_1", begin, length, 0,
                   **{"rank_size": ranks, "connection_id": connection, "model id": NONE, "data_type": "FP32", "alg_type": "MESH-RING",
                      "count": count, "relay": "no", "retry": "no"})

    def names(self):
        self.meta(PYTHON, "Python", "CPU", **{f"t{self.pid}": f"Thread {self.pid}"})
        self.meta(CANN, "CANN", "CPU", **{f"t{self.pid}": f"Thread {self.pid}"})
        self.meta(HARDWARE, "Ascend Hardware", f"NPU {self.device}", t2="Stream 2", t11="Stream 11")
        self.meta(COMMUNICATION, "Communication", f"NPU {self.device}", t0=f"Group {GROUP} Communication", t1="Plane 0")
        self.meta(OVERLAP, "Overlap Analysis", f"NPU {self.device}", t0="Computing", t1="Communication")

    def write(self, path):
        path.write_text(json.dumps(self.events))


STEPS, LAUNCHES, STEP_US = 5, 6, 2000


def write_rank(path, rank, pid=None, late_us=0, with_cann=True, steps=STEPS):
    """Steps of a few kernels, a copy, an event that waits, an all-reduce and a synchronise; `late_us`: before the all-reduce."""
    pid = pid or 383_681 + rank
    profile = AscendProfile(pid, rank)
    connection = 10
    for step in range(steps):
        at = step * STEP_US
        profile.op(f"ProfilerStep#{step + 3}", at, STEP_US - 1, pid)
        for number in range(LAUNCHES):
            begin = at + 60 * number + 40.25
            profile.launch("MatMul", at + 60 * number + 10, pid, begin, 30.5, 2, connection, with_cann)
            connection += 1
        if with_cann:
            profile.call("acl", "aclrtMemcpyAsync", at + 380, 6, pid, connection)
            profile.task("MEMCPY_ASYNC", at + 400, 12, 2, connection, "SDMA", **{"size(B)": 4096, "operation": "host to device"})
            profile.task("EVENT_WAIT", at + 420, 300, 11, NONE, "EVENT_WAIT_SQE")
            connection += 1
            profile.collective("allReduce", step, at + 450 + late_us, pid, at + 900, 200, 11, connection, 1 << 20, 2)
            connection += 1
            profile.call("acl", "aclrtSynchronizeStream", at + 500 + late_us, 650 - late_us, pid, connection)
            profile.call("runtime", "StreamSynchronize", at + 501 + late_us, 640 - late_us, pid, connection + 3_000_000)
            connection += 1
        profile.slice(OVERLAP, "Computing", at + 40, 30, 0)
        profile.slice(OVERLAP, "Free", at + 400, 30, 2)
        profile.events.append({"ph": "C", "name": "AI Core Freq", "pid": profile.lane(20), "tid": 0, "ts": profile.time(at), "args": {"MHz": 1800}})
    profile.slice(GC, "GC", 700, 90, pid, "GC")
    profile.names()
    profile.write(path)
    return profile
