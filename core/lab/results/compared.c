/* compared.c - writes and reads comparisons with base, which core/lab/report computes, and trials of searches. */
#include "lab/results/internal.h"

int experiment_id(sqlite3 *q, const char *name, int64_t *id, err *e)
{
    int rc = sql_int(q, e, id, "SELECT id FROM experiment WHERE name=?1", "s", name);
    if (!rc) fail(e, "experiment \"%s\": not in the database; `ablate ls` lists the experiments", name);
    return rc == 1 ? 0 : -1;
}

static int put_comparison(sqlite3 *q, int64_t experiment, const db_comparison *c, err *e)
{
    int64_t metric = metric_id(q, c->metric, NULL, e);
    if (metric < 0) return -1;
    return sql_do(
        q, e,
        "INSERT INTO comparison SELECT v.id,?3,b.name,b.config_hash,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,"
        "?18,?19,?20,?21,?22,?23,?24,?25,?26,?27 FROM variant v JOIN variant b ON b.experiment_id=v.experiment_id AND "
        "b.name=?28 AND b.archived=0 WHERE v.experiment_id=?1 AND v.name=?2 AND v.archived=0",
        "isiiisdddddisdddddddddddssds", experiment, c->row, metric, (int64_t)c->n, (int64_t)c->n_base, c->unit,
        c->delta, c->low, c->high, c->p, c->p_adjusted, (int64_t)c->tests, c->rule, c->variance_seeds,
        c->variance_sentences, c->df, c->seed_sd, c->least_detectable, c->p_models, c->p_outside_base, c->p_permutation,
        c->beats_base, c->beats_base_low, c->beats_base_high, c->verdict, c->refused, now(), c->base);
}

int db_put_comparisons(db *d, const char *experiment, const char *results, const db_comparison *list, size_t n, err *e)
{
    int64_t id = 0;
    if (tx_begin(d, false, e)) return -1;
    int rc = experiment_id(d->q, experiment, &id, e);
    if (!rc)
        rc =
            sql_do(d->q, e, "DELETE FROM comparison WHERE variant_id IN(SELECT id FROM variant WHERE experiment_id=?1)",
                   "i", id);
    for (size_t i = 0; i < n && !rc; i++) rc = put_comparison(d->q, id, &list[i], e);
    if (!rc)
        rc = sql_do(d->q, e, "INSERT OR REPLACE INTO compared(experiment_id,results) VALUES(?1,?2)", "is", id, results);
    return tx_end(d, rc, e);
}

int db_put_trials(db *d, const char *experiment, const db_trial *list, size_t n, err *e)
{
    int64_t id = 0;
    if (tx_begin(d, true, e)) return -1;
    int rc = experiment_id(d->q, experiment, &id, e);
    if (!rc) rc = sql_do(d->q, e, "DELETE FROM trial WHERE experiment_id=?1", "i", id);
    for (size_t i = 0; i < n && !rc; i++)
        rc = sql_do(d->q, e,
                    "INSERT INTO trial(experiment_id,row,n,rung,settings,seed,steps,metric,value,seconds,flops,outcome)"
                    " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
                    "isiisiIsddds", id, list[i].row, list[i].n, list[i].rung, list[i].settings, list[i].seed,
                    list[i].steps, list[i].metric, list[i].value, list[i].seconds, list[i].flops, list[i].outcome);
    return tx_end(d, rc, e);
}

/* ---- reading ---- */

/* SQL: a short text that identifies the results of an experiment's table: their number, the newest run, sums that
 * change with every value, the rows, and the number of failed runs, whose rows get no p. */
#define RESULTS_NOW                                                                                                    \
    "(SELECT count(x.value)||' '||coalesce(max(r.id),0)||' "                                                           \
    "'||printf('%!.17g',total(x.value*(r.id+7*x.metric_id)))||' '"                                                     \
    "||printf('%!.17g',total(r.ended_at))||' '||total(length(x.stats))||' '||count(DISTINCT v.id)||' "                 \
    "'||coalesce(max(v.id*v.is_base),0)"                                                                               \
    "||coalesce(e.analysis,'')||' '||(SELECT count(*) FROM variant w JOIN run f ON f.variant_id=w.id AND f.archived=0" \
    " AND f.status='failed' WHERE w.experiment_id=e.id AND w.archived=0)"                                              \
    " FROM variant v JOIN run r ON r.variant_id=v.id AND r.archived=0 AND r.status='done'"                             \
    " JOIN result x ON x.run_id=r.id WHERE v.experiment_id=e.id AND v.archived=0)"

int reader_stale(reader *r, const char *experiment, arena *a, read_stale **out, size_t *n, err *e)
{
    int rc = 0;
    *out = NULL, *n = 0;
    sqlite3_stmt *s =
        sql_open(r->q, e,
                 "SELECT e.name," RESULTS_NOW " now FROM experiment e LEFT JOIN compared c ON c.experiment_id=e.id"
                 " WHERE e.archived=0 AND (?1 IS NULL OR e.name IN(?1,?1||?2) OR (?1='' AND e.id=(SELECT id "
                 "FROM experiment WHERE archived=0 ORDER BY name LIKE '%'||?2,created_at DESC,id DESC LIMIT 1))) AND "
                 "now IS NOT coalesce(c.results,'')",
                 "ss", experiment, DB_RECORDED);
    while (sql_each(s, "experiment.name", &rc, e)) {
        *out = list_grow(a, *out, *n, sizeof **out);
        (*out)[(*n)++] = (read_stale){sql_text(s, 0, a), sql_text(s, 1, a)};
    }
    return rc;
}

int reader_old_verdicts(reader *r, const char *experiment, arena *a, read_pair **out, size_t *n, err *e)
{
    int rc = 0;
    *out = NULL, *n = 0;
    sqlite3_stmt *s = sql_open(
        r->q, e,
        "SELECT DISTINCT v.name,c.base_hash FROM comparison c JOIN variant v ON v.id=c.variant_id JOIN experiment x"
        " ON x.id=v.experiment_id JOIN variant b ON b.experiment_id=x.id AND b.archived=0"
        " WHERE x.name=?1 AND c.verdict IS NOT NULL AND c.base_hash<>b.config_hash AND b.id=coalesce((SELECT id FROM"
        " variant WHERE experiment_id=x.id AND name=c.base AND archived=0),(SELECT id FROM variant WHERE"
        " experiment_id=x.id AND is_base=1 AND archived=0))",
        "s", experiment);
    while (sql_each(s, "variant.name comparison.base_hash", &rc, e)) {
        *out = list_grow(a, *out, *n, sizeof **out);
        (*out)[(*n)++] = (read_pair){sql_text(s, 0, a), sql_text(s, 1, a)};
    }
    return rc;
}

int reader_trials(reader *r, const char *experiment, arena *a, db_trial **out, size_t *n, err *e)
{
    static const char names[] =
        "trial.row trial.n trial.rung trial.settings trial.seed - trial.metric - - - trial.outcome";
    int rc = 0;
    *out = NULL, *n = 0;
    reader *source = NULL;
    if (!names_is_own(r, experiment) && recorded_open(r, experiment, &source, e)) return -1;
    sqlite3_stmt *s = sql_open(
        source ? source->q : r->q, e,
        "SELECT t.row,t.n,t.rung,t.settings,t.seed,t.steps,t.metric,t.value,t.seconds,t.flops,t.outcome FROM trial t"
        " JOIN experiment x ON x.id=t.experiment_id WHERE x.name=?1 ORDER BY t.row,t.rung,t.n,t.seed",
        "s", experiment);
    while (sql_each(s, names, &rc, e)) {
        *out = list_grow(a, *out, *n, sizeof **out);
        db_trial *t = &(*out)[(*n)++];
        sql_read(s, a, "siijiIsddds", &t->row, &t->n, &t->rung, &t->settings, &t->seed, &t->steps, &t->metric,
                 &t->value, &t->seconds, &t->flops, &t->outcome);
    }
    return rc;
}
