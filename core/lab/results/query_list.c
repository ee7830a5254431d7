/* query_list.c - ablate query --list: the views and the meaning of their columns. */
#include "lab/results/internal.h"
#include "lab/results/query.h"
#include <cjson/cJSON.h>
#include <string.h>

extern const char datasette_json[]; /* docs/datasette.json */

typedef struct {
    const char *only;
    bool json, more;
    FILE *out;
} listing;

static const char *text_or_empty(const cJSON *o, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return text ? text : "";
}

static void begin_view(listing *l, const char *name, const char *about)
{
    if (l->json) {
        CLEANUP(str_free) str line = {0};
        str_add(&line, l->more ? "]},\n{" : "[\n{");
        json_key_text(&line, "view", name);
        json_key_text(&line, "about", about);
        json_open(&line, "columns", '[');
        fputs(line.s, l->out);
    } else {
        fprintf(l->out, "%s%s%s%s\n", l->more ? "\n" : "", name, *about ? ": " : "", about);
    }
    l->more = true;
}

static void print_column(const listing *l, const char *name, const char *about, bool first)
{
    if (l->json) {
        CLEANUP(str_free) str line = {0};
        str_add(&line, first ? "{" : ",{");
        json_key_text(&line, "name", name);
        json_key_text(&line, "about", about);
        str_addc(&line, '}');
        fputs(line.s, l->out);
    } else {
        fprintf(l->out, "    %-20s%s%s\n", name, *about ? " " : "", about);
    }
}

static int print_view(listing *l, sqlite3 *q, const char *name, const char *about, const cJSON *columns, err *e)
{
    if (l->only && strcmp(l->only, name)) return 0;
    sqlite3_stmt *s = sql_open(q, e, "SELECT name FROM pragma_table_info(?1)", "s", name);
    int rc = 0;
    size_t n = 0;
    CLEANUP(arena_free) arena a = {0};
    begin_view(l, name, about);
    while (sql_each(s, "", &rc, e)) {
        const char *column = sql_text(s, 0, &a);
        print_column(l, column, text_or_empty(columns, column), !n++);
    }
    return rc;
}

static int print_experiments(listing *l, sqlite3 *q, err *e)
{
    sqlite3_stmt *s = sql_open(
        q, e, "SELECT view_name,name FROM experiment WHERE archived=0 AND view_name IS NOT NULL ORDER BY id", "");
    int rc = 0;
    CLEANUP(arena_free) arena a = {0};
    while (sql_each(s, "experiment.view_name experiment.name", &rc, e)) {
        const char *about = arena_printf(&a, "the table of experiment %s: one line per row, each metric with its sd",
                                         sql_text(s, 1, &a));
        rc = print_view(l, q, sql_text(s, 0, &a), about, NULL, e);
    }
    return rc;
}

int query_list(const db_options *o, const char *view, bool json, FILE *out, err *e)
{
    CLEANUP(reader_end) reader *r = reader_open(o, e);
    cJSON *all = cJSON_Parse(datasette_json);
    const cJSON *results =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(all, "databases"), "results");
    const cJSON *tables = cJSON_GetObjectItemCaseSensitive(results, "tables");
    listing l = {.only = view, .json = json, .out = out};
    int rc = r ? 0 : -1;
    for (const cJSON *t = tables ? tables->child : NULL; t && !rc; t = t->next)
        if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(t, "hidden")))
            rc = print_view(&l, r->q, t->string, text_or_empty(t, "description"),
                            cJSON_GetObjectItemCaseSensitive(t, "columns"), e);
    if (!rc) rc = print_experiments(&l, r->q, e);
    if (!rc && !l.more) rc = fail(e, "found no view \"%s\"; `ablate query --list` lists them", view ? view : "");
    if (!rc && json) fputs("]}\n]\n", out);
    cJSON_Delete(all);
    return rc;
}
