/* query.h - runs read-only SQL on the database and prints the rows. */
#ifndef ABLATE_RESULTS_QUERY_H
#define ABLATE_RESULTS_QUERY_H
#include "lab/results/db.h"

enum query_format { QUERY_TEXT, QUERY_CSV, QUERY_JSON, QUERY_MD };

/* Runs one read-only statement and prints its rows to `out`: aligned columns, CSV (RFC 4180), a JSON
 * array of objects, or a Markdown table. Statements that write, attach or change a setting are errors, and so is one
 * that takes more than `limit` seconds; 0: no limit. */
int query_print(const db_options *o, const char *sql, enum query_format format, double limit, FILE *out, err *e);
/* Lists every view with descriptions of its columns (docs/datasette.json), and each experiment's own view. view: only
 * that one, or NULL. json: as JSON. */
int query_list(const db_options *o, const char *view, bool json, FILE *out, err *e);
#endif
