#!/usr/bin/env python3
"""Compiles a Triton kernel and launches it 400 times, without PyTorch: device memory comes from the driver API."""

import ctypes
import sys

import triton
import triton.language as tl

LAUNCHES, ELEMENTS, BLOCK = 400, 4096, 256


@triton.jit
def add_one(values, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(values + offsets, tl.load(values + offsets, mask=mask) + 1.0, mask=mask)


def check(result, what):
    if result != 0:
        sys.exit(f"triton_400.py: {what} failed with {result}")


class DeviceArray:
    """What Triton wants of a tensor argument: an address and a type."""

    dtype = "fp32"

    def __init__(self, driver, elements):
        address = ctypes.c_uint64()
        check(driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * elements)), "cuMemAlloc")
        self.address = address.value

    def data_ptr(self):
        return self.address


def main():
    triton.runtime.driver.active.set_current_device(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    driver = ctypes.CDLL("libcuda.so.1")
    values = DeviceArray(driver, ELEMENTS)
    for _ in range(LAUNCHES):
        add_one[(ELEMENTS // BLOCK,)](values, ELEMENTS, BLOCK=BLOCK)
    check(driver.cuCtxSynchronize(), "cuCtxSynchronize")
    print(f"launched {LAUNCHES}")


if __name__ == "__main__":
    main()
