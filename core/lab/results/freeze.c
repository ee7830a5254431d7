/* freeze.c - writes a sweep as rows of the database: experiment, variants, aliases, runs. */
#include "lab/results/internal.h"
#include <stdlib.h>
#include <string.h>

static void json_ids(str *out, const int64_t *ids, size_t n)
{
    str_addc(out, '[');
    for (size_t i = 0; i < n; i++) str_addf(out, "%s%lld", i ? "," : "", (long long)ids[i]);
    str_addc(out, ']');
}

static int64_t write_experiment(db *d, const db_experiment_spec *x, err *e)
{
    char sha[65];
    int64_t id = -1;
    sha256_of(x->spec_ini, strlen(x->spec_ini), sha);
    int rc =
        sql_int(d->q, e, &id,
                "INSERT INTO experiment(name,note,headline,paper_table,spec_sha256,spec_ini,argv,created_at,analysis)"
                " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9) ON CONFLICT(name) DO UPDATE SET note=?2,headline=?3,"
                "paper_table=?4,spec_sha256=?5,spec_ini=?6,argv=?7,analysis=?9,archived=0 RETURNING id",
                "sssssssds", x->name, x->note, x->headline, x->paper_table, sha, x->spec_ini,
                x->argv_json ? x->argv_json : "[]", now(), x->analysis);
    return rc == 1 ? id : -1;
}

static int write_params(db *d, int64_t variant, const db_row_spec *row, err *e)
{
    static const char sql[] = "INSERT INTO param(variant_id,key,value,is_swept) VALUES(?1,?2,?3,?4)";
    if (sql_do(d->q, e, "DELETE FROM param WHERE variant_id=?1", "i", variant)) return -1;
    for (size_t i = 0; i < row->n_params; i++) {
        const db_param *p = &row->params[i];
        int64_t swept = p->swept;
        int rc = p->kind == DB_REAL   ? sql_do(d->q, e, sql, "isdi", variant, p->key, p->r, swept)
                 : p->kind == DB_TEXT ? sql_do(d->q, e, sql, "issi", variant, p->key, p->s, swept)
                                      : sql_do(d->q, e, sql, "isii", variant, p->key, p->i, swept);
        if (rc) return -1;
    }
    return 0;
}

static int64_t write_variant(db *d, int64_t experiment, const db_row_spec *row, size_t ord, err *e)
{
    int64_t id = -1, valid = 0;
    if (sql_int(d->q, e, &valid, "SELECT json_valid(?1)", "s", row->config_json) < 0) return -1;
    if (!valid) return fail(e, "row \"%s\": its configuration is not valid JSON", row->name);
    int rc = sql_int(
        d->q, e, &id,
        "INSERT INTO variant(experiment_id,group_name,place,name,change,is_base,paper_row,not_applicable,config_hash,"
        "config_json,exploratory) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,EXISTS(SELECT 1 FROM variant v JOIN run r ON "
        "r.variant_id=v.id WHERE v.experiment_id=?1 AND r.status='done') AND NOT EXISTS(SELECT 1 FROM variant v WHERE "
        "v.experiment_id=?1 AND v.config_hash=?11 AND v.exploratory=0)) ON CONFLICT(experiment_id,config_hash) DO "
        "UPDATE SET group_name=?2,place=?3,name=?4,change=?5,is_base=?6,paper_row=?7,not_applicable=?8,config_json=?10,"
        "archived=0 RETURNING id",
        "isississsss", experiment, row->group ? row->group : "", (int64_t)ord, row->name,
        row->change ? row->change : "", (int64_t)row->is_base, row->paper_row, row->not_applicable, row->config_hash,
        row->config_json, row->planned);
    return rc != 1 || write_params(d, id, row, e) ? fail_in(e, "row \"%s\": ", row->name) : id;
}

static int write_alias(db *d, int64_t variant, const db_row_spec *row, size_t ord, err *e)
{
    return sql_do(d->q, e,
                  "INSERT INTO alias(variant_id,name,group_name,place,change,paper_row) VALUES(?1,?2,?3,?4,?5,?6)",
                  "ississ", variant, row->name, row->group ? row->group : "", (int64_t)ord,
                  row->change ? row->change : "", row->paper_row);
}

/* Returns the earlier row that row i repeats, or i itself. */
static size_t first_equal(const db_experiment_spec *x, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same(x->rows[j].config_hash, x->rows[i].config_hash) || same(x->rows[j].name, x->rows[i].same_as)) return j;
    return i;
}

/* Fills variants[i] with the variant of row i, 0 for rows that only repeat another one. */
static int write_rows(db *d, int64_t experiment, const db_experiment_spec *x, int64_t *variants, err *e)
{
    AUTOFREE int64_t *of = xcalloc(x->n_rows, sizeof *of);
    int rc = 0;
    for (size_t i = 0; i < x->n_rows && !rc; i++) {
        size_t first = first_equal(x, i);
        if (first == i) {
            of[i] = variants[i] = write_variant(d, experiment, &x->rows[i], i, e);
            rc = of[i] < 0 ? -1 : 0;
        } else {
            of[i] = of[first];
            rc = write_alias(d, of[i], &x->rows[i], i, e);
        }
    }
    return rc;
}

/* SQL: plugins of ?2 whose PLACE ($.file, $.sha256) differs from that of the last attempt of run ?1. */
#define PLUGINS_WITH_ANOTHER(PLACE)                                                                                    \
    " FROM attempt a,json_each(a.plugins_json) o JOIN json_each(?2) n ON n.key=o.key WHERE a.run_id=?1 AND "           \
    "a.n=(SELECT max(n) FROM attempt WHERE run_id=?1 AND plugins_json IS NOT NULL) AND o.type='object' AND "           \
    "json_extract(o.value,'" PLACE "')<>json_extract(n.value,'" PLACE "')"

/* Does some plugin that the run's last attempt used have another sha256 now? 1, 0, -1. */
static int plugins_differ(db *d, int64_t run, const char *now, err *e)
{
    int64_t differ = 0;
    int rc = sql_int(d->q, e, &differ, "SELECT count(*)" PLUGINS_WITH_ANOTHER("$.sha256"), "is", run, now);
    return rc < 0 ? -1 : differ > 0;
}

/* Records the plugins loaded now if their files differ from those of the run's last attempt (report/changed.h). */
static int record_loaded(db *d, int64_t run, const char *now, err *e)
{
    return sql_do(d->q, e, "DELETE FROM tag WHERE run_id=?1 AND tag='" DB_LOADED "'", "i", run) ||
           sql_do(d->q, e,
                  "INSERT INTO tag(run_id,tag,value) SELECT ?1,'" DB_LOADED
                  "',?2 WHERE EXISTS(SELECT 1" PLUGINS_WITH_ANOTHER("$.file") ")",
                  "is", run, now);
}

/* Queues a recorded run, because it was not trained here. If a run used another version of a plugin, marks it
 * as changed if it is done, and restarts it from scratch otherwise. */
static int apply_origin(db *d, const db_row_spec *row, db_frozen *out, err *e)
{
    int64_t recorded = 0;
    if (sql_int(d->q, e, &recorded, "SELECT recorded FROM run WHERE id=?1", "i", out->id) < 0) return -1;
    if (recorded && out->status != DB_SKIPPED) {
        /* an old database kept recorded runs in the same experiment */
        out->status = DB_QUEUED;
        return sql_do(d->q, e, "UPDATE run SET recorded=0,status='queued',ended_at=NULL WHERE id=?1", "i", out->id) ||
               run_afresh(d, out->id, e);
    }
    int differ = row->plugins_json ? plugins_differ(d, out->id, row->plugins_json, e) : 0;
    if (differ < 0) return -1;
    out->changed = differ && out->status == DB_DONE;
    if (row->plugins_json && out->status == DB_DONE && record_loaded(d, out->id, row->plugins_json, e)) return -1;
    out->anew = differ && (out->status == DB_QUEUED || out->status == DB_KILLED || out->status == DB_FAILED);
    return out->anew ? run_afresh(d, out->id, e) : 0;
}

/* Returns 1 if the run exists now, 0 if the row is left out, -1. late: gives a new run DB_LATE. */
static int write_run(db *d, int64_t variant, const db_row_spec *row, size_t ord, bool late, db_frozen *out, err *e)
{
    bool added = false;
    sqlite3_stmt *s =
        sql_keep(d->q, e,
                 "INSERT INTO run(variant_id,seed,place,status,queued_at) SELECT ?1,?2,?3,?4,?5 WHERE NOT ?6 OR"
                 " EXISTS(SELECT 1 FROM run WHERE variant_id=?1 AND seed=?2)"
                 " ON CONFLICT(variant_id,seed) DO UPDATE SET place=?3,archived=0,status=CASE"
                 " WHEN status IN('done','running') THEN status WHEN ?4='skipped' THEN 'skipped'"
                 " WHEN status IN('killed','skipped') THEN 'queued' ELSE status END RETURNING id,status,queued_at=?5",
                 "iiisdi", variant, out->seed, (int64_t)ord, row->not_applicable ? "skipped" : "queued", now(),
                 (int64_t)row->left_out);
    int found = sql_row(s, "run.id run.status", e), rc = found < 0 ? -1 : 0;
    if (found == 1) {
        out->id = sqlite3_column_int64(s, 0), added = sqlite3_column_int(s, 2);
        rc = sql_status(s, 1, &out->status, e) ? -1 : sql_next(s, e);
    }
    sql_rest(s);
    if (!rc && added && late)
        rc = sql_do(d->q, e, "INSERT INTO tag(run_id,tag,value) VALUES(?1,'" DB_LATE "','1')", "i", out->id);
    return rc || (found && apply_origin(d, row, out, e)) ? -1 : found;
}

/* planned: the experiment had these seeds already; then imported results do not make a run late. */
static int write_runs(db *d, const db_experiment_spec *x, const int64_t *variants, int64_t planned, db_frozen *out,
                      size_t *n, err *e)
{
    CLEANUP(str_free) str seeds = {0};
    AUTOFREE int64_t *done = xcalloc(x->n_rows, sizeof *done); /* [n_rows]: 1 for a row with results */
    int rc = 0;
    *n = 0;
    for (size_t i = 0; i < x->n_rows && !rc; i++) {
        if (!variants[i]) continue;
        str_clear(&seeds);
        json_ids(&seeds, x->seeds, x->rows[i].n_seeds ? x->rows[i].n_seeds : x->n_seeds);
        if (sql_int(d->q, e, &done[i],
                    "SELECT EXISTS(SELECT 1 FROM run r LEFT JOIN attempt a ON a.run_id=r.id WHERE r.variant_id=?1 AND "
                    "r.status='done' AND(NOT ?2 OR a.log_path NOT NULL))",
                    "ii", variants[i], planned) < 0 ||
            sql_do(d->q, e,
                   "UPDATE run SET archived=1 WHERE variant_id=?1 AND status NOT IN('done','running')"
                   " AND seed NOT IN(SELECT value FROM json_each(?2))",
                   "is", variants[i], seeds.s))
            rc = -1;
    }
    for (size_t k = 0; k < x->n_seeds; k++)
        for (size_t i = 0; i < x->n_rows && !rc; i++) {
            if (!variants[i] || (x->rows[i].n_seeds && k >= x->rows[i].n_seeds)) continue;
            out[*n] = (db_frozen){.row = i, .seed = x->seeds[k]};
            int put = write_run(d, variants[i], &x->rows[i], *n, done[i], &out[*n], e);
            *n += put > 0, rc = put < 0 ? -1 : 0;
        }
    return rc;
}

/* Fails if another process uses a row or seed that would be removed. */
static int check_others(db *d, const db_experiment_spec *x, err *e)
{
    int64_t live = 0, lost = 0;
    CLEANUP(str_free) str hashes = {0}, seeds = {0};
    for (size_t i = 0; i < x->n_rows; i++) str_addf(&hashes, "%s\"%s\"", i ? "," : "[", x->rows[i].config_hash);
    str_addc(&hashes, ']');
    json_ids(&seeds, x->seeds, x->n_seeds);
#define RUNS_IN_FORCE                                                                                                  \
    "SELECT count(*) FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x ON x.id=v.experiment_id"         \
    " WHERE x.name=?1 AND v.archived=0 AND r.archived=0 AND "
    int rc = sql_int(d->q, e, &live, RUNS_IN_FORCE "r.status='running' AND (r.lease_until>=?2 OR owner_lives(r.owner))",
                     "sd", x->name, now());
    if (rc >= 0)
        rc = sql_int(d->q, e, &lost,
                     RUNS_IN_FORCE "r.status IN('queued','running') AND (v.config_hash NOT IN(SELECT value FROM "
                                   "json_each(?2)) OR r.seed NOT IN(SELECT value FROM json_each(?3)))",
                     "sss", x->name, hashes.s, seeds.s);
#undef RUNS_IN_FORCE
    if (rc >= 0 && live && lost)
        rc = fail(e,
                  "another process is training this experiment, and %lld of the experiment's runs are not in this "
                  "spec; wait for that process to end, add the rows and seeds of those runs, or rename this experiment",
                  (long long)lost);
    return rc < 0 ? -1 : 0;
}

int db_freeze(db *d, const db_experiment_spec *x, db_frozen **out, size_t *n, err *e)
{
    *out = NULL, *n = 0;
    if (db_release_dead(d, x->name, NULL, e) || tx_begin(d, true, e)) return -1;
    AUTOFREE int64_t *variants = xcalloc(x->n_rows, sizeof *variants);
    db_frozen *runs = xcalloc(x->n_rows * x->n_seeds, sizeof *runs);
    int64_t id = -1, planned = 0;
    const char *seeds = strstr(x->spec_ini, "\nseeds");
    AUTOFREE char *line = seeds ? xstrndup(seeds, strcspn(seeds + 1, "\n") + 2) : NULL;
    int rc = view_check_name(x->name, e);
    if (!rc && sql_int(d->q, e, &planned, "SELECT instr(spec_ini,?2)>0 FROM experiment WHERE name=?1", "ss", x->name,
                       line) < 0)
        rc = -1;
    if (!rc) rc = check_others(d, x, e);
    if (!rc) id = write_experiment(d, x, e), rc = id < 0 ? -1 : 0;
    /* Archives all rows. write_rows restores them one by one, so that names can move between configurations. */
    if (!rc) rc = sql_do(d->q, e, "UPDATE variant SET archived=1 WHERE experiment_id=?1", "i", id);
    if (!rc)
        rc = sql_do(d->q, e, "DELETE FROM alias WHERE variant_id IN(SELECT id FROM variant WHERE experiment_id=?1)",
                    "i", id);
    if (!rc) rc = write_rows(d, id, x, variants, e);
    if (!rc) rc = write_runs(d, x, variants, planned, runs, n, e);
    if (!rc) rc = view_refresh(d->q, id, e);
    rc = tx_end(d, rc, e);
    if (rc) {
        free(runs), *n = 0;
        return fail_in(e, "experiment \"%s\": ", x->name);
    }
    *out = runs;
    return 0;
}
