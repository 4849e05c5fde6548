"""A report of Nsight Systems in the form of `nsys export --type sqlite`, made by the documented schema: only that was at hand, no file
of the tool itself."""

import sqlite3

SCHEMA = """
create table StringIds (id integer primary key, value text not null);
create table TARGET_INFO_SESSION_START_TIME (utcEpochNs integer, utcTime text, localTime text);
create table TARGET_INFO_SYSTEM_ENV (globalVid integer, devStateName text, name text, nameEnum integer, value text);
create table PROCESSES (globalPid integer, pid integer, name text);
create table ThreadNames (nameId integer not null, priority integer, globalTid integer);
create table CUPTI_ACTIVITY_KIND_RUNTIME (start integer not null, end integer not null, eventClass integer not null, globalTid integer,
  correlationId integer, nameId integer not null, returnValue integer not null, callchainId integer);
create table OSRT_API (start integer not null, end integer not null, eventClass integer not null, globalTid integer, correlationId integer,
  nameId integer not null, returnValue integer not null, nestingLevel integer, callchainId integer not null);
create table NVTX_EVENTS (start integer not null, end integer, eventType integer not null, rangeId integer, category integer, color integer,
  text text, globalTid integer, endGlobalTid integer, textId integer, domainId integer);
create table CUPTI_ACTIVITY_KIND_KERNEL (start integer not null, end integer not null, deviceId integer not null, contextId integer not null,
  streamId integer not null, correlationId integer, globalPid integer, demangledName integer not null, shortName integer not null,
  mangledName integer, gridX integer not null, gridY integer not null, gridZ integer not null, blockX integer not null,
  blockY integer not null, blockZ integer not null, staticSharedMemory integer not null, dynamicSharedMemory integer not null);
create table CUPTI_ACTIVITY_KIND_MEMCPY (start integer not null, end integer not null, deviceId integer not null, contextId integer not null,
  streamId integer not null, correlationId integer, globalPid integer, bytes integer not null, copyKind integer not null);
create table CUPTI_ACTIVITY_KIND_MEMSET (start integer not null, end integer not null, deviceId integer not null, contextId integer not null,
  streamId integer not null, correlationId integer, globalPid integer, value integer, bytes integer not null);
"""
EPOCH = 1_700_000_000_000_000_000
PUSH_POP_RANGE, MARK = 59, 34


class NsightReport:
    def __init__(self, path, host="gpu-node-1"):
        self.database = sqlite3.connect(path)
        self.database.executescript(SCHEMA)
        self.texts = {}
        self.add("TARGET_INFO_SESSION_START_TIME", EPOCH, "", "")
        self.add("TARGET_INFO_SYSTEM_ENV", 0, "", "Hostname", 1, host)

    def add(self, table, *row):
        self.database.execute(f"insert into {table} values ({', '.join('?' * len(row))})", row)

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 1
            self.add("StringIds", self.texts[value], value)
        return self.texts[value]

    @staticmethod
    def thread(pid, tid):
        return 1 << 48 | pid << 24 | tid

    def call(self, name, begin, end, pid, tid, correlation):
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", begin, end, 0, self.thread(pid, tid), correlation, self.text(name), 0, None)

    def wait(self, name, begin, end, pid, tid):
        self.add("OSRT_API", begin, end, 27, self.thread(pid, tid), 7, self.text(name), 0, 0, 0)

    def kernel(self, name, begin, end, pid, correlation, stream=7):
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", begin, end, 0, 1, stream, correlation, self.thread(pid, 0), self.text(name), self.text(name),
                 None, 8, 2, 1, 128, 1, 1, 0, 512)

    def copy(self, begin, end, pid, correlation, size):
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", begin, end, 0, 1, 7, correlation, self.thread(pid, 0), size, 1)

    def fill(self, begin, end, pid, correlation, size):
        self.add("CUPTI_ACTIVITY_KIND_MEMSET", begin, end, 0, 1, 7, correlation, self.thread(pid, 0), 0, size)

    def range(self, name, begin, end, pid, tid, by_id=False):
        self.add("NVTX_EVENTS", begin, end, PUSH_POP_RANGE, None, None, None, None if by_id else name, self.thread(pid, tid), None,
                 self.text(name) if by_id else None, 0)

    def mark(self, name, begin, pid, tid):
        self.add("NVTX_EVENTS", begin, None, MARK, None, None, None, name, self.thread(pid, tid), None, None, 0)

    def names(self, pid, program, **threads):
        self.add("PROCESSES", self.thread(pid, 0), pid, program)
        for name, tid in threads.items():
            self.add("ThreadNames", self.text(name), 0, self.thread(pid, int(tid)))

    def close(self):
        self.database.commit()
        self.database.close()


def write_job(path, steps=6):
    """Two processes: launches with their kernels, a copy, a fill, a synchronise, and a semaphore in which the main thread waits."""
    report = NsightReport(path)
    for pid in (4242, 4243):
        report.names(pid, "/usr/bin/python3", python3=pid, loader=pid + 100)
        at = 1_000_000
        for step in range(steps):
            report.range(f"ProfilerStep#{step}", at, at + 990_000, pid, pid, by_id=step % 2 == 1)
            for number in range(4):
                # The same ids in both processes.
                correlation = 100 * step + number + 1
                report.call("cudaLaunchKernel_v7000", at + 20_000 * number, at + 20_000 * number + 6_000, pid, pid, correlation)
                report.kernel("gemm", at + 20_000 * number + 9_000, at + 20_000 * number + 27_000, pid, correlation)
            report.call("cudaMemcpyAsync_v3020", at + 90_000, at + 95_000, pid, pid, 100 * step + 50)
            report.copy(at + 110_000, at + 120_000, pid, 100 * step + 50, 4096)
            report.call("cudaMemsetAsync_v3020", at + 96_000, at + 99_000, pid, pid, 100 * step + 51)
            report.fill(at + 121_000, at + 125_000, pid, 100 * step + 51, 512)
            report.call("cudaStreamSynchronize_v3020", at + 130_000, at + 180_000, pid, pid, 100 * step + 60)
            report.wait("sem_clockwait", at + 200_000, at + 900_000, pid, pid)
            report.wait("pthread_cond_wait", at + 100_000, at + 800_000, pid, pid + 100)
            report.mark("loss", at + 950_000, pid, pid)
            at += 1_000_000
    report.close()
