/* query.h - any read-only SQL on the database, printed for people or programs. */
#ifndef ABLATE_RESULTS_QUERY_H
#define ABLATE_RESULTS_QUERY_H
#include "results/db.h"

enum query_format { QUERY_TEXT, QUERY_CSV, QUERY_JSON, QUERY_MD };
/* "text", "csv", "json" or "md"; -1 and words otherwise. */
int query_format_parse(const char *text, enum query_format *out, err *e);
/* Runs one statement that only reads and prints its rows to `out`: aligned columns, CSV (RFC 4180), a JSON
 * array of objects, or a Markdown table. Anything that would write, attach or change a setting is refused. */
int query_print(const db_options *o, const char *sql, enum query_format format, FILE *out, err *e);
/* What can be asked: every view with its columns and what they are (docs/datasette.json), and each experiment's own view. view: that one
 * alone, or NULL. json: as JSON. */
int query_list(const db_options *o, const char *view, bool json, FILE *out, err *e);
#endif
