// peer_spdlog.cpp: a launch between two lines of an asynchronous logger of spdlog.
#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <cstdlib>

#include "peers.h"

namespace hostprobe::bench {
namespace {

Launch volatile g_real = launch_nothing;
spdlog::logger* g_logger;

int traced(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
           unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void** extra) {
  g_logger->info("launch {} grid {} block {} shared {} stream {} site {}", reinterpret_cast<std::uintptr_t>(kernel),
                 grid_x, block_x, shared_bytes, reinterpret_cast<std::uintptr_t>(stream),
                 reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  int result =
      g_real(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra);
  g_logger->info("returned {}", result);
  return result;
}

}  // namespace

std::vector<Shape> peer_shapes() {
  const char* file = std::getenv("PEERS_OUT");
  spdlog::init_thread_pool(32768, 1);  // holds a burst
  static auto logger = spdlog::basic_logger_mt<spdlog::async_factory>("bench", file == nullptr ? "/dev/null" : file);
  g_logger = logger.get();
  return {{"spdlog_pair", reinterpret_cast<void*>(&launch_nothing), reinterpret_cast<void*>(&traced), call_launches,
           nullptr, 4000}};
}

void let_consumer_catch_up() {
  while (spdlog::thread_pool()->queue_size() != 0) sleep_us(500);
}

}  // namespace hostprobe::bench
