/* older.c - counts, lists, restores and removes older runs: an experiment's table leaves them out because the settings
 * of their row have changed since. */
#include "lab/results/internal.h"
#include <stdlib.h>
#include <string.h>

/* SQL: runs of rows no longer in force that are done or were started. */
#define OLDER                                                                                                          \
    " FROM experiment x JOIN variant v ON v.experiment_id=x.id AND v.archived=1 JOIN run r ON r.variant_id=v.id"       \
    " WHERE x.name=?1 AND (r.status='done' OR r.attempt>0)"

/* SQL: settings of variant v that differ from those of variant N. */
#define DIFFERENCE(N)                                                                                                  \
    "(SELECT group_concat(p.key||' = '||coalesce(p.value,''),', ') FROM param p LEFT JOIN param o ON o.variant_id=" N  \
    " AND o.key=p.key WHERE p.variant_id=v.id AND p.value IS NOT o.value)"

/* SQL: the row in force of the same name, else base. */
#define NOW_WHERE(WHAT)                                                                                                \
    "(SELECT o.id FROM variant o WHERE o.experiment_id=v.experiment_id AND o.archived=0 AND " WHAT ")"
#define ROW_NOW "coalesce(" NOW_WHERE("o.name=v.name") "," NOW_WHERE("o.is_base=1") ")"

int older_count(sqlite3 *q, const char *experiment, size_t *n, err *e)
{
    int64_t count = 0;
    if (sql_int(q, e, &count, "SELECT count(*)" OLDER, "s", experiment) < 0) return -1;
    *n = (size_t)count;
    return 0;
}

int reader_older_count(reader *r, const char *experiment, size_t *n, err *e)
{
    return older_count(r->q, experiment, n, e);
}

int db_older_count(db *d, const char *experiment, size_t *n, err *e) { return older_count(d->q, experiment, n, e); }

int reader_older(reader *r, const char *experiment, arena *a, read_older **out, size_t *n, err *e)
{
    size_t cap = 0;
    read_older *list = NULL;
    *out = NULL, *n = 0;
    sqlite3_stmt *s = sql_open(
        r->q, e, "SELECT r.id,v.name,r.seed,r.status," DIFFERENCE(ROW_NOW) ",r.ended_at" OLDER " ORDER BY v.id,r.seed",
        "s", experiment);
    int rc = s ? 0 : -1;
    while (!rc && (rc = sql_row(s, "run.id variant.name run.seed run.status", e)) == 1) {
        list = grow(list, &cap, *n + 1, sizeof *list);
        read_older *one = &list[(*n)++];
        *one = (read_older){.run = sqlite3_column_int64(s, 0),
                            .row = sql_text(s, 1, a),
                            .seed = sqlite3_column_int64(s, 2),
                            .settings = sql_json(s, 4, a),
                            .ended_at = sql_real(s, 5)};
        rc = sql_status(s, 3, &one->status, e);
    }
    sqlite3_finalize(s);
    *out = arena_keep(a, list, *n, sizeof *list);
    return rc;
}

int reader_stored(reader *r, const char *experiment, arena *a, read_stored **out, size_t *n, const char **ini,
                  const char **argv, err *e)
{
    size_t cap = 0;
    read_stored *list = NULL;
    *ini = *argv = NULL, *n = 0;
    sqlite3_stmt *s = sql_open(
        r->q, e,
        "SELECT v.name,v.config_hash,v.config_json,x.spec_ini,x.argv,' '||coalesce((SELECT group_concat(key,' ')"
        " FROM param WHERE variant_id=v.id AND is_swept=1),'')||' ',v.archived,EXISTS(SELECT 1 FROM run WHERE "
        "variant_id=v.id AND status='done' AND recorded=0) FROM experiment x JOIN variant v ON v.experiment_id=x.id "
        "WHERE x.name=?1 ORDER BY v.archived,v.is_base DESC,v.place",
        "s", experiment);
    int rc = s ? 0 : -1;
    static const char names[] =
        "variant.name variant.config_hash variant.config_json experiment.spec_ini experiment.argv";
    while (!rc && (rc = sql_row(s, names, e)) == 1) {
        list = grow(list, &cap, *n + 1, sizeof *list);
        if (!*n) *ini = sql_bytes(s, 3, a), *argv = sql_bytes(s, 4, a);
        list[(*n)++] = (read_stored){.name = sql_bytes(s, 0, a),
                                     .hash = sql_bytes(s, 1, a),
                                     .json = sql_bytes(s, 2, a),
                                     .swept = sql_bytes(s, 5, a),
                                     .archived = sqlite3_column_int64(s, 6),
                                     .done = sqlite3_column_int64(s, 7)};
        rc = 0;
    }
    sqlite3_finalize(s);
    *out = arena_keep(a, list, *n, sizeof *list);
    return rc;
}

int reader_all_runs(reader *r, const char *experiment, bool older, arena *a, int64_t **ids, size_t *n, err *e)
{
    int64_t *found = NULL, id = 0;
    *ids = NULL, *n = 0;
    int known = sql_int(r->q, e, &id, "SELECT id FROM experiment WHERE name=?1", "s", experiment);
    if (known != 1) return known < 0 ? -1 : reader_no_experiment(r, experiment, e);
    sqlite3_stmt *s = sql_open(r->q, e,
                               "SELECT r.id FROM variant v JOIN run r ON r.variant_id=v.id WHERE v.experiment_id=?1"
                               " AND (v.archived=1 OR NOT ?2) ORDER BY v.archived,r.id",
                               "ii", id, (int64_t)older);
    int rc = sql_ids(s, &found, n, e);
    *ids = arena_keep(a, found, *n, sizeof *found);
    return rc;
}

/* Shows one archived variant under its name with the first free ~N. */
static int restore_variant(db *d, int64_t id, int64_t place, err *e)
{
    return sql_do(d->q, e,
                  "WITH RECURSIVE way(bare,n) AS (SELECT substr(name,1,CASE instr(name,'~') WHEN 0 THEN length(name)"
                  " ELSE instr(name,'~')-1 END),1 FROM variant WHERE id=?1 UNION ALL SELECT bare,n+1 FROM way WHERE"
                  " EXISTS(SELECT 1 FROM variant o JOIN variant v ON v.id=?1 AND o.experiment_id=v.experiment_id"
                  " WHERE o.archived=0 AND o.name=bare||'~'||n))"
                  " UPDATE variant AS v SET change=coalesce(" DIFFERENCE(
                      "(SELECT b.id FROM variant b WHERE b.experiment_id=v.experiment_id AND b.is_base=1 AND "
                      "b.archived=0)") ",change),is_base=0,archived=0,place=?2,"
                                       "name=(SELECT bare||'~'||n FROM way ORDER BY n DESC LIMIT 1) WHERE id=?1",
                  "ii", id, place);
}

int db_restore(db *d, const char *experiment, size_t *rows, err *e)
{
    int64_t x = 0, id, place = 0;
    *rows = 0;
    if (tx_begin(d, true, e)) return -1;
    int rc = sql_int(d->q, e, &x, "SELECT id FROM experiment WHERE name=?1", "s", experiment);
    if (rc == 0) rc = fail(e, "experiment \"%s\": not in the database; `ablate ls` lists the experiments", experiment);
    if (rc == 1) rc = sql_int(d->q, e, &place, "SELECT 1+max(place) FROM variant WHERE experiment_id=?1", "i", x);
    while (rc == 1 && (rc = sql_int(d->q, e, &id,
                                    "SELECT v.id FROM variant v WHERE v.experiment_id=?1 AND v.archived=1 AND EXISTS("
                                    "SELECT 1 FROM run WHERE variant_id=v.id AND status='done') ORDER BY v.id LIMIT 1",
                                    "i", x)) == 1) {
        rc = restore_variant(d, id, place++, e) ? -1 : 1;
        ++*rows;
    }
    if (!rc) rc = view_refresh(d->q, x, e);
    return tx_end(d, rc, e);
}

static int remove_one(db *d, int64_t run, err *e)
{
    int64_t gone, live = 0;
    int rc = sql_int(d->q, e, &live,
                     "SELECT status='running' AND (lease_until>=?2 OR owner_lives(owner)) FROM run WHERE id=?1", "id",
                     run, now());
    if (rc == 0) return fail(e, "run %lld: not in the database; `ablate ls` lists the experiments", (long long)run);
    if (rc == 1 && live) return fail(e, "run %lld is running; stop it first", (long long)run);
    return rc == 1 && sql_int(d->q, e, &gone, "DELETE FROM run WHERE id=?1 RETURNING id", "i", run) == 1 ? 0 : -1;
}

static int remove_experiment(db *d, const char *name, err *e)
{
    int64_t id = 0, left = 0;
    int rc = sql_int(d->q, e, &id, "SELECT id FROM experiment WHERE name=?1", "s", name);
    if (rc == 0) return fail(e, "experiment \"%s\": not in the database; `ablate ls` lists the experiments", name);
    if (rc == 1)
        rc =
            sql_int(d->q, e, &left,
                    "SELECT count(*) FROM run r JOIN variant v ON v.id=r.variant_id WHERE v.experiment_id=?1", "i", id);
    if (rc == 1 && left)
        return fail(e, "experiment \"%s\": %lld runs were added meanwhile; nothing was removed", name, (long long)left);
    if (rc != 1 || view_drop(d->q, name, e)) return -1;
    return sql_do(d->q, e, "DELETE FROM experiment WHERE id=?1", "i", id);
}

int db_remove(db *d, const int64_t *runs, size_t n, const char *experiment, err *e)
{
    int rc = 0;
    if (tx_begin(d, true, e)) return -1;
    for (size_t i = 0; i < n && !rc; i++) rc = remove_one(d, runs[i], e);
    if (!rc)
        rc = sql_do(
            d->q, e,
            "DELETE FROM variant WHERE archived=1 AND NOT EXISTS(SELECT 1 FROM run WHERE variant_id=variant.id)", "");
    if (!rc && experiment) rc = remove_experiment(d, experiment, e);
    return tx_end(d, rc, e);
}
