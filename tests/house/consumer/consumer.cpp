// Prints every setting of the installed hostprobe, from its public list.
#include <cstdio>

int main() {
#define HP_TEXT(name, standard, meaning) std::puts(#name);
#define HP_NUMBER(name, standard, least, most, meaning) std::puts(#name);
#define HP_DECIMAL(name, standard, least, most, meaning) std::puts(#name);
#define HP_CHOICE(name, standard, words, meaning) std::puts(#name);
#define HP_SWITCH(name, standard, meaning) std::puts(#name);
#include <hostprobe/options.def>
}
