/* read_runs.c - reads runs with their results, by row and by id. */
#include "lab/results/read_runs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUN_STATE                                                                                                      \
    "r.id,r.seed,r.status,r.recorded,r.attempt,r.generation,r.step,r.total_steps,r.queued_at,r.started_at,"            \
    "r.ended_at,r.owner,"
#define RUN_COLUMNS                                                                                                    \
    RUN_STATE                                                                                                          \
    "a.error,a.log_path,a.host,a.device,a.git_commit,a.exit_code,a.term_signal,a.parameters,a.flops_step,"             \
    "a.tokens_second,a.peak_memory,a.plugins_json,"                                                                    \
    "(SELECT group_concat(replace(path,rtrim(path,replace(path,'/','')),'')||' '||sha256) FROM artifact"               \
    " WHERE run_id=r.id AND kind='references')"                                                                        \
    " FROM run r LEFT JOIN attempt a ON a.run_id=r.id AND a.n=(SELECT max(n) FROM attempt WHERE run_id=r.id)"
/* Columns for a live view, with a row for each result. The long row of an attempt is read only for its error. */
#define RUN_COLUMNS_BRIEF                                                                                              \
    RUN_STATE                                                                                                          \
    "CASE r.status WHEN 'failed' THEN (SELECT error FROM attempt WHERE run_id=r.id ORDER BY n DESC LIMIT 1) END"       \
    ",x.metric_id,m.name,x.value FROM run r LEFT JOIN result x ON x.run_id=r.id LEFT JOIN metric m ON "                \
    "m.id=x.metric_id"
#define RUN_NEVER_NULL "run.id run.seed run.status run.recorded run.attempt run.generation - - run.queued_at"

const read_result *read_result_of(const read_run *run, const char *metric)
{
    for (size_t i = 0; i < run->n_results; i++)
        if (same(run->results[i].metric, metric)) return &run->results[i];
    return NULL;
}

/* Loads the tags that are fields of a run or of its results. */
static int load_tags(loading *l, read_run *run, read_result *results, err *e)
{
    int rc = 0;
    sqlite3_stmt *s = sql_keep(l->q, e, "SELECT tag,value FROM tag WHERE run_id=?1", "i", run->id);
    while (sql_each(s, "tag.tag", &rc, e)) {
        const char *tag = (const char *)sqlite3_column_text(s, 0);
        if (same(tag, "check_failed")) run->check_failed = sql_text(s, 1, l->a);
        if (same(tag, DB_LOADED)) sql_read(s, l->a, "-j", &run->plugins_loaded);
        if (same(tag, "core_seconds")) run->core_seconds = sql_real(s, 1);
        if (same(tag, "future_seen")) run->future_seen = sql_real(s, 1);
        if (same(tag, "run_seconds")) run->seconds = sql_real(s, 1);
        if (same(tag, DB_LATE)) run->late = true;
        if (same(tag, "model_of_run")) run->model_of_run = true;
        const char *metric = strchr(tag, ' ');
        for (read_result *x = results; metric && x < results + run->n_results; x++) {
            if (!same(x->metric, metric + 1)) continue;
            if (has_prefix(tag, "documents ")) x->counts = sql_text(s, 1, l->a);
            if (has_prefix(tag, DB_STATISTICS " ")) x->left_out = x->bare;
        }
    }
    return rc;
}

static int load_result(const loading *l, sqlite3_stmt *s, read_run *run, read_result *x, err *e)
{
    *x = (read_result){0};
    sql_read(s, l->a, "ssdssI-ssB", &x->metric, &x->how, &x->value, &x->direction, &x->signature, &x->step, &x->unit,
             &x->aggregation, &x->bare);
    if (sqlite3_column_type(s, 6) != SQLITE_NULL &&
        stats_decode(sqlite3_column_blob(s, 6), (size_t)sqlite3_column_bytes(s, 6), l->a, &x->stats, e))
        return fail_in(e, "run %lld, metric \"%s\": ", (long long)run->id, x->metric);
    return 0;
}

/* A run that never started has no results. */
static bool may_have_results(const read_run *run) { return run->attempts || run->recorded; }

static int load_results(loading *l, read_run *run, err *e)
{
    read_result *list = NULL;
    bool some = may_have_results(run);
    size_t cap = 0;
    int rc = 0;
#define RESULTS(STATS)                                                                                                 \
    "SELECT m.name,x.checkpoint,x.value,m.direction,x.signature,x.step," STATS ",x.unit,x.aggregation,x.stats IS NULL" \
    " FROM result x JOIN metric m ON m.id=x.metric_id WHERE x.run_id=?1 ORDER BY x.metric_id"
    const char *sql = l->depth == READ_STATS ? RESULTS("x.stats") : RESULTS("NULL");
#undef RESULTS
    sqlite3_stmt *s = some ? sql_keep(l->q, e, sql, "i", run->id) : NULL;
    while (some && sql_each(s, "metric.name result.checkpoint", &rc, e)) {
        list = grow(list, &cap, run->n_results + 1, sizeof *list);
        rc = load_result(l, s, run, &list[run->n_results++], e);
    }
    rc = rc ? rc : load_tags(l, run, list, e);
    run->results = arena_keep(l->a, list, run->n_results, sizeof *list);
    return rc;
}

/* Loads the columns of RUN_STATE and the error. */
static int load_state(sqlite3_stmt *s, arena *a, read_run *out, err *e)
{
    *out = (read_run){.exit_code = -1, .signal = -1};
    out->parameters = out->flops_step = out->tokens_second = out->peak_memory = NAN;
    out->core_seconds = out->future_seen = NAN;
    sql_read(s, a, "ii-BiiIIdddsl", &out->id, &out->seed, &out->recorded, &out->attempts, &out->generation, &out->step,
             &out->total_steps, &out->queued_at, &out->started_at, &out->ended_at, &out->owner, &out->error);
    out->foreign = sqlite3_column_int(s, 3) == 2;
    out->seconds = out->ended_at >= out->started_at ? out->ended_at - out->started_at : NAN;
    return sql_status(s, 2, &out->status, e);
}

/* Loads a run from a statement that selects RUN_COLUMNS. */
static int load_run(loading *l, sqlite3_stmt *s, read_run *run, err *e)
{
    if (load_state(s, l->a, run, e)) return -1;
    sql_read(s, l->a, "-------------bsssIIddddjs", &run->log_path, &run->host, &run->device, &run->git_commit,
             &run->exit_code, &run->signal, &run->parameters, &run->flops_step, &run->tokens_second, &run->peak_memory,
             &run->plugins_json, &run->references);
    run->log_path = read_own_path(l->folder, run->seed, run->log_path, l->a);
    return load_results(l, run, e);
}

/* Returns the text of column i, with one copy for all runs: there are few metrics and many results. */
static const char *shared_name(loading *l, int i)
{
    const char *text = (const char *)sqlite3_column_text(l->runs, i);
    for (size_t k = 0; k < l->n_names; k++)
        if (same(l->names[k], text)) return l->names[k];
    l->names = grow(l->names, &l->cap, l->n_names + 1, sizeof *l->names);
    return l->names[l->n_names++] = sql_bytes(l->runs, i, l->a);
}

/* Loads a run from its first row of RUN_COLUMNS_BRIEF, or adds a further result to it. */
static int load_brief(loading *l, read_run **list, size_t *cap, read_row *row, err *e)
{
    enum { METRIC_ID = 13, METRIC, VALUE };
    sqlite3_stmt *s = l->runs;
    read_run *run = row->n_runs ? &(*list)[row->n_runs - 1] : NULL;
    if (!run || run->id != sqlite3_column_int64(s, 0)) {
        *list = grow(*list, cap, row->n_runs + 1, sizeof **list);
        run = &(*list)[row->n_runs++];
        if (load_state(s, l->a, run, e)) return -1;
    }
    if (sqlite3_column_type(s, METRIC_ID) == SQLITE_NULL || !may_have_results(run)) return 0;
    if (sql_known(s, METRIC, "metric.name", e)) return -1;
    read_result *results = list_grow(l->a, run->results, run->n_results, sizeof *results);
    results[run->n_results++] =
        (read_result){.metric = shared_name(l, METRIC), .value = sql_real(s, VALUE), .step = -1};
    run->results = results;
    return 0;
}

int loading_runs(loading *l, int64_t variant, read_row *row, err *e)
{
    read_run *list = NULL;
    size_t cap = 0;
    bool brief = l->depth == READ_BRIEF;
    int rc = 0;
#define RUNS(COLUMNS) "SELECT " COLUMNS " WHERE r.variant_id=?1 AND r.archived=0 ORDER BY r.seed"
    l->runs = sql_keep(l->q, e, brief ? RUNS(RUN_COLUMNS_BRIEF) ",x.metric_id" : RUNS(RUN_COLUMNS), "i", variant);
#undef RUNS
    while (sql_each(l->runs, RUN_NEVER_NULL, &rc, e)) {
        if (brief) {
            rc = load_brief(l, &list, &cap, row, e);
            continue;
        }
        list = grow(list, &cap, row->n_runs + 1, sizeof *list);
        rc = load_run(l, l->runs, &list[row->n_runs++], e);
    }
    row->runs = arena_keep(l->a, list, row->n_runs, sizeof *list);
    return rc;
}

/* folder: of runs, if the values are paths of a run with that seed; NULL: the values are texts. */
static int load_pairs(sqlite3 *q, const char *sql, const char *names, const char *folder, const read_run *run, arena *a,
                      const read_pair **out, size_t *n, err *e)
{
    read_pair *list = NULL;
    int rc = 0;
    *n = 0;
    sqlite3_stmt *s = sql_open(q, e, sql, "i", run->id);
    while (sql_each(s, names, &rc, e)) {
        list = list_grow(a, list, *n, sizeof *list);
        list[(*n)++] = (read_pair){sql_text(s, 0, a), folder ? read_own_path(folder, run->seed, sql_bytes(s, 1, a), a)
                                                             : sql_text(s, 1, a)};
    }
    *out = list;
    return rc;
}

/* Loads the last attempt's known columns, by name. */
static int load_fields(sqlite3 *q, arena *a, read_detail *out, err *e)
{
    sqlite3_stmt *s = sql_open(q, e, "SELECT * FROM attempt WHERE run_id=?1 ORDER BY n DESC LIMIT 1", "i", out->run.id);
    int rc = 0;
    while (sql_each(s, "", &rc, e)) {
        int columns = sqlite3_column_count(s);
        read_pair *list = arena_alloc(a, (size_t)columns * sizeof *list);
        for (int i = 1; i < columns; i++)
            if (sqlite3_column_type(s, i) != SQLITE_NULL) {
                const char *name = sqlite3_column_name(s, i);
                bool moved = same(name, "log_path") && !same(sql_bytes(s, i, a), out->run.log_path);
                list[out->n_fields++] =
                    (read_pair){arena_strdup(a, name), moved ? out->run.log_path : sql_lines(s, i, a)};
            }
        out->fields = list;
    }
    return rc;
}

int reader_run(reader *r, int64_t run, arena *a, read_detail *out, err *e)
{
    int64_t attempts = 0;
    *out = (read_detail){0};
    if (recorded_of_run(r, run, &r, e)) return -1;
    sqlite3_stmt *s = sql_open(r->q, e, "SELECT " RUN_COLUMNS " WHERE r.id=?1", "i", run);
    int rc = sql_row(s, RUN_NEVER_NULL, e);
    if (rc == 0) rc = fail(e, "run %lld: not in the database; `ablate ls` lists the experiments", (long long)run);
    loading l = {.q = r->q, .depth = READ_VALUES, .a = a, .folder = r->runs};
    if (rc == 1) rc = load_run(&l, s, &out->run, e);
    sqlite3_finalize(s);
    if (rc) return -1;
    s = sql_open(r->q, e,
                 "SELECT x.name,v.name,v.config_json FROM run r JOIN variant v ON v.id=r.variant_id JOIN "
                 "experiment x ON x.id=v.experiment_id WHERE r.id=?1",
                 "i", run);
    while (sql_each(s, "experiment.name variant.name variant.config_json", &rc, e))
        sql_read(s, a, "ssj", &out->experiment, &out->row, &out->config_json);
    if (rc || sql_int(r->q, e, &attempts, "SELECT count(*) FROM attempt WHERE run_id=?1", "i", run) < 0) return -1;
    out->n_attempts = (size_t)attempts;
    if (load_fields(r->q, a, out, e) ||
        load_pairs(r->q, "SELECT kind,path FROM artifact WHERE run_id=?1 ORDER BY kind,path",
                   "artifact.kind artifact.path", r->runs, &out->run, a, &out->artifacts, &out->n_artifacts, e) ||
        load_pairs(r->q, "SELECT tag,value FROM tag WHERE run_id=?1 AND tag<>'" DB_LOADED "' ORDER BY tag", "tag.tag",
                   NULL, &out->run, a, &out->tags, &out->n_tags, e))
        return -1;
    return 0;
}
