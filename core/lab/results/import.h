/* import.h - shared by import.c and import_check.c. */
#ifndef ABLATE_RESULTS_IMPORT_H
#define ABLATE_RESULTS_IMPORT_H
#include "base/base.h"
#include <cjson/cJSON.h>
#include <string.h>

/* Texts without control characters, one base at most, results of each done run. */
int import_check(const cJSON *root, err *e);
/* Seconds since 1970; NaN if missing or null. */
int import_time(const cJSON *o, const char *key, double *out, err *e);
#endif
