// telling_frames.h: which frames of a stack a person would look at.
//
// Room 3. Files of Python's frames are known by their last name only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hostprobe::analysis {

struct RunningRow;

// "train.py" of "step (train.py:9)"; "" of code that is not Python's.
std::string_view file_of_frame(std::string_view frame);

// Of stacks, innermost first, the frame that a person would look at: ways into a wait, in Python's own library and the data loader's, are
// passed over. "": there is no frame.
std::string telling_place(const std::vector<std::string>& stack);
// The innermost frame in the file of the outermost one, which is the program's. "": that is the innermost of all, or none is known.
std::string calling_place(const std::vector<std::string>& stack);
// That one, or the innermost where there is none.
std::string program_frame(const std::vector<std::string>& stack);
// As a frame: "function (file:line)" of Python, "function (library)" of other code, as much of it as is known.
std::string running_frame(const RunningRow& row);

}  // namespace hostprobe::analysis
