// finding_text.h: a finding in words.
//
// Room 3. For the text report and for what people read in the JSON document; scripts read ids and numbers.
#pragma once

#include <string>

#include "answer/finding.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// What is said of a finding, for forms that set it in their own way. Sentences are whole; "": there is nothing to say.
struct FindingText {
  std::string title;    // "Data loading"
  std::string who;      // "rank 3", "the job"
  std::string thread;   // as thread_of
  std::string cost;     // "2.31 ms a step, 12 %"
  std::string lead;     // who spends how much on what, and where
  std::string detail;   // on what, and where: the lead without what stands beside it
  std::string because;  // sentences: what was seen
  std::string todo;     // a sentence: what to change
  std::string gain;     // "33 % (29 to 37)"
  std::string limit;    // a sentence: what keeps the gain below the cost
};

FindingText finding_parts(const RunAnswer& run, const Finding& finding);

// What a person calls the thread in which the heaviest piece of it lies: "main", "pt_autograd_0"; "": that is not known.
std::string thread_of(const RunAnswer& run, const Finding& finding);

// All of it as sentences.
std::string finding_text(const RunAnswer& run, const Finding& finding);

}  // namespace hostprobe::analysis
