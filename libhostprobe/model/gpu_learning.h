// gpu_learning.h: how long ops last that no stretch of timed ops tells by itself, from what a replay puts around them.
//
// Room 3.
#pragma once

#include "gpu_replay_state.h"

namespace hostprobe::analysis::replay {

// Of collectives: the time of the rank that came last, which waited for nobody.
void learn_moved(State& state);

// Of kinds whose begin no event told: from where the replay puts it; of a collective from the moment at which all ranks were there. Of
// what is still not known: as other ranks tell.
void learn_guessed(State& state);

// Of kinds that nobody timed, by the waits behind them: quick returns tell how long they last, others are late. True: some were learned.
bool learn_waited(State& state);

}  // namespace hostprobe::analysis::replay
