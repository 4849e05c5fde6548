// The simulated node's one way to speak: a line on stderr, `simnode[pid]: what, why, what to do`, without allocation.
#pragma once

namespace simnode {

__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

}  // namespace simnode
