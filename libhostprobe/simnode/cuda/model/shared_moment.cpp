// See shared_moment.h.
#include "shared_moment.h"

#include "node/clock.h"

#include <sys/mman.h>
#include <unistd.h>

namespace simnode {

SharedMoment::~SharedMoment() {
  if (state != nullptr) munmap(state, sizeof(State));
  if (fd >= 0) close(fd);
}

std::shared_ptr<SharedMoment> SharedMoment::make() {
  int fd = memfd_create("simnode-event", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, sizeof(State)) != 0) return nullptr;
  return open(fd);
}

std::shared_ptr<SharedMoment> SharedMoment::open(int fd) {
  auto shared = std::make_shared<SharedMoment>();
  shared->fd = fd;
  void* mapped = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return nullptr;
  shared->state = static_cast<State*>(mapped);
  return shared;
}

bool SharedMoment::reached(uint64_t number) const {
  return state->known.load(std::memory_order_acquire) >= number &&
         state->at_ns.load(std::memory_order_relaxed) <= now_ns();
}

void make_known(Moment& moment, int64_t at_ns) {
  moment.at_ns = at_ns;
  moment.known = true;
  if (moment.shared == nullptr) return;
  SharedMoment::State& state = *moment.shared->state;
  if (state.known.load(std::memory_order_relaxed) >= moment.shared_number) return;
  state.at_ns.store(at_ns, std::memory_order_relaxed);
  state.known.store(moment.shared_number, std::memory_order_release);
}

}  // namespace simnode
