// amount.h: numbers of a document as people read them in a page.
//
// Room 3. What was not measured is a dash, never 0.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostprobe::analysis {

using MaybeNumber = std::optional<double>;

std::string ms_amount(const MaybeNumber& ms);
std::string us_amount(const MaybeNumber& us);
std::string pct_amount(const MaybeNumber& pct);       // "12 %", "0.3 %"
std::string change_amount(const MaybeNumber& pct);    // "+12 %"; from twice as much on "x 3.4"
std::string count_amount(const MaybeNumber& count);   // "83 221"
std::string bytes_amount(const MaybeNumber& bytes);   // "1.5 MiB"
std::string plain_amount(const MaybeNumber& number);  // three digits
// "10 % (9.1 to 11)"; without a range where that is not known.
std::string gain_amount(const MaybeNumber& gain, const MaybeNumber& low, const MaybeNumber& high);
// "dataloader_wait" as "dataloader wait"
std::string spaced(std::string_view id);

}  // namespace hostprobe::analysis
