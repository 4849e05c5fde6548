// stream.cpp: see stream.h.
#include "stream.h"

#include <cerrno>
#include <exception>
#include <new>

#include "run.h"

namespace hostprobe::tables {
namespace {

struct Stream {
  std::shared_ptr<Run> run;
  const Table& table;
  std::vector<std::size_t> columns;
  std::unique_ptr<Batches> batches;
  std::string error;
  bool ended = false;
};

Stream& stream_of(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }

// No exception may leave a function that C calls.
template <typename Work>
int guarded(Stream& stream, Work work) {
  try {
    work();
    return 0;
  } catch (const std::bad_alloc&) {
    stream.error = "no memory";
    return ENOMEM;
  } catch (const std::exception& error) {
    stream.error = error.what();
    return EIO;
  }
}

int get_schema(ArrowArrayStream* one, ArrowSchema* out) {
  Stream& stream = stream_of(one);
  out->release = nullptr;
  return guarded(stream, [&] { make_schema(stream.table, stream.columns, stream.run->metadata(), out); });
}

// Behind the end, and behind an error, there are no more rows.
int get_next(ArrowArrayStream* one, ArrowArray* out) {
  Stream& stream = stream_of(one);
  out->release = nullptr;
  if (stream.ended) return 0;
  stream.ended = true;
  return guarded(stream, [&] {
    if (stream.batches->next(out))
      stream.ended = false;
    else
      stream.batches.reset();
  });
}

const char* get_last_error(ArrowArrayStream* one) {
  const std::string& error = stream_of(one).error;
  return error.empty() ? nullptr : error.c_str();
}

void release(ArrowArrayStream* one) {
  delete &stream_of(one);
  one->release = nullptr;
}

}  // namespace

void make_stream(std::shared_ptr<Run> run, const Table& table, std::vector<std::size_t> columns, TraceRange traces,
                 ArrowArrayStream* out) {
  auto batches = table.open(run, columns, traces);
  auto stream =
      std::unique_ptr<Stream>(new Stream{std::move(run), table, std::move(columns), std::move(batches), {}, false});
  *out = ArrowArrayStream{get_schema, get_next, get_last_error, release, nullptr};
  out->private_data = stream.release();
}

}  // namespace hostprobe::tables
