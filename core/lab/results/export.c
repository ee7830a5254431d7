/* export.c - writes an experiment as JSON text: one line per row, result and curve, for readable git diffs. */
#include "lab/results/columns.h"
#include "lab/results/internal.h"
#include <string.h>

/* Appends a column as a member of an object. A NULL column is left out, and false returned, unless `always`. */
static bool field(str *out, sqlite3_stmt *s, int column, bool always)
{
    if (sqlite3_column_type(s, column) == SQLITE_NULL && !always) return false;
    json_key(out, sqlite3_column_name(s, column));
    sql_add_json(out, s, column);
    return true;
}

/* Appends the columns [from, to) of a row as members of an object. */
static void fields(str *out, sqlite3_stmt *s, int from, int to)
{
    for (int i = from; i < to; i++) field(out, s, i, false);
}

static int export_experiment(sqlite3 *q, const char *name, str *out, int64_t *id, err *e)
{
    sqlite3_stmt *s = sql_open(q, e,
                               "SELECT id,CASE WHEN name LIKE '%'||?2 THEN substr(name,1,length(name)-length(?2)) ELSE "
                               "name END name,note,headline,paper_table,created_at,argv,spec_ini,analysis FROM "
                               "experiment WHERE name=?1 OR name=?1||?2 ORDER BY name=?1 DESC LIMIT 1",
                               "ss", name, DB_RECORDED);
    int rc =
        sql_row(s, "experiment.id experiment.name - - - experiment.created_at experiment.argv experiment.spec_ini", e);
    if (rc == 1) {
        *id = sqlite3_column_int64(s, 0);
        str_add(out, "\"experiment\":{");
        for (int i = 1; i < 9; i++)
            if (field(out, s, i, false)) str_add(out, "\n");
        str_add(out, "},\n");
        rc = 0;
    } else if (rc == 0) {
        rc = fail(e, "experiment \"%s\": not in the database; `ablate ls` lists the experiments", name);
    }
    sqlite3_finalize(s);
    return rc;
}

static int write_list(sqlite3 *q, str *out, const char *sql, const char *names, int64_t id, err *e)
{
    sqlite3_stmt *s = sql_open(q, e, sql, "i", id);
    int rc = 0, n = 0;
    while (sql_each(s, names, &rc, e)) {
        str_add(out, n++ ? ",{" : "{");
        fields(out, s, 0, sqlite3_column_count(s));
        str_add(out, "}");
    }
    return rc;
}

static int write_variants(sqlite3 *q, int64_t experiment, str *out, err *e)
{
    static const char names[] = "variant.id variant.config_json variant.config_hash variant.group_name variant.place "
                                "variant.name variant.change variant.is_base";
    sqlite3_stmt *s = sql_open(
        q, e,
        "SELECT id,config_json,config_hash hash,group_name,place,name,change,is_base,paper_row,not_applicable,(SELECT "
        "group_concat(key,' ') FROM (SELECT key FROM param WHERE variant_id=v.id AND is_swept=1 ORDER BY key)) "
        "swept,nullif(exploratory,0) exploratory FROM variant v WHERE experiment_id=?1 AND archived=0 ORDER BY place",
        "i", experiment);
    int rc = 0, n = 0;
    str_add(out, "\"variants\":[\n");
    while (sql_each(s, names, &rc, e)) {
        str_add(out, n++ ? ",\n{" : "{");
        fields(out, s, 2, 12);
        str_add(out, ",\n\"aliases\":[");
        rc = write_list(q, out,
                        "SELECT name,group_name,place,change,paper_row FROM alias WHERE variant_id=?1 ORDER BY place",
                        "alias.name alias.group_name alias.place alias.change", sqlite3_column_int64(s, 0), e);
        str_addf(out, "],\n\"config\":%s}", (const char *)sqlite3_column_text(s, 1));
    }
    str_add(out, "],\n");
    return rc;
}

#define DOCUMENTS "(SELECT value FROM tag WHERE run_id=x.run_id AND tag='documents '||m.name)" /* SQL, of result x */
/* SQL: did the record from which the run of result x was imported leave out the statistics of metric m? */
#define LEFT_OUT_BEFORE                                                                                                \
    "EXISTS(SELECT 1 FROM tag t WHERE t.run_id=x.run_id AND t.tag='" DB_STATISTICS                                     \
    " '||m.name AND t.value='" DB_LEFT_OUT "')"

typedef struct {
    const db_export_options *how;
    const char *by_document; /* metrics to sum by document */
    columns columns;
} exported;

/* Reads the statistics to write for a run's results, by document where the tests are; {0} for a result without. */
static int read_kept_stats(sqlite3 *q, int64_t run, const exported *x, arena *a, db_stats **out, size_t *n, err *e)
{
    sqlite3_stmt *s = sql_open(
        q, e,
        "SELECT x.stats,?2 IS NULL OR instr(','||?2||',',','||m.name||',')," DOCUMENTS ",instr(', '||?3||"
        "',',', '||m.name||',') FROM result x JOIN metric m ON m.id=x.metric_id WHERE x.run_id=?1 ORDER BY m.id",
        "iss", run, x->how->statistics, x->by_document);
    int rc = 0;
    for (; sql_each(s, "", &rc, e); ++*n) {
        *out = list_grow(a, *out, *n, sizeof **out);
        if (sqlite3_column_type(s, 0) != SQLITE_NULL && sqlite3_column_int(s, 1))
            rc = stats_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), a, &(*out)[*n], e);
        if (!rc && (*out)[*n].n && sqlite3_column_int(s, 3))
            stats_by_document(&(*out)[*n], (const char *)sqlite3_column_text(s, 2), a);
    }
    return rc;
}

static int write_results(sqlite3 *q, int64_t run, exported *x, str *out, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    db_stats *stats = NULL;
    AUTOFREE size_t *number = NULL;
    size_t n_stats = 0, n = 0;
    int rc = read_kept_stats(q, run, x, &a, &stats, &n_stats, e);
    if (!rc) columns_add(&x->columns, stats, n_stats, &number);
    const size_t *next = number;
    sqlite3_stmt *s = rc ? NULL
                         : sql_open(q, e,
                                    "SELECT x.stats IS NOT NULL OR " LEFT_OUT_BEFORE ",m.name "
                                    "metric,m.direction,x.unit,x.aggregation,x.step,x.checkpoint,x.signature,x.value "
                                    "FROM result x JOIN metric m ON m.id=x.metric_id WHERE x.run_id=?1 ORDER BY m.id",
                                    "i", run);
    str_add(out, ",\n\"results\":[");
    for (; sql_each(s, "- metric.name - - - - result.checkpoint", &rc, e); n++) {
        str_add(out, n ? ",\n{" : "\n{");
        fields(out, s, 1, 8);
        field(out, s, 8, true);
        for (size_t i = 0; i < stats[n].width; i++) str_addf(out, "%s%zu", i ? "," : ",\"stats\":[", *next++);
        str_add(out, stats[n].width ? "]}" : sqlite3_column_int(s, 0) ? ",\"stats\":\"" DB_LEFT_OUT "\"}" : "}");
    }
    str_add(out, "]");
    return rc;
}

/* Writes one curve with at most `keep` evenly spaced points, including the first and the last. */
static int write_curve(sqlite3 *q, int64_t run, int64_t metric, size_t keep, str *out, err *e)
{
    int64_t total = 0, i = 0;
    if (sql_int(q, e, &total, "SELECT count(*) FROM point WHERE run_id=?1 AND metric_id=?2", "ii", run, metric) < 0)
        return -1;
    sqlite3_stmt *s = sql_open(q, e, "SELECT step,value FROM point WHERE run_id=?1 AND metric_id=?2 ORDER BY step",
                               "ii", run, metric);
    int rc = 0;
    int64_t kept = 0, want = keep < (size_t)total ? (int64_t)keep : total;
    while (sql_each(s, "", &rc, e)) {
        int64_t next = want > 1 ? kept * (total - 1) / (want - 1) : total - 1;
        if (i++ != next) continue;
        str_addf(out, "%s[%lld,", kept++ ? "," : "", (long long)sqlite3_column_int64(s, 0));
        json_number(out, sql_real(s, 1));
        str_addc(out, ']');
    }
    return rc;
}

static int write_curves(sqlite3 *q, int64_t run, size_t keep, str *out, err *e)
{
    str_add(out, ",\n\"curves\":[");
    if (!keep) return str_addc(out, ']'), 0;
    sqlite3_stmt *s = sql_open(q, e,
                               "SELECT DISTINCT m.id,m.name FROM point p JOIN metric m ON m.id=p.metric_id WHERE"
                               " p.run_id=?1 ORDER BY m.id",
                               "i", run);
    int rc = 0, n = 0;
    while (sql_each(s, "metric.id metric.name", &rc, e)) {
        str_add(out, n++ ? ",\n{" : "\n{");
        json_key_text(out, "metric", (const char *)sqlite3_column_text(s, 1));
        json_open(out, "points", '[');
        rc = write_curve(q, run, sqlite3_column_int64(s, 0), keep, out, e);
        str_add(out, "]}");
    }
    str_add(out, "]");
    return rc;
}

static int export_runs(sqlite3 *q, int64_t experiment, exported *x, str *out, err *e)
{
    sqlite3_stmt *s = sql_open(q, e,
                               "SELECT r.id,v.config_hash hash,r.seed,r.status,r.step,r.total_steps,r.queued_at,"
                               "r.started_at,r.ended_at FROM run r JOIN variant v ON v.id=r.variant_id WHERE"
                               " v.experiment_id=?1 AND v.archived=0 AND r.archived=0 AND r.status IN('done','failed',"
                               "'skipped') ORDER BY v.place,r.seed",
                               "i", experiment);
    int rc = 0, n = 0;
    str_add(out, "\"runs\":[\n");
    while (sql_each(s, "run.id variant.config_hash run.seed run.status - - run.queued_at", &rc, e)) {
        int64_t run = sqlite3_column_int64(s, 0);
        str_add(out, n++ ? ",\n{" : "{");
        fields(out, s, 1, 9);
        str_add(out, ",\n\"attempts\":[");
        rc = write_list(
            q, out,
            "SELECT n,host,device,pid,slurm_job,git_commit,git_dirty,diff_sha256,build_json,plugins_json,argv,"
            "parameters,flops_step,tokens_second,peak_memory,started_at,ended_at,exit_code,term_signal,error FROM "
            "attempt WHERE run_id=?1 ORDER BY n DESC LIMIT 1",
            "attempt.n", run, e);
        str_add(out, "],\n\"tags\":[");
        if (!rc)
            rc = write_list(q, out,
                            "SELECT tag,value FROM tag WHERE run_id=?1 AND tag<>'" DB_LOADED
                            "' AND NOT(tag LIKE '" DB_STATISTICS " %' AND value='" DB_LEFT_OUT "') ORDER BY tag",
                            "tag.tag", run, e);
        str_add(out, "]");
        if (!rc) rc = write_results(q, run, x, out, e);
        if (!rc) rc = write_curves(q, run, x->how->points, out, e);
        str_add(out, "}");
    }
    str_addf(out, "],\n\"columns\":[%s\n]\n", str_text(&x->columns.text));
    return rc;
}

static int write_trials(sqlite3 *q, int64_t experiment, str *out, err *e)
{
    str_add(out, "\"trials\":[");
    int rc = write_list(q, out,
                        "SELECT row,rung,n,settings,seed,steps,metric,value,seconds,flops,outcome FROM trial WHERE "
                        "experiment_id=?1 ORDER BY row,rung,n,seed",
                        "trial.row trial.rung trial.n trial.settings trial.seed - trial.metric - - - trial.outcome",
                        experiment, e);
    str_add(out, "],\n");
    return rc;
}

#define OF_RUNS       " FROM run r JOIN variant v ON v.id=r.variant_id"
#define RECORDED_RUNS " v.experiment_id=?1 AND v.archived=0 AND r.archived=0 AND r.status IN('done','failed','skipped')"
#define WITH_STATISTICS                                                                                                \
    OF_RUNS " JOIN result x ON x.run_id=r.id JOIN metric m ON m.id=x.metric_id WHERE" RECORDED_RUNS " AND "
enum { STATISTICS_LEFT_OUT, STATISTICS_ALL, STATISTICS_BY_DOCUMENT };
/* Lists metrics as "PPL, BLEU". By document: those whose runs all have the same documents, as in documents.c. */
static int list_metrics(sqlite3 *q, int64_t experiment, const char *keep, int which, str *out, err *e)
{
    sqlite3_stmt *s =
        sql_open(q, e,
                 "SELECT m.id,m.name" WITH_STATISTICS
                 "CASE WHEN ?3 THEN x.stats IS NOT NULL ELSE(x.stats IS NOT NULL AND NOT(?2 IS NULL OR "
                 "instr(','||?2||',',','||m.name||',')))OR(x.stats IS NULL AND " LEFT_OUT_BEFORE ")END GROUP BY m.id "
                 "HAVING ?3<2 OR(count(" DOCUMENTS ")=count(*) AND count(DISTINCT " DOCUMENTS ")=1)ORDER BY m.id",
                 "isi", experiment, keep, (int64_t)which);
    int rc = 0;
    while (sql_each(s, "metric.id metric.name", &rc, e))
        str_addf(out, "%s%s", out->n ? ", " : "", (const char *)sqlite3_column_text(s, 1));
    return rc;
}

/* Writes the names of all metrics in the database's order, which is the order of a table's columns, so that an import
 * keeps it whichever run comes first. */
static int write_metrics(sqlite3 *q, int64_t experiment, bool curves, str *out, err *e)
{
    sqlite3_stmt *s = sql_open(
        q, e,
        "SELECT m.name FROM metric m WHERE EXISTS(SELECT 1" OF_RUNS
        " JOIN result x ON x.run_id=r.id WHERE x.metric_id=m.id AND" RECORDED_RUNS ")OR(?2 AND EXISTS(SELECT 1" OF_RUNS
        " JOIN point p ON p.run_id=r.id WHERE p.metric_id=m.id AND" RECORDED_RUNS "))ORDER BY m.id",
        "ii", experiment, (int64_t)curves);
    int rc = 0, n = 0;
    str_add(out, "\"metrics\":[");
    while (sql_each(s, "metric.name", &rc, e)) {
        str_add(out, n++ ? "," : "");
        json_string(out, (const char *)sqlite3_column_text(s, 0));
    }
    str_add(out, "],\n");
    return rc;
}

/* Checks that each metric to keep has statistics. */
static int check_metrics(sqlite3 *q, int64_t experiment, const char *keep, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(str_free) str known = {0};
    int rc = keep ? list_metrics(q, experiment, NULL, STATISTICS_ALL, &known, e) : 0;
    for (const char *at = keep; at && *at && !rc; at += strcspn(at, ","), at += *at == ',') {
        const char *name = arena_strndup(&a, at, strcspn(at, ",")), *is = arena_printf(&a, ", %s,", name),
                   *in = arena_printf(&a, ", %s,", str_text(&known));
        if (!*name || !strstr(in, is))
            rc = fail(e, "--statistics: found \"%s\", expected metrics that have statistics: %s", name,
                      known.n ? known.s : "there are none");
    }
    return rc;
}

int db_export(db *d, const char *experiment, str *out, const db_export_options *o, err *e)
{
    CLEANUP(str_free) str left_out = {0}, by_document = {0};
    exported x = {.how = o};
    int64_t id = 0;
    if (tx_begin(d, false, e)) return -1; /* one consistent view of all tables */
    str_add(out, "{\"ablate_export\":2,\n");
    int rc = export_experiment(d->q, experiment, out, &id, e);
    if (!rc) rc = check_metrics(d->q, id, o->statistics, e);
    if (!rc) rc = list_metrics(d->q, id, o->statistics, STATISTICS_LEFT_OUT, &left_out, e);
    if (!rc) rc = list_metrics(d->q, id, NULL, STATISTICS_BY_DOCUMENT, &by_document, e);
    x.by_document = str_text(&by_document);
    if (left_out.n) {
        str_add(out, "\"statistics_left_out\":");
        json_string(out, left_out.s);
        str_add(out, ",\n");
    }
    if (!rc) rc = write_metrics(d->q, id, o->points, out, e);
    if (!rc) rc = write_variants(d->q, id, out, e);
    if (!rc) rc = write_trials(d->q, id, out, e);
    if (!rc) rc = export_runs(d->q, id, &x, out, e);
    str_add(out, "}\n");
    rc = tx_end(d, rc, e);
    if (!rc && o->left_out) str_add(o->left_out, str_text(&left_out));
    columns_free(&x.columns);
    return rc;
}
