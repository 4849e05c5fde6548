// thread_answer.h: what is known of one thread: what it is for, what it did with its time, what it is in now.
//
// Room 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "answer/thread.h"
#include "model/timeline.h"
#include "thread_time.h"

namespace hostprobe::analysis {

ThreadAnswer describe_thread(const Timeline& timeline, const Track& track, const Blocked& blocked);

}  // namespace hostprobe::analysis
