/* results.h - functions that several commands share. */
#ifndef ABLATE_COMMANDS_RESULTS_H
#define ABLATE_COMMANDS_RESULTS_H
#include "cli/options.h"
#include "lab/report/grid.h"
#include "lab/results/read.h"

/* Writes "2026-11-22 10:29", local time; "" if not a time. */
const char *local_time(double seconds, char out[32]);
void print_local_time(grid *t, size_t column, double seconds);

/* Writes a key and a time, as json_key_text; null if not a time. */
void json_key_time(str *out, const char *key, double seconds);
/* Begins the next item of a list that has each item on a line of its own. */
void json_line(str *out);
/* Prints a list of json_line's items, which may be empty, and frees it. */
void json_print_lines(str *out);

/* ---- commands in files of their own; each returns the exit code ---- */

int version_print(FILE *f); /* the three lines of `ablate --version` */
/* `ablate list`: plugins (kind: a KIND, a KIND/NAME or a file; NULL: all); corpora in the data folder. */
int plugins_list(const invocation *c, const char *kind, bool json);
int corpora_list(const char *folder, bool json);
/* ablate watch RUN --log: prints the log's last `lines` lines, or all for 0, then, unless `once`, those that are added
 * until the run ends. */
int log_print(const invocation *c, int64_t lines, bool once);
#endif
