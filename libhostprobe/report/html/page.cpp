// page.cpp: see page.h.
#include "page.h"

#include "cause_bars.h"
#include "collective_section.h"
#include "finding_cards.h"
#include "flame_section.h"
#include "head_section.h"
#include "member.h"
#include "page_frame.h"
#include "rank_section.h"
#include "step_section.h"
#include "thread_section.h"
#include "trial_section.h"

namespace hostprobe::analysis {

std::string report_page(const JsonValue& document) {
  Markup page;
  begin_page("hostprobe report " + text_in(document, "run.path"),
             {{"top", "Verdict"},
              {"findings", "What to do"},
              {"time", "Time"},
              {"steps", "Steps"},
              {"worst", "The worst step"},
              {"collectives", "Collectives"},
              {"threads", "CPUs and threads"},
              {"flames", "Flame graphs"},
              {"trials", "Fixes tried"},
              {"ranks", "Ranks"}},
             page);
  add_head(document, page);
  add_findings(document, page);
  add_cause_bars(document, page);
  add_steps(document, page);
  add_collectives(document, page);
  add_threads(document, page);
  add_flames(document, page);
  add_trials(document, page);
  add_ranks(document, page);
  end_page(document, page);
  return page.take();
}

}  // namespace hostprobe::analysis
