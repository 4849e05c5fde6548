#!/usr/bin/env python3
"""ffmpeg scales pictures on the simulated GPU: PTX loaded through the driver API, which its own loader finds by dlopen and
dlsym. Same pictures recorded as bare, and every call of the driver is recorded as often as it was made."""

from collections import Counter

import guest
from guest import KINDS, GuestTest, program
from probed import SIMNODE, entered

FRAMES = 30
LAUNCHES = 2 * FRAMES  # brightness, and colours in one or two planes


class Ffmpeg(GuestTest):
    def scale(self, kind, layout, algorithm):
        """Checksums of the pictures, complaints, and how often the simulated driver's functions were entered."""
        counts = self.folder / f"counts-{layout}-{kind}"
        counts.mkdir()
        self.run_folder = self.folder / f"run-{layout}"
        filters = f"format={layout},hwupload_cuda,scale_cuda=160:120:interp_algo={algorithm},hwdownload,format={layout}"
        command = [program("ffmpeg"), "-nostdin", "-v", "warning", "-init_hw_device", "cuda=gpu:0", "-filter_hw_device", "gpu",
                   "-f", "lavfi", "-i", f"testsrc=size=320x240:rate=25:duration={FRAMES / 25}", "-vf", filters,
                   "-f", "framemd5", "-"]
        if kind == "bare":
            out, err = self.run_program(*command, LD_LIBRARY_PATH=str(SIMNODE), SIMNODE_GPUS="1", SIMNODE_COUNTS=str(counts))
        else:
            out, err = self.record(*command, options=("--simgpu", "1"), SIMNODE_COUNTS=str(counts))
        complaints = [line for line in err.splitlines() if not line.startswith("hostprobe: ")]  # where the trace is
        return out, complaints, entered(counts)

    def check(self, layout, algorithm):
        bare, recorded = (self.scale(kind, layout, algorithm) for kind in KINDS)
        self.assertEqual(len([line for line in bare[0].splitlines() if not line.startswith("#")]), FRAMES)
        self.assertEqual(recorded[:2], bare[:2])
        counts = bare[2]
        self.assertEqual({name: recorded[2][name] for name in counts}, dict(counts))  # the probe asks for kernels' names
        self.assertEqual(counts["cuLaunchKernel"], LAUNCHES)
        process, = self.processes("ffmpeg")
        self.assertEqual(process["lost"], 0)
        self.assertEqual(process["launches"]["by_function"], {"cuLaunchKernel": LAUNCHES})
        syncs = process["syncs"]["by_function"]
        self.assertIn("cuStreamSynchronize", syncs)
        self.assertEqual({name: counts[name] for name in syncs}, syncs)
        calls = Counter(line["function"] for line in self.dump() if line.get("function", "").startswith("cu"))
        self.assertEqual({name: counts[name] for name in calls}, dict(calls))
        self.assertLessEqual({"cuLaunchKernel", "cuModuleLoadData", "cuMemcpy2DAsync_v2", "cuMemAlloc_v2"}, set(calls))

    def test_scales_pictures_of_two_planes(self):
        self.check("nv12", "bilinear")

    def test_scales_pictures_of_three_planes(self):
        self.check("yuv420p", "lanczos")


if __name__ == "__main__":
    guest.main()
