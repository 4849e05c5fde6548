// Prints every setting of the installed hostprobe, from its public list, and calls what a program may call.
#include <hostprobe/hostprobe.h>

#include <cstdio>

int main() {
#define HP_TEXT(name, standard, meaning) std::puts(#name);
#define HP_NUMBER(name, standard, least, most, meaning) std::puts(#name);
#define HP_DECIMAL(name, standard, least, most, meaning) std::puts(#name);
#define HP_CHOICE(name, standard, words, meaning) std::puts(#name);
#define HP_SWITCH(name, standard, meaning) std::puts(#name);
#include <hostprobe/options.def>
  const bool idle =
      hostprobe_step(1) == 0 && hostprobe_trigger("why") == 0 && hostprobe_stop() == 0 && hostprobe_start() == 0;
  const hostprobe::Region region("all of it");
  return idle && hostprobe_active() == 0 && hostprobe_mark("one", 1) == 0 && hostprobe_end_step() == 0 ? 0 : 1;
}
