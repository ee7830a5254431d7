/* view.c - makes SQL views: one per experiment, named after it (SELECT * FROM table3), and `settings`. */
#include "lab/results/internal.h"
#include <ctype.h>
#include <strings.h>

int view_check_name(const char *name, err *e)
{
    if (!*name) return fail(e, "expected a name");
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '/' || *p == '@')
            return fail(e,
                        "experiment name \"%s\": found the character '%c', expected none of / @ or control characters",
                        name, *p < ' ' ? '?' : *p);
    return 0;
}

/* Makes a name that SQL reads without quotes: table3_multi30k of "table3-multi30k", order_ of "order"; a name that
 * begins with sqlite_, which SQLite reserves, gets e_ in front. */
static void bare_name(const char *name, str *out)
{
    str_clear(out);
    bool reserved = !strncasecmp(name, "sqlite", 6) && name[6] && !isalnum((unsigned char)name[6]);
    if (reserved || (*name >= '0' && *name <= '9')) str_add(out, "e_");
    for (; *name; name++) str_addc(out, isalnum((unsigned char)*name) ? *name : '_');
    if (reserved || sqlite3_keyword_check(str_text(out), (int)out->n)) str_addc(out, '_');
}

/* Chooses the name of the experiment's view, once; a number follows if another view, table or experiment has it. */
static int choose_name(sqlite3 *q, int64_t experiment, const char *name, err *e)
{
    CLEANUP(str_free) str wanted = {0};
    int64_t taken = 1;
    int rc = 1;
    bare_name(name, &wanted);
    size_t bare = wanted.n;
    for (int try = 1; taken && rc > 0; try++) {
        wanted.n = bare;
        if (try > 1) str_addf(&wanted, "_%d", try);
        rc = sql_int(q, e, &taken,
                     "SELECT (SELECT count(*) FROM sqlite_master WHERE lower(name)=lower(?1))+(SELECT count(*) FROM "
                     "experiment WHERE lower(view_name)=lower(?1))+(lower(?1)='settings')",
                     "s", wanted.s);
    }
    if (rc > 0) rc = sql_do(q, e, "UPDATE experiment SET view_name=?1 WHERE id=?2", "si", wanted.s, experiment);
    return rc;
}

typedef struct {
    arena a;
    text_list list;
} used_names;

/* Returns a unique column name: `wanted`, else with "_2" and so on. SQL ignores case in names. */
static const char *use_name(used_names *used, const char *wanted)
{
    text_list *l = &used->list;
    const char *name = arena_strdup(&used->a, wanted);
    size_t i = 0;
    for (int try = 2; i < l->n; i++)
        if (!strcasecmp(l->at[i], name)) {
            name = arena_printf(&used->a, "%s_%d", wanted, try++);
            i = SIZE_MAX; /* starts again, since the name must differ from all */
        }
    l->at = list_grow(&used->a, l->at, l->n, sizeof *l->at);
    return l->at[l->n++] = name;
}

/* Selects a metric's mean or sd. SQLite joins at most 64 tables, so metrics after the first MOST_JOINS are looked up
 * one by one. run_show_metrics recognises both forms by their texts. */
enum { MOST_JOINS = 60 };
static void add_figure(str *sql, str *joins, long long id, const char *figure, size_t place)
{
    if (place < MOST_JOINS)
        str_addf(sql, ",m%lld.%s ", id, figure);
    else
        str_addf(sql,
                 ",(SELECT m%lld.%s FROM summary m%lld WHERE m%lld.variant_id=t.variant_id AND m%lld.metric_id=%lld) ",
                 id, figure, id, id, id, id);
    if (place < MOST_JOINS && same(figure, "mean"))
        str_addf(joins, " LEFT JOIN summary m%lld ON m%lld.variant_id=t.variant_id AND m%lld.metric_id=%lld", id, id,
                 id, id);
}

/* Appends the view's body for the experiment and its metrics, " AS SELECT ...". */
static int write_body(sqlite3 *q, int64_t experiment, str *sql, err *e)
{
    static const char *const fixed[] = {"row", "change", "n", "params_M", "name"};
    used_names used = {0};
    size_t place = 0; /* index of the metric */
    CLEANUP(str_free) str joins = {0};
    for (size_t i = 0; i < LENGTH(fixed); i++) use_name(&used, fixed[i]);
    str_add(
        sql,
        " AS SELECT CASE t.group_name WHEN '' THEN t.name ELSE '('||t.group_name||')' END \"row\",t.change \"change\","
        "(SELECT count(*) FROM run r WHERE r.variant_id=t.variant_id AND r.archived=0 AND r.status='done' "
        "AND NOT EXISTS(SELECT 1 FROM result x WHERE x.run_id=r.id AND x.value IS NULL)) \"n\"");
    sqlite3_stmt *s =
        sql_open(q, e,
                 "SELECT DISTINCT m.id,m.name FROM metric m JOIN result x ON x.metric_id=m.id JOIN run r "
                 "ON r.id=x.run_id JOIN variant v ON v.id=r.variant_id WHERE v.experiment_id=?1 ORDER BY m.id",
                 "i", experiment);
    int rc = 0;
    while (sql_each(s, "metric.id metric.name", &rc, e)) {
        long long id = sqlite3_column_int64(s, 0);
        const char *metric = (const char *)sqlite3_column_text(s, 1);
        add_figure(sql, &joins, id, "mean", place);
        sql_quote(sql, use_name(&used, metric));
        add_figure(sql, &joins, id, "std", place++);
        sql_quote(sql, use_name(&used, arena_printf(&used.a, "%s_sd", metric)));
    }
    str_addf(sql,
             ",(SELECT max(a.parameters)/1e6 FROM run r JOIN attempt a ON a.run_id=r.id WHERE "
             "r.variant_id=t.variant_id) "
             "\"params_M\",t.name \"name\" FROM table_row t%s WHERE t.experiment_id=%lld ORDER BY t.place",
             str_text(&joins), (long long)experiment);
    arena_free(&used.a);
    return rc;
}

static int drop(sqlite3 *q, const char *view, err *e)
{
    CLEANUP(str_free) str sql = {0};
    str_add(&sql, "DROP VIEW IF EXISTS ");
    sql_quote(&sql, view);
    return sql_script(q, sql.s, e);
}

int view_drop(sqlite3 *q, const char *experiment, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    sqlite3_stmt *s =
        sql_open(q, e, "SELECT view_name FROM experiment WHERE name=?1 AND view_name IS NOT NULL", "s", experiment);
    int rc = sql_next(s, e);
    const char *view = rc == 1 ? sql_bytes(s, 0, &a) : NULL;
    sqlite3_finalize(s);
    if (rc == 1) rc = drop(q, view, e);
    return rc;
}

/* Makes the view `settings` if keys or metrics are new: a row per run, a column per key and metric. */
static int refresh_settings(sqlite3 *q, err *e)
{
    enum { MOST_COLUMNS = 1900 }; /* SQLite takes 2,000 */
    static const char *const fixed[] = {"run", "experiment", "row", "seed", "status"};
    used_names used = {0};
    CLEANUP(str_free) str sql = {0};
    str_add(&sql, "CREATE VIEW settings AS SELECT r.id run,e.name experiment,v.name row,r.seed seed,r.status status");
    for (size_t i = 0; i < LENGTH(fixed); i++) use_name(&used, fixed[i]);
    int rc = 0;
    for (int metrics = 0; metrics < 2 && !rc; metrics++) {
        sqlite3_stmt *s = sql_open(q, e,
                                   metrics ? "SELECT name,id FROM metric WHERE id IN(SELECT metric_id FROM result) "
                                             "ORDER BY id LIMIT ?1"
                                           : "SELECT DISTINCT key,0 FROM param ORDER BY key LIMIT ?1",
                                   "i", (int64_t)(MOST_COLUMNS - used.list.n));
        while (sql_each(s, metrics ? "metric.name" : "param.key", &rc, e)) {
            const char *name = (const char *)sqlite3_column_text(s, 0);
            if (metrics) {
                str_addf(&sql, ",(SELECT value FROM result x WHERE x.run_id=r.id AND x.metric_id=%lld) ",
                         (long long)sqlite3_column_int64(s, 1));
            } else {
                str_add(&sql, ",(SELECT value FROM param p WHERE p.variant_id=v.id AND p.key=");
                sql_literal(&sql, name);
                str_add(&sql, ") ");
            }
            sql_quote(&sql, use_name(&used, name));
        }
    }
    str_add(&sql, " FROM experiment e JOIN variant v ON v.experiment_id=e.id JOIN run r ON r.variant_id=v.id"
                  " WHERE r.archived=0 AND v.archived=0 AND e.archived=0");
    int64_t there = 0;
    if (!rc &&
        sql_int(q, e, &there, "SELECT count(*) FROM sqlite_master WHERE name='settings' AND sql=?1", "s", sql.s) < 0)
        rc = -1;
    if (!rc && !there) rc = drop(q, "settings", e) || sql_script(q, sql.s, e) ? -1 : 0;
    arena_free(&used.a);
    return rc;
}

static int refresh_one(sqlite3 *q, int64_t experiment, err *e)
{
    CLEANUP(str_free) str sql = {0};
    CLEANUP(arena_free) arena mem = {0};
    const char *name = NULL, *view = NULL, *old = NULL;
    int rc = 0;
    for (int again = 0; again < 2 && !rc && !view; again++) {
        sqlite3_stmt *s = sql_open(
            q, e,
            "SELECT e.name,e.view_name,m.sql FROM experiment e LEFT JOIN sqlite_master m ON m.name=e.view_name "
            "AND m.type='view' WHERE e.id=?1",
            "i", experiment);
        rc = sql_row(s, "experiment.name", e);
        if (rc == 1) name = sql_bytes(s, 0, &mem), view = sql_bytes(s, 1, &mem), old = sql_bytes(s, 2, &mem);
        sqlite3_finalize(s);
        if (rc == 1) rc = view ? 0 : choose_name(q, experiment, name, e);
    }
    if (!rc && view) {
        str_add(&sql, "CREATE VIEW ");
        sql_quote(&sql, view);
        rc = write_body(q, experiment, &sql, e);
        if (!rc && !same(old, sql.s)) rc = drop(q, view, e) || sql_script(q, sql.s, e) ? -1 : 0;
    }
    return rc;
}

int view_refresh(sqlite3 *q, int64_t experiment, err *e)
{
    return refresh_one(q, experiment, e) || refresh_settings(q, e) ? -1 : 0;
}

int view_drop_all(sqlite3 *q, err *e)
{
    CLEANUP(str_free) str sql = {0};
    sqlite3_stmt *s = sql_open(q, e, "SELECT name FROM sqlite_master WHERE type='view'", "");
    int rc = 0;
    while (sql_each(s, "", &rc, e)) {
        str_add(&sql, "DROP VIEW ");
        sql_quote(&sql, (const char *)sqlite3_column_text(s, 0));
        str_addc(&sql, ';');
    }
    if (!rc && sql.n) rc = sql_script(q, sql.s, e);
    return rc;
}

int view_refresh_all(sqlite3 *q, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    int64_t *ids;
    size_t n;
    int rc = sql_ids(sql_open(q, e, "SELECT id FROM experiment ORDER BY id", ""), &a, &ids, &n, e);
    for (size_t i = 0; i < n && !rc; i++) rc = refresh_one(q, ids[i], e);
    if (!rc) rc = refresh_settings(q, e);
    return rc;
}
