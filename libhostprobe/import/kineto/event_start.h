// event_start.h: where behind damage an event, a document or the end of the list of events may begin, by a few bytes of text.
//
// Room 3.
#pragma once

#include <cstddef>
#include <string_view>

namespace hostprobe::analysis {

enum class StartKind : unsigned char {
  kNone,
  kNeedsMore,  // the text is too short to say
  kEvent,      // {"ph": and the like
  kDocument,   // {"schemaVersion": and the like
  kListEnd,    // ], "traceName": and the like, or ]} at the end
  kRootKey,    // "traceEvents":
};

// What begins at `at`. `is_all`: nothing comes behind the text.
StartKind start_at(std::string_view text, std::size_t at, bool is_all);

struct FoundStart {
  StartKind kind = StartKind::kNone;  // kNone: none begins in the text; kNeedsMore: one may, at `at`
  std::size_t at = 0;
};

// The first one from `from` on; keys of the document count only where they are asked for: events have such names too.
FoundStart next_start(std::string_view text, std::size_t from, bool is_all, bool with_root_keys);

}  // namespace hostprobe::analysis
