/* read_curves.c - reads curves; finds runs by name. */
#include "lab/results/read_names.h"
#include <string.h>

int reader_curves(reader *r, int64_t run, const char *metric, arena *a, read_curve **out, size_t *n, err *e)
{
    int rc = 0;
    int64_t last = -1;
    read_curve *c = NULL;
    *out = NULL, *n = 0;
    if (recorded_of_run(r, run, &r, e)) return -1;
#define CURVES(WHICH)                                                                                                  \
    "SELECT m.name,p.metric_id,p.step,p.value,p.seconds+" CREATED_OF(                                                  \
        "?1") " FROM point p JOIN metric m ON m.id=p.metric_id WHERE p.run_id=?1 AND p.metric_id" WHICH                \
              " ORDER BY p.metric_id,p.step"
    sqlite3_stmt *s = sql_keep(
        r->q, e, metric ? CURVES("=(SELECT id FROM metric WHERE name=?2)") : CURVES(" IS NOT ?2"), "is", run, metric);
#undef CURVES
    while (sql_each(s, "metric.name point.metric_id point.step", &rc, e)) {
        if (!c || sqlite3_column_int64(s, 1) != last) {
            *out = list_grow(a, *out, *n, sizeof **out);
            c = &(*out)[(*n)++];
            c->metric = sql_text(s, 0, a);
            last = sqlite3_column_int64(s, 1);
        }
        read_point *points = list_grow(a, c->points, c->n, sizeof *points);
        points[c->n++] = (read_point){sqlite3_column_int64(s, 2), sql_real(s, 3), sql_real(s, 4)};
        c->points = points;
    }
    return rc;
}

/* Splits "EXPERIMENT/ROW@SEED", or "ROW@SEED" if only one experiment has this row. *any: the text names no seed. */
static int cut_name(reader *r, const char *text, arena *a, const char **experiment, const char **row, bool *any,
                    int64_t *seed, err *e)
{
    const char *at = strrchr(text, '@');
    if (at && !parse_int(at + 1, seed)) at = NULL; /* a row's name may have this sign */
    *any = !at;
    const char *name = at ? arena_strndup(a, text, (size_t)(at - text)) : arena_strdup(a, text),
               *slash = strchr(name, '/');
    *experiment = slash ? arena_strndup(a, name, (size_t)(slash - name)) : NULL;
    *row = slash ? slash + 1 : name;
    if (slash && names_is_experiment(r, *experiment)) return 0;
    err why = {0};
    const char *found;
    if (!names_experiment_of(r, name, a, &found, slash ? &why : e)) return *experiment = found, *row = name, 0;
    return slash ? 0 : -1; /* with a slash, names_not_found reports the unknown experiment */
}

int reader_find_runs(reader *r, const char *text, arena *a, int64_t **ids, size_t *n, err *e)
{
    int64_t id = -1, seed = 0;
    const char *experiment = NULL, *row = NULL;
    bool any = true, own = false; /* recorded runs count only if the experiment has no own ones */
    int rc = 0;
    *ids = NULL, *n = 0;
    if (parse_int(text, &id)) {
        if (recorded_of_run(r, id, &r, e) ||
            sql_ids(sql_open(r->q, e, "SELECT id FROM run WHERE id=?1", "i", id), a, ids, n, e))
            return -1;
        return *n ? 0 : fail(e, "run %s: not in the database; `ablate ls` lists the experiments", text);
    }
    if (recorded_of_name(r, text, &r, e) || cut_name(r, text, a, &experiment, &row, &any, &seed, e)) return -1;
    sqlite3_stmt *s = sql_open(
        r->q, e,
        "SELECT u.id,x.name=?1 FROM table_row t JOIN experiment x ON x.id=t.experiment_id JOIN run u ON"
        " u.variant_id=t.variant_id AND u.archived=0 WHERE x.name IN(?1,?1||?5) AND t.name=?2 AND (?3 OR u.seed=?4)"
        " ORDER BY x.name=?1 DESC,u.seed",
        "ssiis", experiment, row, (int64_t)any, seed, DB_RECORDED);
    while (sql_each(s, "", &rc, e)) {
        if (!*n) own = sqlite3_column_int(s, 1);
        if (own && !sqlite3_column_int(s, 1)) continue;
        *ids = list_grow(a, *ids, *n, sizeof **ids);
        (*ids)[(*n)++] = sqlite3_column_int64(s, 0);
    }
    return rc || *n ? rc : names_not_found(r, text, experiment, row, e);
}

int64_t reader_find_run(reader *r, const char *text, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    int64_t *ids;
    size_t n;
    int64_t id = reader_find_runs(r, text, &a, &ids, &n, e) ? -1 : ids[0];
    if (id >= 0 && n > 1)
        log_line(LOG_INFO, "%s has %zu seeds; taking the first, run %lld (`ablate show %s` lists all)", text, n,
                 (long long)id, text);
    return id;
}

int reader_run_ini(reader *r, int64_t run, str *out, err *e)
{
    return recorded_of_run(r, run, &r, e) ? -1 : run_ini_print(r->q, run, out, e);
}
