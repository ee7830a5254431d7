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

/* `"key":value` with a comma before it unless it is an object's first. */
void json_key(str *out, const char *key);
void json_key_text(str *out, const char *key, const char *value); /* NULL: null */
void json_key_real(str *out, const char *key, double value);      /* not finite: null */
void json_key_whole(str *out, const char *key, int64_t value);
void json_key_bool(str *out, const char *key, bool value);
void json_key_time(str *out, const char *key, double seconds);
#endif
