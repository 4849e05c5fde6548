// file_header.h: who this process is, for the head of its trace file.
//
// Room 2 (probe/). On the thread of the first record, once per process.
#pragma once

namespace hostprobe::probe {

void fill_file_header(char** environment);

}  // namespace hostprobe::probe
