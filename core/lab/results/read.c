/* read.c - experiments with their rows, runs and results. */
#include "lab/results/internal.h"
#include <stdlib.h>
#include <string.h>

#define RUN_STATE                                                                                                      \
    "r.id,r.seed,r.status,r.recorded,r.attempt,r.generation,r.step,r.total_steps,r.queued_at,r.started_at,"            \
    "r.ended_at,r.owner,"
#define RUN_COLUMNS                                                                                                    \
    RUN_STATE                                                                                                          \
    "a.error,a.log_path,a.host,a.device,a.git_commit,a.exit_code,a.term_signal,a.parameters,a.flops_step,"             \
    "a.tokens_second,a.peak_memory,a.plugins_json,"                                                                    \
    "(SELECT value FROM tag WHERE run_id=r.id AND tag='check_failed'),"                                                \
    "(SELECT group_concat(replace(path,rtrim(path,replace(path,'/','')),'')||' '||sha256) FROM artifact"               \
    " WHERE run_id=r.id AND kind='references')"                                                                        \
    ",(SELECT value FROM tag WHERE run_id=r.id AND tag='" DB_LOADED "')"                                               \
    ",(SELECT CAST(value AS REAL) FROM tag WHERE run_id=r.id AND tag='core_seconds')"                                  \
    ",(SELECT CAST(value AS REAL) FROM tag WHERE run_id=r.id AND tag='future_seen')"                                   \
    " FROM run r LEFT JOIN attempt a ON a.run_id=r.id AND a.n=(SELECT max(n) FROM attempt WHERE run_id=r.id)"
/* What a live view shows: an attempt's row, which is long, is read only for its error. */
#define RUN_COLUMNS_BRIEF                                                                                              \
    RUN_STATE                                                                                                          \
    "CASE r.status WHEN 'failed' THEN (SELECT error FROM attempt WHERE run_id=r.id ORDER BY n DESC LIMIT 1) END,"      \
    "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL FROM run r"

/* What a load reads from and to, with its statements, each made once for all rows and runs. */
typedef struct {
    sqlite3 *q;
    enum read_depth depth;
    arena *a;
    sqlite3_stmt *runs, *results;
} loading;

static void loading_end(loading *l)
{
    sqlite3_finalize(l->runs);
    sqlite3_finalize(l->results);
}

/* Again from the start, for another id. */
static int again(loading *l, sqlite3_stmt *s, int64_t id, err *e)
{
    sqlite3_reset(s);
    return sqlite3_bind_int64(s, 1, id) == SQLITE_OK ? 0 : sql_fail(l->q, e, "binding a statement");
}

static int load_result(const loading *l, read_run *run, read_result *x, err *e)
{
    sqlite3_stmt *s = l->results;
    arena *a = l->a;
    *x = (read_result){.metric = sql_text(s, 0, a),
                       .direction = sql_text(s, 1, a),
                       .signature = sql_text(s, 2, a),
                       .how = sql_text(s, 3, a),
                       .value = sql_real(s, 4),
                       .step = sql_whole(s, 5),
                       .unit = sql_text(s, 7, a),
                       .aggregation = sql_text(s, 8, a),
                       .counts = sql_text(s, 9, a)};
    if (sqlite3_column_type(s, 6) != SQLITE_NULL &&
        stats_decode(sqlite3_column_blob(s, 6), (size_t)sqlite3_column_bytes(s, 6), a, &x->stats, e))
        return fail_in(e, "run %lld, metric \"%s\": ", (long long)run->id, x->metric);
    return 0;
}

static int load_results(loading *l, read_run *run, err *e)
{
    read_result *list = NULL;
    size_t cap = 0;
    int rc = 0;
    if (!l->results) {
#define RESULTS(STATS, COUNTS)                                                                                         \
    "SELECT m.name,m.direction,x.signature,x.checkpoint,x.value,x.step," STATS ",x.unit,x.aggregation," COUNTS         \
    " FROM result x JOIN metric m ON m.id=x.metric_id WHERE x.run_id=?1 ORDER BY x.metric_id"
#define COUNTS "(SELECT value FROM tag t WHERE t.run_id=x.run_id AND t.tag='documents '||m.name)"
        l->results = sql_open(l->q, e,
                              l->depth == READ_STATS    ? RESULTS("x.stats", COUNTS)
                              : l->depth == READ_VALUES ? RESULTS("NULL", COUNTS)
                                                        : RESULTS("NULL", "NULL"),
                              "i", run->id);
#undef COUNTS
#undef RESULTS
        if (!l->results) return -1;
    } else if (again(l, l->results, run->id, e)) {
        return -1;
    }
    while (!rc && (rc = sql_next(l->results, e)) == 1) {
        list = grow(list, &cap, run->n_results + 1, sizeof *list);
        rc = load_result(l, run, &list[run->n_results++], e);
    }
    read_result *kept = arena_alloc(l->a, (run->n_results + 1) * sizeof *kept);
    if (run->n_results) memcpy(kept, list, run->n_results * sizeof *kept);
    free(list);
    run->results = kept;
    return rc;
}

/* A run from a statement that selects RUN_COLUMNS. */
static int load_run(loading *l, sqlite3_stmt *s, read_run *run, err *e)
{
    arena *a = l->a;
    *run = (read_run){.id = sqlite3_column_int64(s, 0),
                      .seed = sqlite3_column_int64(s, 1),
                      .recorded = sqlite3_column_int(s, 3) > 0,
                      .foreign = sqlite3_column_int(s, 3) == 2,
                      .attempts = sqlite3_column_int64(s, 4),
                      .generation = sqlite3_column_int64(s, 5),
                      .step = sql_whole(s, 6),
                      .total_steps = sql_whole(s, 7),
                      .queued_at = sql_real(s, 8),
                      .started_at = sql_real(s, 9),
                      .ended_at = sql_real(s, 10),
                      .owner = sql_text(s, 11, a),
                      .error = sql_lines(s, 12, a),
                      .log_path = sql_bytes(s, 13, a),
                      .host = sql_text(s, 14, a),
                      .device = sql_text(s, 15, a),
                      .git_commit = sql_text(s, 16, a),
                      .exit_code = sql_whole(s, 17),
                      .signal = sql_whole(s, 18),
                      .parameters = sql_real(s, 19),
                      .flops_step = sql_real(s, 20),
                      .tokens_second = sql_real(s, 21),
                      .peak_memory = sql_real(s, 22),
                      .plugins_json = sql_json(s, 23, a),
                      .check_failed = sql_text(s, 24, a),
                      .references = sql_text(s, 25, a),
                      .plugins_loaded = sql_json(s, 26, a),
                      .core_seconds = sql_real(s, 27),
                      .future_seen = sql_real(s, 28)};
    status_parse((const char *)sqlite3_column_text(s, 2), &run->status);
    return run->attempts || run->recorded ? load_results(l, run, e) : 0; /* one that never began has none */
}

static int load_runs(loading *l, int64_t variant, read_row *row, err *e)
{
    read_run *list = NULL;
    size_t cap = 0;
    int rc = 0;
    if (!l->runs) {
#define RUNS(COLUMNS) "SELECT " COLUMNS " WHERE r.variant_id=?1 AND r.archived=0 ORDER BY r.seed"
        l->runs = sql_open(l->q, e, l->depth == READ_BRIEF ? RUNS(RUN_COLUMNS_BRIEF) : RUNS(RUN_COLUMNS), "i", variant);
#undef RUNS
        if (!l->runs) return -1;
    } else if (again(l, l->runs, variant, e)) {
        return -1;
    }
    while (!rc && (rc = sql_next(l->runs, e)) == 1) {
        list = grow(list, &cap, row->n_runs + 1, sizeof *list);
        rc = load_run(l, l->runs, &list[row->n_runs++], e);
    }
    read_run *kept = arena_alloc(l->a, (row->n_runs + 1) * sizeof *kept);
    if (row->n_runs) memcpy(kept, list, row->n_runs * sizeof *kept);
    free(list);
    row->runs = kept;
    return rc;
}

static int load_rows(loading *l, int64_t experiment, read_experiment *out, err *e)
{
    sqlite3 *q = l->q;
    arena *a = l->a;
    int64_t n = 0;
    if (sql_int(q, e, &n, "SELECT count(*) FROM table_row WHERE experiment_id=?1", "i", experiment) < 0) return -1;
    read_row *rows = arena_alloc(a, (size_t)(n ? n : 1) * sizeof *rows);
    int64_t *variants = arena_alloc(a, (size_t)(n ? n : 1) * sizeof *variants);
    sqlite3_stmt *s = sql_open(
        q, e,
        "SELECT t.group_name,t.name,t.change,t.same_as,t.paper_row,t.not_applicable,v.config_json,t.is_base,"
        "v.id,v.config_hash,v.exploratory,(SELECT count(*) FROM variant q WHERE q.experiment_id=v.experiment_id AND "
        "q.is_base=0 AND q.not_applicable IS NULL AND q.id<=v.id AND v.is_base=0) FROM table_row t JOIN variant v ON "
        "v.id=t.variant_id WHERE t.experiment_id=?1"
        " ORDER BY t.place,t.name",
        "i", experiment);
    int rc = s ? 0 : -1;
    while (!rc && out->n_rows < (size_t)n && (rc = sql_next(s, e)) == 1) {
        size_t i = out->n_rows++;
        rows[i] = (read_row){.group = sql_text(s, 0, a),
                             .name = sql_text(s, 1, a),
                             .change = sql_text(s, 2, a),
                             .same_as = sql_text(s, 3, a),
                             .paper_row = sql_text(s, 4, a),
                             .not_applicable = sql_text(s, 5, a),
                             .config_json = sql_json(s, 6, a),
                             .config_hash = sql_text(s, 9, a),
                             .is_base = sqlite3_column_int(s, 7),
                             .exploratory = sqlite3_column_int(s, 10),
                             .place = (size_t)sqlite3_column_int64(s, 11)};
        variants[i] = sqlite3_column_int64(s, 8);
        size_t first = 0;
        while (variants[first] != variants[i]) first++;
        rc = 0;
        if (first < i)
            rows[i].runs = rows[first].runs, rows[i].n_runs = rows[first].n_runs;
        else
            rc = load_runs(l, variants[i], &rows[i], e);
    }
    sqlite3_finalize(s);
    out->rows = rows;
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

/* Those of which a run has a result, in the order in which the database met them. */
static int load_metrics(sqlite3 *q, arena *a, read_experiment *out, err *e)
{
    const char **names = NULL;
    size_t cap = 0;
    sqlite3_stmt *s = sql_open(q, e, "SELECT name FROM metric ORDER BY id", "");
    int rc = s ? 0 : -1;
    while (!rc && (rc = sql_next(s, e)) == 1) {
        rc = 0;
        if (!has_metric(out, (const char *)sqlite3_column_text(s, 0))) continue;
        names = grow(names, &cap, out->n_metrics + 1, sizeof *names);
        names[out->n_metrics++] = sql_text(s, 0, a);
    }
    sqlite3_finalize(s);
    const char **kept = arena_alloc(a, (out->n_metrics + 1) * sizeof *kept);
    if (out->n_metrics) memcpy(kept, names, out->n_metrics * sizeof *kept);
    free(names);
    out->metrics = kept;
    return rc;
}

static int load_experiment(sqlite3 *q, const char *name, enum read_depth depth, arena *a, read_experiment *out, err *e)
{
    int64_t id = 0;
    sqlite3_stmt *s = sql_open(q, e,
                               "SELECT id,name,note,headline,paper_table,created_at,analysis,EXISTS(SELECT 1 FROM "
                               "experiment r WHERE r.name=x.name||?2),view_name"
                               " FROM experiment x WHERE archived=0 AND (name IN(?1,?1||?2) OR ?1 IS NULL) ORDER BY "
                               "name=?1 DESC,name LIKE '%'||?2,"
                               "created_at DESC,id DESC LIMIT 1",
                               "ss", name, DB_RECORDED);
    int rc = s ? sql_next(s, e) : -1;
    if (rc == 1) {
        id = sqlite3_column_int64(s, 0);
        *out = (read_experiment){.name = sql_text(s, 1, a),
                                 .note = sql_text(s, 2, a),
                                 .headline = sql_text(s, 3, a),
                                 .paper_table = sql_text(s, 4, a),
                                 .created_at = sql_real(s, 5),
                                 .analysis = sql_json(s, 6, a),
                                 .has_recorded = sqlite3_column_int(s, 7),
                                 .view = sql_text(s, 8, a)};
    }
    sqlite3_finalize(s);
    if (rc != 1) return rc < 0 ? -1 : 1;
    loading l = {.q = q, .depth = depth, .a = a};
    rc = load_rows(&l, id, out, e) || load_metrics(q, a, out, e) || older_count(q, out->name, &out->older, e) ? -1 : 0;
    loading_end(&l);
    if (!rc && depth == READ_STATS) read_documents(out, a);
    return rc;
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
    size_t cap = 0;
    read_listed *list = NULL;
    *out = NULL, *n = 0;
    sqlite3_stmt *s =
        sql_open(r->q, e,
                 /* the rows of table_row, but that view would be read whole for each experiment */
                 "SELECT x.name,x.note,x.paper_table,x.created_at,"
                 "(SELECT count(*) FROM variant t WHERE t.experiment_id=x.id AND t.archived=0)"
                 "+(SELECT count(*) FROM alias a CROSS JOIN variant t ON t.id=a.variant_id WHERE t.experiment_id=x.id "
                 "AND t.archived=0),count(u.id),sum(u.status='queued'),sum(u.status='running'),"
                 "sum(u.status='done'),sum(u.status='failed'),sum(u.status='killed'),sum(u.status='skipped')"
                 " FROM experiment x LEFT JOIN variant v ON v.experiment_id=x.id AND v.archived=0"
                 " LEFT JOIN run u ON u.variant_id=v.id AND u.archived=0 WHERE x.archived=0 GROUP BY x.id"
                 " ORDER BY x.created_at,x.id",
                 "");
    int rc = s ? 0 : -1;
    while (!rc && (rc = sql_next(s, e)) == 1) {
        list = grow(list, &cap, *n + 1, sizeof *list);
        int64_t count[8];
        for (int i = 0; i < 8; i++) count[i] = sqlite3_column_int64(s, 4 + i);
        list[(*n)++] =
            (read_listed){sql_text(s, 0, a), sql_text(s, 1, a), sql_text(s, 2, a), sql_real(s, 3), count[0], count[1],
                          count[2],          count[3],          count[4],          count[5],       count[6], count[7]};
        rc = 0;
    }
    sqlite3_finalize(s);
    *out = arena_alloc(a, (*n + 1) * sizeof **out);
    if (*n) memcpy(*out, list, *n * sizeof *list);
    free(list);
    return rc;
}

int reader_away(reader *r, arena *a, read_away **out, size_t *n, err *e)
{
    size_t cap = 0;
    read_away *list = NULL;
    *out = NULL, *n = 0;
    sqlite3_stmt *s = sql_open(
        r->q, e,
        "SELECT u.id,x.name,t.slurm_job FROM run u JOIN attempt t ON t.run_id=u.id AND t.n=u.attempt JOIN variant v ON "
        "v.id=u.variant_id JOIN experiment x ON x.id=v.experiment_id WHERE u.status='running' AND u.archived=0 AND "
        "u.owner LIKE 'slurm/%' AND t.slurm_job IS NOT NULL ORDER BY t.slurm_job,u.id",
        "");
    int rc = s ? 0 : -1;
    while (!rc && (rc = sql_next(s, e)) == 1) {
        list = grow(list, &cap, *n + 1, sizeof *list);
        list[(*n)++] = (read_away){sqlite3_column_int64(s, 0), sql_text(s, 1, a), sql_text(s, 2, a)};
        rc = 0;
    }
    sqlite3_finalize(s);
    *out = arena_alloc(a, (*n + 1) * sizeof **out);
    if (*n) memcpy(*out, list, *n * sizeof *list);
    free(list);
    return rc;
}

int reader_no_experiment(reader *r, const char *name, err *e)
{
    arena a = {0};
    read_listed *list;
    size_t n;
    if (!name) return fail(e, "found no experiments; try `ablate run experiments/quick.ini`");
    if (reader_list(r, &a, &list, &n, e)) {
        arena_free(&a);
        return -1;
    }
    const char **names = arena_alloc(&a, (n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++) { /* recorded experiments are found without their ending */
        names[i] = list[i].name;
        if (has_suffix(names[i], DB_RECORDED) && !has_suffix(name, DB_RECORDED))
            names[i] = arena_strndup(&a, names[i], strlen(names[i]) - strlen(DB_RECORDED));
    }
    const char *near = nearest(name, names, n);
    if (r->absent && !near)
        fail(e, "found no experiment \"%s\" among the recorded ones, and no database at %s; `ablate run` creates one",
             name, r->path);
    else
        fail(e, "found no experiment \"%s\"%s%s%s", name,
             near ? "; did you mean \"" : "; `ablate ls` lists the experiments", near ? near : "", near ? "\"?" : "");
    arena_free(&a);
    return -1;
}

static int load_pairs(sqlite3 *q, const char *sql, bool paths, int64_t run, arena *a, const read_pair **out, size_t *n,
                      err *e)
{
    read_pair *list = NULL;
    size_t cap = 0;
    *n = 0;
    sqlite3_stmt *s = sql_open(q, e, sql, "i", run);
    int rc = s ? 0 : -1;
    while (!rc && (rc = sql_next(s, e)) == 1) {
        list = grow(list, &cap, *n + 1, sizeof *list);
        list[(*n)++] = (read_pair){sql_text(s, 0, a), paths ? sql_bytes(s, 1, a) : sql_text(s, 1, a)};
        rc = 0;
    }
    sqlite3_finalize(s);
    read_pair *kept = arena_alloc(a, (*n + 1) * sizeof *kept);
    if (*n) memcpy(kept, list, *n * sizeof *kept);
    free(list);
    *out = kept;
    return rc;
}

/* The last attempt's columns that are known, by name. */
static int load_fields(sqlite3 *q, int64_t run, arena *a, read_detail *out, err *e)
{
    sqlite3_stmt *s = sql_open(q, e, "SELECT * FROM attempt WHERE run_id=?1 ORDER BY n DESC LIMIT 1", "i", run);
    int rc = s ? sql_next(s, e) : -1;
    if (rc == 1) {
        int columns = sqlite3_column_count(s);
        read_pair *list = arena_alloc(a, (size_t)columns * sizeof *list);
        for (int i = 1; i < columns; i++)
            if (sqlite3_column_type(s, i) != SQLITE_NULL)
                list[out->n_fields++] = (read_pair){arena_strdup(a, sqlite3_column_name(s, i)), sql_lines(s, i, a)};
        out->fields = list;
        rc = 0;
    }
    sqlite3_finalize(s);
    return rc;
}

int reader_run(reader *r, int64_t run, arena *a, read_detail *out, err *e)
{
    int64_t attempts = 0;
    *out = (read_detail){0};
    if (recorded_of_run(r, run, &r, e)) return -1;
    sqlite3_stmt *s = sql_open(r->q, e, "SELECT " RUN_COLUMNS " WHERE r.id=?1", "i", run);
    int rc = s ? sql_next(s, e) : -1;
    if (rc == 0) rc = fail(e, "run %lld: not in the database; `ablate ls` lists the experiments", (long long)run);
    loading l = {.q = r->q, .depth = READ_VALUES, .a = a};
    if (rc == 1) rc = load_run(&l, s, &out->run, e);
    loading_end(&l);
    sqlite3_finalize(s);
    if (rc) return -1;
    s = sql_open(r->q, e,
                 "SELECT x.name,v.name,v.config_json FROM run r JOIN variant v ON v.id=r.variant_id JOIN "
                 "experiment x ON"
                 " x.id=v.experiment_id WHERE r.id=?1",
                 "i", run);
    rc = s ? sql_next(s, e) : -1;
    if (rc == 1) {
        out->experiment = sql_text(s, 0, a);
        out->row = sql_text(s, 1, a);
        out->config_json = sql_json(s, 2, a);
        rc = 0;
    }
    sqlite3_finalize(s);
    if (rc || sql_int(r->q, e, &attempts, "SELECT count(*) FROM attempt WHERE run_id=?1", "i", run) < 0) return -1;
    out->n_attempts = (size_t)attempts;
    if (load_fields(r->q, run, a, out, e) ||
        load_pairs(r->q, "SELECT kind,path FROM artifact WHERE run_id=?1 ORDER BY kind,path", true, run, a,
                   &out->artifacts, &out->n_artifacts, e) ||
        load_pairs(r->q, "SELECT tag,value FROM tag WHERE run_id=?1 AND tag<>'" DB_LOADED "' ORDER BY tag", false, run,
                   a, &out->tags, &out->n_tags, e))
        return -1;
    return 0;
}

const char *read_origin(const read_run *run)
{
    return run->foreign ? " (imported)" : run->recorded ? " (recorded)" : "";
}
