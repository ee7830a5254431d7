/* read_names.c - finds runs by names without an experiment, and explains wrong names. */
#include "lab/results/read_names.h"
#include <string.h>

/* Loads the first column of all rows; `column` is its name for messages. */
static int load_names(sqlite3 *q, const char *sql, const char *column, const char *one, const char *two, arena *a,
                      text_list *out, err *e)
{
    int rc = 0;
    *out = (text_list){0};
    sqlite3_stmt *s = sql_open(q, e, sql, "ss", one, two);
    while (sql_each(s, column, &rc, e)) {
        out->at = list_grow(a, out->at, out->n, sizeof *out->at);
        out->at[out->n++] = sql_text(s, 0, a);
    }
    return rc;
}

/* Joins names as "A, B, C and 4 more". */
static const char *listed(const text_list *of, arena *a)
{
    enum { MOST = 8 };
    CLEANUP(str_free) str s = {0};
    for (size_t i = 0; i < of->n && i < MOST; i++) str_addf(&s, "%s%s", i ? ", " : "", of->at[i]);
    if (of->n > MOST) str_addf(&s, " and %zu more", of->n - MOST);
    return arena_strdup(a, str_text(&s));
}

#define FROM_RUNS                                                                                                      \
    " FROM table_row t JOIN experiment x ON x.id=t.experiment_id JOIN run u ON u.variant_id=t.variant_id AND "         \
    "u.archived=0"
/* ?2 is DB_RECORDED */
#define OWN_NAME "CASE WHEN x.name LIKE '%'||?2 THEN substr(x.name,1,length(x.name)-length(?2)) ELSE x.name END"

static int all_experiments(reader *r, arena *a, text_list *out, err *e)
{
    return load_names(r->q, "SELECT DISTINCT " OWN_NAME " FROM experiment x WHERE ?1 IS NULL ORDER BY 1",
                      "experiment.name", NULL, DB_RECORDED, a, out, e);
}

static int rows_of(reader *r, const char *experiment, arena *a, text_list *out, err *e)
{
    return load_names(r->q,
                      "SELECT t.name" FROM_RUNS " WHERE x.name IN(?1,?1||?2) GROUP BY t.name ORDER BY min(t.place)",
                      "variant.name", experiment, DB_RECORDED, a, out, e);
}

static bool is_among(const text_list *of, const char *name)
{
    size_t n = strlen(name), m = strlen(DB_RECORDED);
    for (size_t i = 0; i < of->n; i++) {
        size_t own = strlen(of->at[i]);
        if (!strncmp(of->at[i], name, own) && (n == own || (n == own + m && same(name + own, DB_RECORDED))))
            return true;
    }
    return false;
}

static const char *did_you_mean(const char *given, const text_list *of, const char *before, arena *a)
{
    const char *near = nearest(given, of->at, of->n);
    return near ? arena_printf(a, "; did you mean %s%s?", before, near) : "";
}

int names_experiment_of(reader *r, const char *row, arena *a, const char **experiment, err *e)
{
    text_list in, all, rows;
    if (load_names(r->q, "SELECT DISTINCT " OWN_NAME FROM_RUNS " WHERE t.name=?1 ORDER BY 1", "experiment.name", row,
                   DB_RECORDED, a, &in, e))
        return -1;
    *experiment = in.n == 1 ? in.at[0] : NULL;
    if (in.n == 1) return 0;
    if (in.n)
        return fail(e, "run \"%s\": %zu experiments have this row (%s); name one of them, such as %s/%s", row, in.n,
                    listed(&in, a), in.at[0], row);
    if (all_experiments(r, a, &all, e)) return -1;
    if (is_among(&all, row)) {
        if (rows_of(r, row, a, &rows, e)) return -1;
        return fail(e, "run \"%s\": this is an experiment; name one of its rows, such as %s/%s", row, row,
                    rows.n ? rows.at[0] : "base");
    }
    if (load_names(r->q, "SELECT DISTINCT t.name" FROM_RUNS " WHERE ?1 IS NULL AND ?2 IS NOT NULL", "variant.name",
                   NULL, "", a, &rows, e))
        return -1;
    const char *near = did_you_mean(row, &rows, "", a);
    return fail(e, "run \"%s\": found no such row, expected a run's number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED%s",
                row, *near ? near : did_you_mean(row, &all, "", a));
}

bool names_is_experiment(reader *r, const char *name)
{
    CLEANUP(arena_free) arena a = {0};
    text_list all;
    err none = {0};
    return !all_experiments(r, &a, &all, &none) && is_among(&all, name);
}

int names_not_found(reader *r, const char *text, const char *experiment, const char *row, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    text_list all, rows, seeds;
    if (all_experiments(r, &a, &all, e)) return -1;
    if (!is_among(&all, experiment)) {
        const char *near = did_you_mean(experiment, &all, "", &a);
        return fail(e, "run \"%s\": not in the database: no experiment \"%s\"%s", text, experiment,
                    *near ? near : "; `ablate ls` lists the experiments");
    }
    if (rows_of(r, experiment, &a, &rows, e)) return -1;
    bool known = false;
    for (size_t i = 0; i < rows.n; i++) known = known || same(rows.at[i], row);
    if (!known) {
        const char *near = did_you_mean(row, &rows, arena_printf(&a, "%s/", experiment), &a);
        return fail(e, "run \"%s\": not in the database: %s has no row \"%s\"%s", text, experiment, row,
                    *near ? near : arena_printf(&a, "; its rows: %s", listed(&rows, &a)));
    }
    const char *name = arena_printf(&a, "%s/%s", experiment, row);
    if (load_names(r->q,
                   "SELECT DISTINCT u.seed" FROM_RUNS " WHERE ?1 IN(x.name||'/'||t.name,(" OWN_NAME
                   ")||'/'||t.name) ORDER BY u.seed",
                   "run.seed", name, DB_RECORDED, &a, &seeds, e))
        return -1;
    return fail(e, "run \"%s\": not in the database: %s has the seeds %s", text, name, listed(&seeds, &a));
}
