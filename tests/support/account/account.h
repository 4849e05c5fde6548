// account.h: what the simulated driver tells of its devices (SIMNODE_ACTIVITIES), for those who hold an answer against the truth.
//
// Linked into tests alone: nobody who has a GPU has such an account.
#pragma once

namespace hostprobe::analysis {

// From here on the analysis takes what ran on the GPU from the accounts that lie beside the traces.
void read_accounts();

}  // namespace hostprobe::analysis
