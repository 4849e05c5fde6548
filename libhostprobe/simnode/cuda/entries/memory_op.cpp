// Waiting for and writing values in memory in stream order.
#include "cuda/model/capture.h"
#include "cuda/model/memory.h"
#include "cuda/model/node.h"
#include "cuda/model/stream.h"
#include "cuda/model/work.h"
#include "entry.h"

#include <atomic>

namespace simnode {

namespace {

template <class Value>
bool has_come(const std::atomic<Value>& memory, Value value, unsigned flags) {
  Value now = memory.load(std::memory_order_acquire);
  using Signed = std::make_signed_t<Value>;
  switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & value) != 0;
    default:
      return ~(now | value) != 0;
  }
}

template <class Value>
CUresult wait_value(CUstream handle, CUdeviceptr address, Value value, unsigned flags) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (address == 0 || address % sizeof value != 0 || allocation_holding(address) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture != nullptr) return capture_violated(*stream);
  order_with_legacy(*stream, now_ns());
  Op op;
  op.what = Op::What::kPoll;
  op.arrived = [address, value, flags] {
    return has_come(*reinterpret_cast<std::atomic<Value>*>(address), value, flags);
  };
  submit(*stream, std::move(op));
  return CUDA_SUCCESS;
}

template <class Value>
CUresult write_value(CUstream handle, CUdeviceptr address, Value value) {
  if (address == 0 || address % sizeof value != 0) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (allocation_holding(address) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.capturable = false;
  work.effect = [address, value] {
    reinterpret_cast<std::atomic<Value>*>(address)->store(value, std::memory_order_release);
    return CUDA_SUCCESS;
  };
  return submit_work_locked(*stream, std::move(work), now_ns());
}

CUresult batch(CUstream stream, unsigned count, const CUstreamBatchMemOpParams* operations) {
  if (count != 0 && operations == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams& one = operations[i];
    CUresult result = CUDA_SUCCESS;
    switch (one.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        result = wait_value<uint32_t>(stream, one.waitValue.address, one.waitValue.value, one.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        result = wait_value<uint64_t>(stream, one.waitValue.address, one.waitValue.value64, one.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        result = write_value<uint32_t>(stream, one.writeValue.address, one.writeValue.value);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        result = write_value<uint64_t>(stream, one.writeValue.address, one.writeValue.value64);
        break;
      default:
        break;
    }
    SIMNODE_TRY(result);
  }
  return CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuStreamWaitValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  return wait_value<uint32_t>(stream, address, value, flags);
}

SIMNODE_ENTRY(cuStreamWaitValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  return wait_value<uint64_t>(stream, address, value, flags);
}

SIMNODE_ENTRY(cuStreamWriteValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int) {
  return write_value<uint32_t>(stream, address, value);
}

SIMNODE_ENTRY(cuStreamWriteValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int) {
  return write_value<uint64_t>(stream, address, value);
}

SIMNODE_ENTRY(cuStreamBatchMemOp_v2)
(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* operations, unsigned int) {
  return batch(stream, count, operations);
}

SIMNODE_ENTRY(cuStreamWaitValue32)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  return wait_value<uint32_t>(stream, address, value, flags);
}

SIMNODE_ENTRY(cuStreamWaitValue64)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  return wait_value<uint64_t>(stream, address, value, flags);
}

SIMNODE_ENTRY(cuStreamWriteValue32)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int) {
  return write_value<uint32_t>(stream, address, value);
}

SIMNODE_ENTRY(cuStreamWriteValue64)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int) {
  return write_value<uint64_t>(stream, address, value);
}

SIMNODE_ENTRY(cuStreamBatchMemOp)
(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* operations, unsigned int) {
  return batch(stream, count, operations);
}

}  // namespace simnode
