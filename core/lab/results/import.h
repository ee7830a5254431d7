/* import.h - shared by import.c and import_check.c. */
#ifndef ABLATE_RESULTS_IMPORT_H
#define ABLATE_RESULTS_IMPORT_H
#include "base/base.h"
#include <cjson/cJSON.h>
#include <string.h>

/* Checks that texts have no control characters, that there is at most one base, and that each done run has results. */
int import_check(const cJSON *root, err *e);
/* Reads seconds since 1970; NaN if missing or null. */
int import_time(const cJSON *o, const char *key, double *out, err *e);
#endif
