/* libburner: a library in which a program may use its CPU time. */
#ifndef HOSTPROBE_TESTS_BURNER_H
#define HOSTPROBE_TESTS_BURNER_H

#ifdef __cplusplus
extern "C" {
#endif

unsigned burn_in_library(unsigned long rounds);

#ifdef __cplusplus
}
#endif
#endif
