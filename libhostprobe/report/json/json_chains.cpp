// json_chains.cpp: see json_chains.h.
#include "json_chains.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostLinks = 16;  // the rest are one row

}  // namespace

Json waker_json(const KernelWaker& waker) {
  const Json name = waker.name.empty() ? Json(nullptr) : Json(waker.name);
  return waker.interrupt ? Json{{"interrupt", name}} : Json{{"comm", name}, {"pid", waker.pid}};
}

namespace {

Json link_json(const ChainLink& link, double all_ms) {
  Json roles = Json::array();
  for (const Role role : link.roles) roles.push_back(role_name(role));
  Json json = {{"type", link_name(link.type)},
               {"roles", roles},
               {"count", link.count},
               {"ms", link.ms},
               {"share_pct", all_ms <= 0 ? Json(nullptr) : Json(std::min(100.0, 100 * link.ms / all_ms))}};
  if (link.pid != 0) {
    json["rank"] = or_null(link.rank);
    json["pid"] = link.pid;
  }
  if (link.waker) json["waker"] = waker_json(*link.waker);
  if (!link.function.empty()) {
    json["function"] = link.function;
    json["library"] = link.library;
  }
  return json;
}

}  // namespace

Json chain_json(const WakeChain& chain) {
  Json links = Json::array();
  for (std::size_t i = 0; i < std::min(chain.links.size(), kMostLinks); ++i)
    links.push_back(link_json(chain.links[i], chain.dependency_ms));
  double rest_ms = 0;
  for (std::size_t i = kMostLinks; i < chain.links.size(); ++i) rest_ms += chain.links[i].ms;
  return {{"waits", chain.waits},
          {"dependency_ms", chain.dependency_ms},
          {"wake_ms", chain.wake_ms},
          {"links", links},
          {"other_links_ms", rest_ms}};
}

}  // namespace hostprobe::analysis
