// finding.cpp: see finding.h.
#include "finding.h"

#include <algorithm>

namespace hostprobe::analysis {

const Evidence::Value* Evidence::find(const std::string& name) const {
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&name](const auto& one) { return one.first == name; });
  return found == values_.end() ? nullptr : &found->second;
}

double Evidence::number(const std::string& name) const {
  const Value* value = find(name);
  return value != nullptr && std::holds_alternative<double>(*value) ? std::get<double>(*value) : 0;
}

std::uint64_t Evidence::count(const std::string& name) const {
  const Value* value = find(name);
  return value != nullptr && std::holds_alternative<std::uint64_t>(*value) ? std::get<std::uint64_t>(*value) : 0;
}

std::string Evidence::text(const std::string& name) const {
  const Value* value = find(name);
  return value != nullptr && std::holds_alternative<std::string>(*value) ? std::get<std::string>(*value) : "";
}

}  // namespace hostprobe::analysis
