// event_builder.cpp: see event_builder.h.
#include "event_builder.h"

#include <initializer_list>

namespace hostprobe::analysis {
namespace {

using Field = ProfileField;

// Names by their length: most are seen by that alone to be none of them.
class Fields {
 public:
  Fields(std::initializer_list<std::pair<std::string_view, Field>> all) {
    for (const auto& one : all) by_length_[one.first.size()].push_back(one);
  }
  std::optional<Field> find(std::string_view name) const {
    if (name.size() < by_length_.size())
      for (const auto& [own, field] : by_length_[name.size()])
        if (own.front() == name.front() && own == name) return field;
    return std::nullopt;
  }

 private:
  std::array<std::vector<std::pair<std::string_view, Field>>, 24> by_length_;
};

const Fields kEventFields = {{"ph", Field::kPhase},     {"cat", Field::kCategory}, {"name", Field::kName},
                             {"pid", Field::kPid},      {"tid", Field::kTid},      {"ts", Field::kTime},
                             {"dur", Field::kDuration}, {"id", Field::kId}};
const Fields kArgFields = {{"name", Field::kOwnName},
                           {"labels", Field::kLabels},
                           {"correlation", Field::kCorrelation},
                           {"device", Field::kDevice},
                           {"stream", Field::kStream},
                           {"bytes", Field::kBytes},
                           {"shared memory", Field::kSharedBytes},
                           {"grid", Field::kGrid},
                           {"block", Field::kBlock},
                           {"Input Dims", Field::kInputDims},
                           {"Input type", Field::kInputType},
                           {"Collective name", Field::kCollective},
                           {"dtype", Field::kDataType},
                           {"In msg nelems", Field::kElementsIn},
                           {"Out msg nelems", Field::kElementsOut},
                           {"Group size", Field::kGroupSize},
                           {"Process Group Name", Field::kGroupName},
                           {"Process Group Ranks", Field::kGroupRanks},
                           {"Rank", Field::kRank},
                           {"Seq", Field::kSequence},
                           {"Src Rank", Field::kFromRank},
                           {"Dst Rank", Field::kToRank},
                           // of Ascend's profiles
                           {"Task Type", Field::kTaskType},
                           {"level", Field::kLevel},
                           {"task type", Field::kPlaneTask},
                           {"connection_id", Field::kCorrelation},
                           {"size(B)", Field::kBytes},
                           {"rank_size", Field::kGroupSize},
                           {"data_type", Field::kDataType},
                           {"count", Field::kElementsIn}};

}  // namespace

std::optional<ProfileField> event_field(std::string_view name) { return kEventFields.find(name); }
std::optional<ProfileField> arg_field(std::string_view name) { return kArgFields.find(name); }

}  // namespace hostprobe::analysis
