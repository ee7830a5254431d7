/* read_experiment.c - reads experiments with their rows. */
#include "lab/results/read_runs.h"
#include "text/metric/metric.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ids of the rows that were frozen for training, including rows that the table leaves out now, in the order of
 * freezing. A row whose settings changed under its name before training, as in a search, counts once. */
typedef struct {
    size_t n;
    int64_t *id;
} frozen_rows;

static int load_frozen(sqlite3 *q, int64_t experiment, arena *a, frozen_rows *out, err *e)
{
    sqlite3_stmt *s = sql_open(
        q, e,
        "SELECT id FROM variant v WHERE experiment_id=?1 AND is_base=0 AND not_applicable IS NULL AND NOT(archived<>0 "
        "AND NOT EXISTS(SELECT 1 FROM run r WHERE r.variant_id=v.id AND (r.attempt>0 OR r.recorded>0)) AND "
        "EXISTS(SELECT 1 FROM variant o WHERE o.experiment_id=?1 AND o.name=v.name AND o.archived=0)) ORDER BY id",
        "i", experiment);
    return sql_ids(s, a, &out->id, &out->n, e);
}

/* Returns the number of rows frozen up to and including this one. */
static size_t place_of(const frozen_rows *f, int64_t variant)
{
    size_t low = 0, high = f->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->id[middle] <= variant)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Loads the candidates of one row's search, each as the mean over its seeds. */
static int load_search(sqlite3 *q, int64_t experiment, arena *a, read_row *row, err *e)
{
    double *list = NULL;
    int rc = 0;
    int64_t last = -1, seeds = 0;
    sqlite3_stmt *s = sql_open(
        q, e,
        "SELECT t.row,t.value,c.value,t.n,(SELECT count(DISTINCT seed) FROM trial WHERE experiment_id=?1 AND row=?2) "
        "FROM trial h JOIN trial t ON t.experiment_id=h.experiment_id AND t.row=h.row AND t.seed=h.seed LEFT JOIN "
        "trial c ON c.experiment_id=h.experiment_id AND c.row=h.row AND c.n=h.n AND c.rung=t.rung AND c.seed=t.seed "
        "WHERE h.experiment_id=?1 AND h.row=?2 AND h.outcome='chosen' AND h.metric=?3 AND t.outcome<>'promoted' ORDER "
        "BY t.n",
        "iss", experiment, row->name, metric_perplexity.name);
    while (sql_each(s, "trial.row - - trial.n", &rc, e)) {
        double behind = log(sql_real(s, 1) / sql_real(s, 2));
        bool first = sqlite3_column_int64(s, 3) != last;
        last = sqlite3_column_int64(s, 3), seeds = sqlite3_column_int64(s, 4);
        if (first) list = list_grow(a, list, row->n_candidates, sizeof *list), list[row->n_candidates++] = 0;
        list[row->n_candidates - 1] += isfinite(behind) ? behind / (double)seeds : INFINITY;
    }
    row->behind = list, row->trial_seeds = (size_t)seeds;
    return rc;
}

static int load_searches(sqlite3 *q, int64_t experiment, arena *a, read_row *rows, size_t n, err *e)
{
    int64_t any = 0;
    if (sql_int(q, e, &any, "SELECT EXISTS(SELECT 1 FROM trial WHERE experiment_id=?1)", "i", experiment) < 0)
        return -1;
    for (size_t i = 0; i < n && any; i++)
        if (load_search(q, experiment, a, &rows[i], e)) return -1;
    for (size_t i = 0; i < n && any; i++) /* equal rows were searched once */
        for (size_t k = 0; k < n && !rows[i].n_candidates; k++)
            if (rows[k].runs == rows[i].runs)
                rows[i].n_candidates = rows[k].n_candidates, rows[i].behind = rows[k].behind,
                rows[i].trial_seeds = rows[k].trial_seeds;
    return 0;
}

static int load_rows(loading *l, int64_t experiment, read_experiment *out, err *e)
{
    static const char names[] = "variant.group_name variant.name variant.change - - - variant.config_json "
                                "variant.config_hash variant.is_base variant.exploratory variant.id";
    sqlite3 *q = l->q;
    arena *a = l->a;
    frozen_rows frozen;
    if (load_frozen(q, experiment, a, &frozen, e)) return -1;
    int rc = 0;
    read_row *rows = NULL;
    int64_t *variants = NULL;
    sqlite3_stmt *s = sql_open(
        q, e,
        "SELECT t.group_name,t.name,t.change,t.same_as,t.paper_row,t.not_applicable,v.config_json,v.config_hash,"
        "t.is_base,v.exploratory,v.id,v.is_base,(SELECT value FROM tag WHERE ?2 AND tag='data_check' AND "
        "run_id=(SELECT id FROM run WHERE variant_id=v.id AND archived=0 AND status='done' ORDER BY seed LIMIT 1)) "
        "FROM table_row t JOIN variant v ON v.id=t.variant_id WHERE t.experiment_id=?1 ORDER BY t.place,t.name",
        "ii", experiment, (int64_t)(l->depth != READ_BRIEF));
    while (sql_each(s, names, &rc, e)) {
        size_t i = out->n_rows++, first = 0;
        rows = list_grow(a, rows, i, sizeof *rows), variants = list_grow(a, variants, i, sizeof *variants);
        read_row *x = &rows[i];
        sql_read(s, a, "ssssssjsBBi-s", &x->group, &x->name, &x->change, &x->same_as, &x->paper_row, &x->not_applicable,
                 &x->config_json, &x->config_hash, &x->is_base, &x->exploratory, &variants[i], &x->data_check);
        x->place = sqlite3_column_int(s, 11) ? 0 : place_of(&frozen, variants[i]);
        while (variants[first] != variants[i]) first++;
        if (first < i)
            x->runs = rows[first].runs, x->n_runs = rows[first].n_runs;
        else
            rc = loading_runs(l, variants[i], x, e);
    }
    out->rows = rows;
    if (!rc && l->depth == READ_STATS) rc = load_searches(q, experiment, a, rows, out->n_rows, e);
    return rc;
}

static bool has_metric(const read_experiment *x, const char *name)
{
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t j = 0; j < x->rows[i].n_runs; j++)
            for (size_t k = 0; k < x->rows[i].runs[j].n_results; k++)
                if (same(x->rows[i].runs[j].results[k].metric, name)) return true;
    return false;
}

/* Loads the metrics in which some run has a result, in the order in which the database first saw them. */
static int load_metrics(sqlite3 *q, arena *a, read_experiment *out, err *e)
{
    const char **names = NULL;
    int rc = 0;
    sqlite3_stmt *s = sql_open(q, e, "SELECT name FROM metric ORDER BY id", "");
    while (sql_each(s, "metric.name", &rc, e)) {
        if (!has_metric(out, (const char *)sqlite3_column_text(s, 0))) continue;
        names = list_grow(a, names, out->n_metrics, sizeof *names);
        names[out->n_metrics++] = sql_text(s, 0, a);
    }
    out->metrics = names;
    return rc;
}

static int load_experiment(sqlite3 *q, const char *name, enum read_depth depth, arena *a, read_experiment *out, err *e)
{
    int64_t id = 0;
    sqlite3_stmt *s = sql_open(q, e,
                               "SELECT id,name,note,headline,paper_table,created_at,analysis,EXISTS(SELECT 1 FROM "
                               "experiment r WHERE r.name=x.name||?2),view_name FROM experiment x WHERE archived=0 AND "
                               "(name IN(?1,?1||?2) OR ?1 IS NULL) ORDER BY name=?1 DESC,name LIKE '%'||?2,"
                               "created_at DESC,id DESC LIMIT 1",
                               "ss", name, DB_RECORDED);
    int rc = sql_row(s, "experiment.id experiment.name - - - experiment.created_at", e);
    if (rc == 1)
        sql_read(s, a, "issssdjBs", &id, &out->name, &out->note, &out->headline, &out->paper_table, &out->created_at,
                 &out->analysis, &out->has_recorded, &out->view);
    sqlite3_finalize(s);
    if (rc != 1) return rc < 0 ? -1 : 1;
    loading l = {.q = q, .depth = depth, .a = a};
    rc = load_rows(&l, id, out, e) || load_metrics(q, a, out, e) || older_count(q, out->name, &out->older, e) ? -1 : 0;
    free(l.names);
    if (!rc && depth == READ_STATS) read_documents(out, a);
    return rc;
}

const char *read_plain_name(const char *name, arena *a)
{
    return has_suffix(name, DB_RECORDED) ? arena_strndup(a, name, strlen(name) - strlen(DB_RECORDED)) : name;
}

int reader_experiment(reader *r, const char *name, enum read_depth depth, arena *a, read_experiment *out, err *e)
{
    *out = (read_experiment){0};
    if (sql_script(r->q, "BEGIN", e)) return -1; /* one consistent view, also while a host writes */
    int rc = load_experiment(r->q, name, depth, a, out, e);
    sqlite3_exec(r->q, "ROLLBACK", NULL, NULL, NULL);
    reader *source = NULL;
    if (rc == 1 && recorded_open(r, name, &source, e)) return -1;
    if (source) rc = load_experiment(source->q, name, depth, a, out, e);
    if (!rc && !out->has_recorded && !has_suffix(out->name, DB_RECORDED))
        out->has_recorded = recorded_has(r, out->name);
    return rc;
}

int reader_list(reader *r, arena *a, read_listed **out, size_t *n, err *e)
{
    int rc = 0;
    *out = NULL, *n = 0;
    sqlite3_stmt *s =
        sql_open(r->q, e,
                 /* selects table_row's rows directly: SQLite would read the whole view for each experiment */
                 "SELECT x.name,x.note,x.paper_table,x.created_at,(SELECT count(*) FROM variant t WHERE "
                 "t.experiment_id=x.id AND t.archived=0)+(SELECT count(*) FROM alias a CROSS JOIN variant t ON "
                 "t.id=a.variant_id WHERE t.experiment_id=x.id AND t.archived=0),count(u.id),sum(u.status='queued'),"
                 "sum(u.status='running'),sum(u.status='done'),sum(u.status='failed'),sum(u.status='killed'),"
                 "sum(u.status='skipped') FROM experiment x LEFT JOIN variant v ON v.experiment_id=x.id AND "
                 "v.archived=0 LEFT JOIN run u ON u.variant_id=v.id AND u.archived=0 WHERE x.archived=0 GROUP BY x.id "
                 "ORDER BY x.created_at,x.id",
                 "");
    while (sql_each(s, "experiment.name - - experiment.created_at", &rc, e)) {
        *out = list_grow(a, *out, *n, sizeof **out);
        read_listed *x = &(*out)[(*n)++];
        sql_read(s, a, "sssdiiiiiiii", &x->name, &x->note, &x->paper_table, &x->created_at, &x->rows, &x->runs,
                 &x->queued, &x->running, &x->done, &x->failed, &x->killed, &x->skipped);
    }
    return rc;
}

int reader_away(reader *r, arena *a, read_away **out, size_t *n, err *e)
{
    int rc = 0;
    *out = NULL, *n = 0;
    sqlite3_stmt *s = sql_open(
        r->q, e,
        "SELECT u.id,x.name,t.slurm_job FROM run u JOIN attempt t ON t.run_id=u.id AND t.n=u.attempt JOIN variant v ON "
        "v.id=u.variant_id JOIN experiment x ON x.id=v.experiment_id WHERE u.status='running' AND u.archived=0 AND "
        "u.owner LIKE 'slurm/%' AND t.slurm_job IS NOT NULL ORDER BY t.slurm_job,u.id",
        "");
    while (sql_each(s, "run.id experiment.name", &rc, e)) {
        *out = list_grow(a, *out, *n, sizeof **out);
        (*out)[(*n)++] = (read_away){sqlite3_column_int64(s, 0), sql_text(s, 1, a), sql_text(s, 2, a)};
    }
    return rc;
}

int reader_no_experiment(reader *r, const char *name, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_listed *list;
    size_t n;
    if (!name) return fail(e, "found no experiments; try `ablate run experiments/quick.ini`");
    if (reader_list(r, &a, &list, &n, e)) return -1;
    const char **names = arena_alloc(&a, (n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++) /* recorded ones without their suffix, unless it was typed */
        names[i] = has_suffix(name, DB_RECORDED) ? list[i].name : read_plain_name(list[i].name, &a);
    const char *near = suggestion(name, names, n, "\"");
    if (r->absent && !*near)
        return fail(
            e, "found no experiment \"%s\" among the recorded ones, and no database at %s; `ablate run` creates one",
            name, r->path);
    return fail(e, "found no experiment \"%s\"%s", name, *near ? near : "; `ablate ls` lists the experiments");
}

const char *read_origin(const read_run *run)
{
    return run->foreign ? " (imported)" : run->recorded ? " (recorded)" : "";
}
