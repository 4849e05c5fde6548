// The two service threads of a communicator. "NCCL Service" watches the ring of sockets, so that a dead neighbour is
// noticed, and starts the progress thread when the first operation asks; "NCCL UDS Service" hands out the segment.
#pragma once
#include "thread.h"

#include <atomic>

namespace simnode::nccl {

class Communicator;

class Service {
 public:
  explicit Service(Communicator& communicator) : communicator_(communicator) {}
  ~Service() { stop(); }
  bool open_door(const char* door);  // starts the UDS thread
  bool start();                      // starts the service thread, once the ring is closed
  bool start_progress();             // blocks until the service thread has done it
  void stop();

 private:
  static void* run_service(void* self) __asm__("ncclProxyService");
  static void* run_door(void* self) __asm__("ncclProxyServiceUDS");
  void watch();
  void attend();
  void poke();

  Communicator& communicator_;
  Thread service_, door_;
  int door_fd_ = -1, poke_fd_ = -1, door_poke_fd_ = -1;
  std::atomic<bool> stopping_{false};
  WaitPoint progress_point_;
  bool progress_wanted_ = false, progress_tried_ = false;
};

// "NCCL RAS": one for the process, from the first communicator on; it outlives them all.
void start_ras();

}  // namespace simnode::nccl
