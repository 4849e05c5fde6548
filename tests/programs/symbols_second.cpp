// symbols_second: the library behind for looks_up_symbols.
extern "C" __attribute__((visibility("default"))) int same_name() { return 43; }
