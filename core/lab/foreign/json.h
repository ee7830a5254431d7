/* json.h - JSON as Python writes it, for the readers. */
#ifndef ABLATE_FOREIGN_JSON_H
#define ABLATE_FOREIGN_JSON_H
#include "lab/foreign/sheet.h"
#include <cjson/cJSON.h>
#include <stdlib.h>

/* Puts quotes around NaN and Infinity, which Python writes and JSON does not have. */
void json_python(str *out, const char *text, size_t n);
/* A value as a cell; NULL: null, a list or an object. */
const char *json_cell(const cJSON *v, char real[32]);
/* Calls f with the object of each line that is not blank. */
int json_lines_each(const char *text, size_t n, int (*f)(void *self, const cJSON *o, size_t line, err *e), void *self,
                    err *e);
#endif
