/* json.h - reads JSON as Python writes it. */
#ifndef ABLATE_FOREIGN_JSON_H
#define ABLATE_FOREIGN_JSON_H
#include "lab/foreign/sheet.h"
#include <cjson/cJSON.h>
#include <stdlib.h>

/* Parses a text in which NaN and Infinity, which Python writes and JSON lacks, become strings; NULL: it is no JSON. */
cJSON *json_parse(const char *text, size_t n);
/* Converts a value to a cell; NULL for null, a list or an object. */
const char *json_cell(const cJSON *v, char real[32]);
/* Calls f with the object of each line that is not blank. */
int json_lines_each(const char *text, size_t n, int (*f)(void *self, const cJSON *o, size_t line, err *e), void *self,
                    err *e);
#endif
