/* results.h - shared by the commands that show results. */
#ifndef ABLATE_COMMANDS_RESULTS_H
#define ABLATE_COMMANDS_RESULTS_H
#include "lab/report/grid.h"
#include "lab/results/read.h"

/* Writes "2026-11-22 10:29", local time; "" if not a time. */
const char *local_time(double seconds, char out[32]);
/* Writes "2026-11-22T10:29:05Z"; "" if not a time. */
const char *iso_time(double seconds, char out[32]);
void print_local_time(grid *t, size_t column, double seconds);

/* Writes a key and a time, as json_key_text; null if not a time. */
void json_key_time(str *out, const char *key, double seconds);
#endif
