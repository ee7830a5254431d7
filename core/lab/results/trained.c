/* trained.c - finds a trained model to reuse: the model of a run whose settings differ only in decoding. */
#include "lab/results/internal.h"
#include "network/settings/config.h"

/* Do rows of the experiment differ in a key that only decoding reads? Asked once per connection. 1, 0, -1. */
static int rows_decode_apart(db *d, int64_t experiment, const char *keys, err *e)
{
    int64_t apart = 0;
    if (d->decodes_of == experiment) return d->decodes;
    if (sql_int(d->q, e, &apart,
                "SELECT EXISTS(SELECT 1 FROM param p JOIN variant v ON v.id=p.variant_id WHERE v.experiment_id=?1 AND"
                " p.key IN(SELECT value FROM json_each(?2)) GROUP BY p.key HAVING count(DISTINCT value)>1)",
                "is", experiment, keys) < 0)
        return -1;
    d->decodes_of = experiment, d->decodes = apart;
    return (int)apart;
}

/* Finds the first done run of the experiment with this seed, whose settings differ at most in keys of decoding. */
static int find_sibling(db *d, const db_claim *c, const char *keys, int64_t *run, err *e)
{
#define TRAINING(ROW)                                                                                                  \
    "(SELECT json_group_array(json_array(j.fullkey,j.atom)) FROM json_tree(" ROW                                       \
    ".config_json) j WHERE j.atom NOT NULL AND (j.path<>'$' OR j.key NOT IN(SELECT value FROM json_each(?2))))"
    return sql_int(d->q, e, run,
                   "SELECT m.id FROM run r JOIN variant v ON v.id=r.variant_id JOIN variant o ON"
                   " o.experiment_id=v.experiment_id AND o.id<>v.id JOIN run m ON m.variant_id=o.id AND m.seed=r.seed"
                   " AND m.status='done' AND m.recorded=0 WHERE r.id=?1 AND r.generation=0 AND " TRAINING(
                       "o") "=" TRAINING("v") " ORDER BY m.id LIMIT 1",
                   "is", c->run, keys);
#undef TRAINING
}

int db_trained_model(db *d, const db_claim *c, const char *runs, arena *a, const char **model, err *e)
{
    CLEANUP(str_free) str keys = {0};
    int64_t experiment = 0, sibling = 0;
    *model = NULL;
    config_decode_keys(&keys);
    int rc =
        sql_int(d->q, e, &experiment,
                "SELECT v.experiment_id FROM run r JOIN variant v ON v.id=r.variant_id WHERE r.id=?1", "i", c->run);
    if (rc == 1) rc = rows_decode_apart(d, experiment, str_text(&keys), e);
    if (rc == 1) rc = find_sibling(d, c, str_text(&keys), &sibling, e);
    if (rc != 1) return rc;
    sqlite3_stmt *s =
        sql_open(d->q, e, "SELECT path FROM artifact WHERE run_id=?1 AND kind='model' LIMIT 1", "i", sibling);
    rc = sql_next(s, e);
    const char *path = rc == 1 ? read_own_path(runs, c->seed, sql_text(s, 0, a), a) : NULL;
    sqlite3_finalize(s);
    if (rc < 0 || !path || !file_exists(path)) return rc < 0 ? -1 : 0;
    *model = path;
    return sql_do(d->q, e, "INSERT OR REPLACE INTO tag(run_id,tag,value) VALUES(?1,'model_of_run',?2)", "ii", c->run,
                  sibling);
}
