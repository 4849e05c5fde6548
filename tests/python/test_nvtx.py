#!/usr/bin/env python3
"""NVTX ranges as PyTorch and C programs make them, taken as regions where no other tool is named."""

import probed
from probed import PRELOAD, ProbedTest, path_of

TORCH = """
import torch
from torch.cuda import nvtx
levels = []
for i in range(5):
    levels.append(nvtx.range_push("step"))
    levels.append(nvtx.range_push("forward"))
    levels.append(nvtx.range_pop())
    levels.append(nvtx.range_pop())
free = nvtx.range_start("transfer")
nvtx.range_end(free)
nvtx.mark("here")
print(levels[:4], nvtx.range_pop())
"""

# Domains, registered texts, ranges that interleave, one that another thread ends, one that never ends, and 40 levels.
C_PROGRAM = r"""
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static nvtxRangeId_t passed;
static void* ends(void* none) { if (passed) nvtxRangeEnd(passed); return none; }
static nvtxEventAttributes_t event(const char* text) {
  nvtxEventAttributes_t e = {0};
  e.version = NVTX_VERSION; e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  e.messageType = NVTX_MESSAGE_TYPE_ASCII; e.message.ascii = text;
  return e;
}
int main(void) {
  pthread_t thread; pthread_create(&thread, 0, ends, 0); pthread_join(thread, 0);
  usleep(2000000);  /* hostprobe's own thread looks at the program meanwhile */
  nvtxDomainHandle_t mine = nvtxDomainCreateA("mine"), theirs = nvtxDomainCreateA("cuBLAS");
  nvtxStringHandle_t kept = nvtxDomainRegisterStringA(mine, "registered");
  nvtxEventAttributes_t plain = event("plain"), named = event(0), quiet = event("quiet");
  named.messageType = NVTX_MESSAGE_TYPE_REGISTERED; named.message.registered = kept;
  nvtxRangePushA("outer");
  nvtxDomainRangePushEx(mine, &named);
  nvtxDomainRangePushEx(theirs, &quiet);
  int first = nvtxRangePop(), second = nvtxDomainRangePop(mine), third = nvtxDomainRangePop(theirs);
  nvtxRangePushEx(&plain); nvtxRangePop();
  passed = nvtxRangeStartA("passed on"); nvtxRangeStartA("never ended");
  pthread_create(&thread, 0, ends, 0); pthread_join(thread, 0);
  nvtxRangeEnd(passed); nvtxRangeEnd(0); nvtxRangeEnd(12345678);
  plain.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE; plain.payload.dValue = 2.5; nvtxMarkEx(&plain);
  nvtxRangePushA("in the parent");
  if (fork() == 0) { nvtxRangePop(); nvtxRangePushA("in the child"); nvtxRangePop(); usleep(20000); _exit(0); }
  wait(0);
  nvtxRangePop();
  int deepest = 0;
  for (int i = 0; i < 40; ++i) deepest = nvtxRangePushA("deep");
  for (int i = 0; i < 40; ++i) nvtxRangePop();
  printf("%d %d %d %d %d\n", first, second, third, deepest, nvtxRangePop());
  return 0;
}
"""


class Nvtx(ProbedTest):
    def regions(self, process=0):
        processes = sorted(self.report()["processes"], key=lambda p: p["pid"])
        return {r["name"]: r["count"] for r in processes[process].get("regions", []) if r["source"] == "nvtx_range"}

    def script(self):
        path = self.folder / "program.py"
        path.write_text(TORCH)
        return path_of("TORCH_PYTHON"), path

    def compiled(self):
        include = next(path_of("TORCH_PYTHON").parents[1].glob("lib/python3*/site-packages/nvidia/cu*/include"))
        (self.folder / "ranges.c").write_text(C_PROGRAM)
        self.run_program("gcc", "-isystem", include, "ranges.c", "-o", "ranges", "-ldl", "-lpthread")
        return self.folder / "ranges"

    def test_ranges_of_pytorch_are_regions(self):
        out, _ = self.record(*self.script())
        self.assertEqual(out, "[0, 1, 1, 0] -1\n", "levels as NVTX defines them; -1: there was none")
        self.assertEqual(self.regions(), {"step": 5, "forward": 5, "transfer": 1})
        marks = [r for r in self.dump() if r.get("function") == "nvtx_mark"]
        self.assertEqual([m["args"]["name"] for m in marks], ["here"])

    def test_domains_registered_texts_and_other_threads(self):
        out, _ = self.record(self.compiled())
        self.assertEqual(out, "0 0 0 39 -1\n")
        self.assertEqual(self.regions(), {"outer": 1, "registered": 1, "plain": 1, "passed on": 1, "in the parent": 1,
                                          "deep": 16})
        self.assertEqual(self.regions(1), {"in the child": 1})
        ranges = [r for r in self.dump() if r.get("function") == "nvtx_range"]
        self.assertEqual({r["args"]["domain"] for r in ranges if r["args"]["name"] == "registered"}, {"mine"})
        values = [r["args"]["value"] for r in self.dump() if r.get("function") == "nvtx_mark"]
        self.assertEqual([float(value) for value in values], [2.5])

    def test_a_tool_that_is_named_is_left_in_its_place(self):
        out, _ = self.record(self.compiled(), NVTX_INJECTION64_PATH="/nonexistent/tool.so")
        self.assertEqual(out, "-2 -2 -2 -2 -2\n", "as NVTX answers where no tool is there")
        self.assertEqual(self.regions(), {})

    def test_switched_off_or_not_recorded_nvtx_stays_without_a_tool(self):
        program = self.compiled()
        plain, _ = self.run_program(program)
        for changes in ({"HOSTPROBE_NVTX": "0"}, {"HOSTPROBE_TARGET": "nothing"}):
            out, _ = self.run_program(program, LD_PRELOAD=str(PRELOAD), HOSTPROBE_OUT=str(self.run_folder), **changes)
            self.assertEqual(out, plain)

    def test_the_programs_environment_stays_as_it_is(self):
        out, _ = self.record(*self.script()[:1], "-c", "import torch, os; torch.cuda.nvtx.mark('x'); "
                             "print(sorted(n for n in os.environ if 'NVTX' in n)); os.system('env | grep -c NVTX')")
        self.assertEqual(out, "[]\n0\n")


if __name__ == "__main__":
    probed.main()
