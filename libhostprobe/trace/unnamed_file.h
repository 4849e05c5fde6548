// unnamed_file.h: memory whose bytes stand in a file that has no name, so that the kernel can write them out where others need
// the memory.
//
// Room 3. For runs that are larger than the memory. Nobody else can open the file, and it ends with its block.
#pragma once

#include <cstddef>

namespace hostprobe::analysis {

// Where such files lie: $TMPDIR, else /var/tmp, which is a disk where /tmp may be memory.
const char* unnamed_file_folder();

// Zeroed, at the begin of a page. nullptr: there is no room on that disk, or it cannot be written; errno says which.
void* map_unnamed_file(std::size_t bytes);
void unmap_unnamed_file(void* block, std::size_t bytes);

}  // namespace hostprobe::analysis
