// loader.h: asking the dynamic loader without being in anybody's way.
//
// Room 2 (probe/). dl_iterate_phdr holds one of the loader's locks, dlopen and dlsym another. Both belong to the program: a
// child that was forked while somebody held one waits for it for ever, and a thread may hold one while it waits for the
// very thread that we would make wait. So whether there is anything to ask about is known without a lock, most questions
// have an answer without one, and the rest is asked only inside a LoaderVisit (docs/decisions/0007-the-loaders-locks.md).
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

// How many objects the loader has added so far, unloaded ones included. Read without its lock where its counter is known.
unsigned long long load_count();
bool load_count_is_known();

// The object that holds an address of code or constants which is in use. Without a lock, from glibc 2.35 on.
bool find_object(const void* address, dl_phdr_info& object);

// dl_iterate_phdr. Only within a LoaderVisit.
using ObjectVisit = int (*)(dl_phdr_info*, std::size_t, void*);
inline int each_object(ObjectVisit visit, void* argument) { return dl_iterate_phdr(visit, argument); }

// While one lives, the loader's locks may be taken. False: now they may not. Either somebody is forking, and was still
// after so many milliseconds; or this is a child of a process with several threads and has loaded nothing itself, so that nobody
// knows whether the locks are free.
class LoaderVisit {
 public:
  explicit LoaderVisit(unsigned patience_ms = 0);
  ~LoaderVisit();
  LoaderVisit(const LoaderVisit&) = delete;
  LoaderVisit& operator=(const LoaderVisit&) = delete;
  explicit operator bool() const { return is_allowed_; }

 private:
  bool is_allowed_ = false;
};

// Waiting that ends in any case: while (nap.taken()) …
inline constexpr unsigned kPatienceMs = 100;
class Nap {
 public:
  explicit Nap(unsigned patience_ms);
  // False: it has been as long as it may be.
  bool taken();

 private:
  std::uint64_t until_ns_;
};

}  // namespace hostprobe::probe
