// Hands things from one thread to another in order, and lets only so many wait: by a condition variable, semaphores, or pipes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using Content = std::vector<uint32_t>;

class Channel {
 public:
  virtual ~Channel() = default;
  virtual void put(Content content) = 0;
  virtual Content take() = 0;

  static std::unique_ptr<Channel> make(const std::string& how, int capacity);
};
