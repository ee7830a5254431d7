/* older.c - counts, lists, restores and removes older runs, which tables omit since their row's settings changed. */
#include "lab/results/internal.h"

/* SQL: runs of archived rows that are done or were started. */
#define OLDER                                                                                                          \
    " FROM experiment x JOIN variant v ON v.experiment_id=x.id AND v.archived=1 JOIN run r ON r.variant_id=v.id"       \
    " WHERE x.name=?1 AND (r.status='done' OR r.attempt>0)"

/* SQL: settings of variant v that differ from those of variant N. */
#define DIFFERENCE(N)                                                                                                  \
    "(SELECT group_concat(p.key||' = '||coalesce(p.value,''),', ') FROM param p LEFT JOIN param o ON o.variant_id=" N  \
    " AND o.key=p.key WHERE p.variant_id=v.id AND p.value IS NOT o.value)"

/* SQL: the present row with the same name, else base. */
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
    int rc = 0;
    *out = NULL, *n = 0;
    sqlite3_stmt *s = sql_open(
        r->q, e, "SELECT r.id,v.name,r.seed,r.status," DIFFERENCE(ROW_NOW) ",r.ended_at" OLDER " ORDER BY v.id,r.seed",
        "s", experiment);
    while (sql_each(s, "run.id variant.name run.seed run.status", &rc, e)) {
        *out = list_grow(a, *out, *n, sizeof **out);
        read_older *x = &(*out)[(*n)++];
        sql_read(s, a, "isi-jd", &x->run, &x->row, &x->seed, &x->settings, &x->ended_at);
        rc = sql_status(s, 3, &x->status, e);
    }
    return rc;
}

int reader_stored(reader *r, const char *experiment, arena *a, read_stored **out, size_t *n, const char **ini,
                  const char **argv, err *e)
{
    static const char names[] =
        "variant.name variant.config_hash variant.config_json - - - experiment.spec_ini experiment.argv";
    int rc = 0;
    *out = NULL, *ini = *argv = NULL, *n = 0;
    sqlite3_stmt *s = sql_open(
        r->q, e,
        "SELECT v.name,v.config_hash,v.config_json,' '||coalesce((SELECT group_concat(key,' ')"
        " FROM param WHERE variant_id=v.id AND is_swept=1),'')||' ',v.archived,EXISTS(SELECT 1 FROM run WHERE "
        "variant_id=v.id AND status='done' AND recorded=0),x.spec_ini,x.argv FROM experiment x JOIN variant v ON "
        "v.experiment_id=x.id WHERE x.name=?1 ORDER BY v.archived,v.is_base DESC,v.place",
        "s", experiment);
    while (sql_each(s, names, &rc, e)) {
        if (!*n) *ini = sql_bytes(s, 6, a), *argv = sql_bytes(s, 7, a);
        *out = list_grow(a, *out, *n, sizeof **out);
        read_stored *x = &(*out)[(*n)++];
        sql_read(s, a, "bbbbBB", &x->name, &x->hash, &x->json, &x->swept, &x->archived, &x->done);
    }
    return rc;
}

int reader_all_runs(reader *r, const char *experiment, bool older, arena *a, int64_t **ids, size_t *n, err *e)
{
    int64_t id = 0;
    *ids = NULL, *n = 0;
    int known = sql_int(r->q, e, &id, "SELECT id FROM experiment WHERE name=?1", "s", experiment);
    if (known != 1) return known < 0 ? -1 : reader_no_experiment(r, experiment, e);
    sqlite3_stmt *s = sql_open(r->q, e,
                               "SELECT r.id FROM variant v JOIN run r ON r.variant_id=v.id WHERE v.experiment_id=?1"
                               " AND (v.archived OR NOT ?2) ORDER BY v.archived,r.id",
                               "ii", id, (int64_t)older);
    return sql_ids(s, a, ids, n, e);
}

/* Shows one archived variant, named NAME~N with the first free N. */
static int restore_variant(db *d, int64_t id, int64_t place, err *e)
{
    return sql_do(d->q, e,
                  "WITH RECURSIVE way(bare,n) AS (SELECT substr(name,1,CASE instr(name,'~') WHEN 0 THEN length(name) "
                  "ELSE instr(name,'~')-1 END),1 FROM variant WHERE id=?1 UNION ALL SELECT bare,n+1 FROM way WHERE "
                  "EXISTS(SELECT 1 FROM variant o JOIN variant v ON v.id=?1 AND o.experiment_id=v.experiment_id WHERE "
                  "o.archived=0 AND o.name=bare||'~'||n)) UPDATE variant AS v SET change=coalesce(" DIFFERENCE(
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
    int rc = experiment_id(d->q, experiment, &x, e);
    if (!rc) rc = sql_int(d->q, e, &place, "SELECT 1+max(place) FROM variant WHERE experiment_id=?1", "i", x);
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
    static const char count[] =
        "SELECT count(*) FROM run r JOIN variant v ON v.id=r.variant_id WHERE v.experiment_id=?1";
    int64_t id = 0, left = 0;
    if (experiment_id(d->q, name, &id, e) || sql_int(d->q, e, &left, count, "i", id) < 0) return -1;
    if (left)
        return fail(e, "experiment \"%s\": %lld runs were added meanwhile; nothing was removed", name, (long long)left);
    return view_drop(d->q, name, e) ? -1 : sql_do(d->q, e, "DELETE FROM experiment WHERE id=?1", "i", id);
}

int db_remove(db *d, const int64_t *runs, size_t n, const char *experiment, err *e)
{
    static const char empty[] =
        "DELETE FROM variant WHERE archived AND NOT EXISTS(SELECT 1 FROM run WHERE variant_id=variant.id)";
    int rc = 0;
    if (tx_begin(d, true, e)) return -1;
    for (size_t i = 0; i < n && !rc; i++) rc = remove_one(d, runs[i], e);
    if (!rc) rc = sql_do(d->q, e, empty, "");
    if (!rc && experiment) rc = remove_experiment(d, experiment, e);
    return tx_end(d, rc, e);
}
