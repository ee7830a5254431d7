/* results.h - shared by the commands that show results. */
#ifndef ABLATE_COMMANDS_RESULTS_H
#define ABLATE_COMMANDS_RESULTS_H
#include "lab/report/grid.h"
#include "lab/results/read.h"

/* "2026-11-22 10:29", local time; "" if not a time. */
const char *local_time(double seconds, char out[32]);
/* "2026-11-22T10:29:05Z"; "" if not a time. */
const char *iso_time(double seconds, char out[32]);
void put_local_time(grid *t, size_t column, double seconds);
void print_grid(const grid *t); /* as text, on standard output */

/* A time as json_key_text of base.h; null if it is none. */
void json_key_time(str *out, const char *key, double seconds);
#endif
