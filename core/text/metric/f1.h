/* f1.h - bracketing F1 as a service for tasks. */
#ifndef ABLATE_METRIC_F1_H
#define ABLATE_METRIC_F1_H
#include "api/ab_plugin.h"

/* The host's service `f1` (ab_plugin.h): hyp, gold [n] trees. Returns -1 and a message if a gold line is not a tree. */
int f1_service(const char *const *hyp, const char *const *gold, int64_t n, ab_f1 *out, char *words, size_t n_words);
#endif
