// step_lanes.h: one step as lanes: what each moment of each rank was lost to, the calls its threads were in, and its GPU's work.
//
// Room 3. For a drawing: what is too short to be seen is left out, and of many ranks those on which most of the step was lost are shown.
#pragma once

#include <vector>

#include "answer/step_time.h"
#include "lost_parts.h"
#include "step_time_member.h"

namespace hostprobe::analysis {

// `parts` of each member, as LostParts resolved them. The number and the type of the step are the caller's to say.
StepLanes step_lanes(const JobGraph& job, const std::vector<StepTimeMember>& members, const Window& step,
                     const std::vector<std::vector<LostPart>>& parts);

}  // namespace hostprobe::analysis
