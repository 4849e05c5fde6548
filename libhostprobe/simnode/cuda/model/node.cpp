// The node's birth, its end in forked children, and what each thread owns.
#include "node.h"

#include "context.h"
#include "device.h"
#include "node/activities.h"
#include "node/clock.h"
#include "node/counts.h"
#include "node/topology.h"
#include "stream.h"

#include <pthread.h>
#include <algorithm>
#include <cstdlib>

namespace simnode {

Mutex g_mutex;
Node* g_node = nullptr;

namespace {

bool g_forked_after_init = false;
pthread_key_t g_thread_key;
thread_local ThreadState* t_state = nullptr;

void end_of_thread(void* argument) {
  auto* state = static_cast<ThreadState*>(argument);
  if (t_state == state) t_state = nullptr;
  g_mutex.lock();
  if (g_node != nullptr)
    for (auto& [context, handle] : state->default_streams)
      if (auto* stream = g_node->find<Stream>(handle)) destroy_stream(*stream);
  g_mutex.unlock();
  delete state;
}

// A driver that was initialised does not work in a forked child: its threads are gone. CUDA answers NOT_INITIALIZED there.
void in_forked_child() {
  g_mutex.reset();
  if (g_node != nullptr) g_forked_after_init = true;
  g_node = nullptr;
  t_state = nullptr;
  forget_counts_of_parent();
  forget_activities_of_parent();
}

__attribute__((constructor)) void on_load() {
  pthread_key_create(&g_thread_key, end_of_thread);
  pthread_atfork(nullptr, nullptr, in_forked_child);
}

Node* make_node() {
  auto* node = new Node;
  node->init_ns = now_ns();
  for (int i = 0; i < node->settings.devices; ++i) {
    auto* device = new Device;
    device->ordinal = i;
    device->numa_node = numa_node_of(i, node->settings.devices);
    device->usage = &own_usage().devices[i];
    device->kernels.number = i + std::max(node->settings.rank, 0);
    node->devices.push_back(device);
  }
  if (const char* root = getenv("SIMNODE_SYSFS"); root != nullptr && *root != '\0')
    write_sysfs(root, node->settings.devices);
  return node;
}

}  // namespace

CUresult start_node() {
  if (g_forked_after_init) return CUDA_ERROR_NOT_INITIALIZED;
  if (g_node != nullptr) return CUDA_SUCCESS;
  Node* node = make_node();
  if (node->devices.empty()) {
    delete node;
    return CUDA_ERROR_NO_DEVICE;
  }
  g_node = node;
  start_activities();
  return CUDA_SUCCESS;
}

ThreadState& this_thread() {
  if (t_state == nullptr) {
    t_state = new ThreadState;
    pthread_setspecific(g_thread_key, t_state);
  }
  return *t_state;
}

CUresult current_context(Context** context) {
  SIMNODE_TRY(ready());
  ThreadState& thread = this_thread();
  if (thread.stack.empty() || thread.stack.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *context = g_node->find<Context>(thread.stack.back());
  if (*context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return (*context)->failure;
}

}  // namespace simnode
