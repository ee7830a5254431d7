/* write.c - writes a run's output: points, results, artifacts, tags, provenance. Every write is fenced by its claim. */
#include "lab/results/internal.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

int64_t metric_id(sqlite3 *q, const char *name, const char *direction, err *e)
{
    int64_t id = -1;
    int rc = sql_int(q, e, &id, "SELECT id FROM metric WHERE name=?1 AND (?2 IS NULL OR direction=?2)", "ss", name,
                     direction);
    if (rc == 0)
        rc = sql_int(q, e, &id,
                     "INSERT INTO metric(name,direction) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET "
                     "direction=coalesce(?2,direction) RETURNING id",
                     "ss", name, direction);
    return rc == 1 ? id : fail_in(e, "metric \"%s\": ", name);
}

static int insert_points(db *d, int64_t run, const db_point *points, size_t n, err *e)
{
    int64_t created = 0;
    int rc = sql_int(d->q, e, &created, "SELECT " CREATED_OF("?1"), "i", run) < 0 ? -1 : 0;
    /* the run trains: it could not use the other's model */
    if (!rc) rc = sql_do(d->q, e, "DELETE FROM tag WHERE run_id=?1 AND tag='model_of_run'", "i", run);
    /* SQLite stores a whole number of this size in 2 or 3 bytes */
    double seconds = floor(d->ticks_from + ticks()) - (double)created;
    sqlite3_stmt *s = sql_keep(
        d->q, e, "INSERT OR REPLACE INTO point(run_id,metric_id,step,value,seconds) VALUES(?1,?2,?3,?4,?5)", "");
    if (!s) return -1;
    const char *last = NULL;
    int64_t id = -1;
    for (size_t i = 0; i < n && !rc; i++) {
        if (!same(points[i].metric, last)) id = metric_id(d->q, last = points[i].metric, NULL, e);
        sqlite3_bind_int64(s, 1, run);
        sqlite3_bind_int64(s, 2, id);
        sqlite3_bind_int64(s, 3, points[i].step);
        if (isfinite(points[i].value))
            sqlite3_bind_double(s, 4, points[i].value);
        else
            sqlite3_bind_null(s, 4);
        sqlite3_bind_double(s, 5, seconds);
        rc = id < 0 ? -1 : sql_next(s, e);
        sqlite3_reset(s);
    }
    sql_rest(s);
    return rc;
}

int db_points(db *d, const db_claim *c, const db_point *points, size_t n, err *e)
{
    if (!n) return 0;
    return claim_begin(d, c, false, e) ? -1 : tx_end(d, insert_points(d, c->run, points, n, e), e);
}

static int check_direction(const db_result *r, err *e)
{
    if (!r->direction || same(r->direction, "min") || same(r->direction, "max")) return 0;
    return fail(e, "metric \"%s\": found direction \"%s\", expected min or max", r->metric, r->direction);
}

static int insert_result(db *d, int64_t run, const db_result *r, err *e)
{
    CLEANUP(str_free) str stats = {0};
    if (r->stats.n) stats_encode(&r->stats, &stats);
    int64_t id = metric_id(d->q, r->metric, r->direction, e);
    if (id < 0) return -1;
    return sql_do(d->q, e,
                  "INSERT OR REPLACE INTO result(run_id,metric_id,value,step,checkpoint,signature,stats,unit,"
                  "aggregation) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
                  "iidIssbss", run, id, r->value, r->step, r->how ? r->how : "final", r->signature,
                  (const void *)stats.s, stats.n, r->unit, r->aggregation);
}

int db_put_result(db *d, const db_claim *c, const db_result *r, err *e)
{
    if (check_direction(r, e) || claim_begin(d, c, true, e)) return -1;
    return tx_end(d, insert_result(d, c->run, r, e), e);
}

int db_put_beside(db *d, int64_t run, const db_result *results, size_t n_results, const db_point *points,
                  size_t n_points, err *e)
{
    for (size_t i = 0; i < n_results; i++)
        if (check_direction(&results[i], e)) return -1;
    if (tx_begin(d, true, e)) return -1;
    int64_t done = 0;
    int rc = sql_int(d->q, e, &done, "SELECT count(*) FROM run WHERE id=?1 AND status='done'", "i", run) < 0 ? -1 : 0;
    if (!rc && !done) rc = fail(e, "run %lld is not done", (long long)run);
    for (size_t i = 0; i < n_results && !rc; i++) rc = insert_result(d, run, &results[i], e);
    if (!rc && n_points) rc = insert_points(d, run, points, n_points, e);
    if (!rc && n_results) rc = run_show_metrics(d, run, e);
    return tx_end(d, rc, e);
}

int db_put_artifact(db *d, const db_claim *c, const char *kind, const char *path, err *e)
{
    struct stat st;
    char sha[65];
    if (stat(path, &st)) return fail(e, "%s: found no such file to record as the run's %s", path, kind);
    if (sha256_file(path, sha, e) || claim_begin(d, c, true, e)) return -1;
    int rc = sql_do(d->q, e, "INSERT OR REPLACE INTO artifact(run_id,kind,path,bytes,sha256) VALUES(?1,?2,?3,?4,?5)",
                    "issis", c->run, kind, path, (int64_t)st.st_size, sha);
    return tx_end(d, rc, e);
}

static int write_tag(db *d, int64_t run, const char *tag, const char *value, err *e)
{
    return sql_do(d->q, e, "INSERT OR REPLACE INTO tag(run_id,tag,value) VALUES(?1,?2,?3)", "iss", run, tag, value);
}

int db_put_tag(db *d, const db_claim *c, const char *tag, const char *value, err *e)
{
    return claim_begin(d, c, true, e) ? -1 : tx_end(d, write_tag(d, c->run, tag, value, e), e);
}

int db_tag_run(db *d, int64_t run, const char *tag, const char *value, err *e)
{
    if (tx_begin(d, true, e)) return -1;
    int rc = value ? write_tag(d, run, tag, value, e)
                   : sql_do(d->q, e, "DELETE FROM tag WHERE run_id=?1 AND tag=?2", "is", run, tag);
    return tx_end(d, rc, e);
}

int db_attempt(db *d, const db_claim *c, const db_provenance *p, err *e)
{
    char sha[65];
    if (p->diff) sha256_of(p->diff, strlen(p->diff), sha);
    if (claim_begin(d, c, true, e)) return -1;
    int rc = 0;
    if (p->diff)
        rc = sql_do(d->q, e, "INSERT OR IGNORE INTO blob(sha256,data) VALUES(?1,?2)", "sb", sha, (const void *)p->diff,
                    strlen(p->diff));
    if (!rc)
        rc = sql_do(
            d->q, e,
            "UPDATE attempt SET host=coalesce(?3,host),device=coalesce(?4,device),pid=coalesce(?5,pid),"
            "slurm_job=coalesce(?6,slurm_job),git_commit=coalesce(?7,git_commit),git_dirty=coalesce(?8,git_dirty),"
            "diff_sha256=coalesce(?9,diff_sha256),build_json=coalesce(?10,build_json),plugins_json=coalesce(?11,"
            "plugins_json),argv=coalesce(?12,argv),log_path=coalesce(?13,log_path),parameters=coalesce(?14,parameters),"
            "flops_step=coalesce(?15,flops_step),tokens_second=coalesce(?16,tokens_second),peak_memory=coalesce(?17,"
            "peak_memory) WHERE run_id=?1 AND n=?2",
            "iissIssIsssssIDDI", c->run, c->attempt, p->host, p->device, p->pid, p->slurm_job, p->git_commit,
            (int64_t)p->git_dirty, p->diff ? sha : NULL, p->build_json, p->plugins_json, p->argv_json, p->log_path,
            p->parameters, p->flops_step, p->tokens_second, p->peak_memory);
    return tx_end(d, rc, e);
}
