/* view.c - one wide view per experiment, named like it, so that SELECT * FROM table3 reads like the table. */
#include "results/internal.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int view_check_name(sqlite3 *q, const char *name, err *e)
{
    if (!*name) return fail(e, "an experiment needs a name");
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '/' || *p == '@')
            return fail(e,
                        "experiment name \"%s\": found the character '%c', expected none of / @ or control "
                        "characters",
                        name, *p < ' ' ? '?' : *p);
    if (!strncasecmp(name, "sqlite_", 7))
        return fail(e,
                    "experiment name \"%s\": names that begin with sqlite_ belong to SQLite; choose another",
                    name);
    sqlite3_stmt *s = sql_open(q, e,
                               "SELECT e.name, m.type FROM sqlite_master m LEFT JOIN experiment e "
                               "ON lower(e.name)=lower(m.name) WHERE lower(m.name)=lower(?1)",
                               "s", name);
    if (!s) return -1;
    int rc = sql_next(s, e);
    if (rc == 1) {
        const char *taken = (const char *)sqlite3_column_text(s, 0);
        if (!taken)
            rc = fail(e,
                      "experiment name \"%s\": the database has a %s of its own by this name; choose another",
                      name, (const char *)sqlite3_column_text(s, 1));
        else if (!same(taken, name))
            rc = fail(e,
                      "experiment name \"%s\": differs only in case from \"%s\", which is there already; SQL "
                      "could not "
                      "tell them apart",
                      name, taken);
        else
            rc = 0;
    }
    sqlite3_finalize(s);
    return rc;
}

/* A column name that no other column has (SQL names do not know case): the metric's own, else with "_2" and
 * so on. */
static void add_name(str *sql, char ***used, size_t *n, size_t *cap, const char *wanted)
{
    str name = {0};
    str_add(&name, wanted);
    for (int try = 2;; try++) {
        bool taken = false;
        for (size_t i = 0; i < *n; i++) taken = taken || !strcasecmp((*used)[i], name.s);
        if (!taken) break;
        str_clear(&name);
        str_addf(&name, "%s_%d", wanted, try);
    }
    *used = grow(*used, cap, *n + 1, sizeof **used);
    (*used)[(*n)++] = xstrdup(name.s);
    sql_quote(sql, name.s);
    str_free(&name);
}

/* "AS SELECT ...": the text of the view's body for the experiment and its metrics. */
static int write_body(sqlite3 *q, int64_t experiment, str *sql, err *e)
{
    static const char *const fixed[] = {"row", "change", "n", "params_M", "name"};
    char **used = NULL;
    size_t n = 0, cap = 0;
    str joins = {0};
    for (size_t i = 0; i < LENGTH(fixed); i++) {
        used = grow(used, &cap, n + 1, sizeof *used);
        used[n++] = xstrdup(fixed[i]);
    }
    str_add(
        sql,
        " AS SELECT CASE t.grp WHEN '' THEN t.name ELSE '('||t.grp||')' END \"row\",t.change \"change\","
        "(SELECT count(*) FROM run r WHERE r.variant_id=t.variant_id AND r.archived=0 AND r.status='done' "
        "AND NOT EXISTS(SELECT 1 FROM result x WHERE x.run_id=r.id AND x.value IS NULL)) \"n\"");
    sqlite3_stmt *s = sql_open(
        q, e,
        "SELECT DISTINCT m.id,m.name FROM metric m JOIN result x ON x.metric_id=m.id JOIN run r "
        "ON r.id=x.run_id JOIN variant v ON v.id=r.variant_id WHERE v.experiment_id=?1 ORDER BY m.id",
        "i", experiment);
    int rc = s ? 0 : -1;
    while (!rc && (rc = sql_next(s, e)) == 1) {
        long long id = sqlite3_column_int64(s, 0);
        const char *metric = (const char *)sqlite3_column_text(s, 1);
        char *sd = xprintf("%s_sd", metric);
        str_addf(sql, ",m%lld.mean ", id);
        add_name(sql, &used, &n, &cap, metric);
        str_addf(sql, ",m%lld.std ", id);
        add_name(sql, &used, &n, &cap, sd);
        free(sd);
        str_addf(&joins, " LEFT JOIN summary m%lld ON m%lld.variant_id=t.variant_id AND m%lld.metric_id=%lld",
                 id, id, id, id);
        rc = 0;
    }
    sqlite3_finalize(s);
    str_addf(sql,
             ",(SELECT max(a.parameters)/1e6 FROM run r JOIN attempt a ON a.run_id=r.id WHERE "
             "r.variant_id=t.variant_id) "
             "\"params_M\",t.name \"name\" FROM table_row t%s WHERE t.experiment_id=%lld ORDER BY t.ord",
             str_text(&joins), (long long)experiment);
    for (size_t i = 0; i < n; i++) free(used[i]);
    free(used);
    str_free(&joins);
    return rc;
}

int view_drop(sqlite3 *q, const char *experiment, err *e)
{
    str sql = {0};
    str_add(&sql, "DROP VIEW IF EXISTS ");
    sql_quote(&sql, experiment);
    int rc = sql_script(q, sql.s, e);
    str_free(&sql);
    return rc;
}

int view_refresh(sqlite3 *q, int64_t experiment, err *e)
{
    str sql = {0};
    arena mem = {0};
    const char *name = NULL, *old = NULL;
    sqlite3_stmt *s =
        sql_open(q, e,
                 "SELECT e.name,m.sql FROM experiment e LEFT JOIN sqlite_master m ON m.name=e.name "
                 "AND m.type='view' WHERE e.id=?1",
                 "i", experiment);
    int rc = s ? sql_next(s, e) : -1;
    if (rc == 1) name = sql_text(s, 0, &mem), old = sql_text(s, 1, &mem);
    sqlite3_finalize(s);
    if (rc == 1) {
        str_add(&sql, "CREATE VIEW ");
        sql_quote(&sql, name);
        rc = write_body(q, experiment, &sql, e);
        if (!rc && !same(old, sql.s)) rc = view_drop(q, name, e) || sql_script(q, sql.s, e) ? -1 : 0;
    }
    str_free(&sql);
    arena_free(&mem);
    return rc;
}
