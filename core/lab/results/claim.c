/* claim.c - assigns runs to processes: claims with leases, fencing, the end of an attempt, requeueing, removal. */
#include "lab/results/internal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- owners ---- */

/* Returns the start time of a process in clock ticks since boot; 0: no such process, or a zombie. */
static unsigned long long start_of(long pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *p = strrchr(text, ')'); /* the second field may hold blanks and parentheses */
    unsigned long long start = 0;
    if (p && p[1] && p[2] == 'Z') p = NULL;
    for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
    if (p) start = strtoull(p, NULL, 10);
    return start;
}

/* Writes host, boot and process namespace; a process id is meaningful only if they match. */
static void place(char out[96])
{
    char host[48] = "", boot[16] = "", ns[32] = "";
    gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++)
        if (*p == '/') *p = '-';
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        if (!fgets(boot, 9, f)) *boot = 0;
        fclose(f);
    }
    ssize_t n = readlink("/proc/self/ns/pid", ns, sizeof ns - 1);
    if (n > 0) ns[n] = 0;
    unsigned long long inode = *ns ? strtoull(ns + strcspn(ns, "0123456789"), NULL, 10) : 0;
    snprintf(out, 96, "%s/%s.%llx", host, boot, inode);
}

void db_owner(char out[128])
{
    char where[96];
    place(where);
    snprintf(out, 128, "%s/%ld/%llu", where, (long)getpid(), start_of(getpid()));
}

typedef enum { OWNER_UNKNOWN, OWNER_DEAD, OWNER_LIVES } owner_state;

/* Returns the process id of an owner on this machine, and its start time; 0: the owner is on another machine. */
static long process_of(const char *owner, unsigned long long *start)
{
    char where[96], *end;
    place(where);
    size_t n = strlen(where);
    if (strncmp(owner, where, n) || owner[n] != '/') return 0;
    long pid = strtol(owner + n + 1, &end, 10);
    if (pid <= 0 || *end != '/') return 0;
    *start = strtoull(end + 1, NULL, 10);
    return pid;
}

/* Returns whether an owner lives; OWNER_UNKNOWN: a process of another machine. */
static owner_state state_of(const char *owner)
{
    unsigned long long start;
    long pid = process_of(owner, &start);
    if (!pid) return OWNER_UNKNOWN;
    return start_of(pid) == start ? OWNER_LIVES : OWNER_DEAD;
}

long db_owner_process(const char *owner)
{
    unsigned long long start;
    return state_of(owner) == OWNER_LIVES ? process_of(owner, &start) : 0;
}

bool db_owner_is_gone(const char *owner) { return state_of(owner) == OWNER_DEAD; }

/* SQL's owner_lives(owner): clocks may be wrong, so a living process keeps its run after its lease has expired. */
static void owner_lives(sqlite3_context *to, int n, sqlite3_value **owner)
{
    const char *name = n == 1 ? (const char *)sqlite3_value_text(owner[0]) : NULL;
    sqlite3_result_int(to, name && state_of(name) == OWNER_LIVES);
}

int sql_owner_lives(sqlite3 *q, err *e)
{
    if (!sqlite3_create_function(q, "owner_lives", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, owner_lives, NULL, NULL))
        return 0;
    return sql_fail(q, e, "making owner_lives");
}

/* ---- claiming ---- */

/* Finds the first run, in `among` unless that is NULL, whose lease has expired and whose owner is gone. Returns 1 and
 * *id; 0 if there is none; -1. */
static int find_expired(db *d, const char *experiment, const db_queue *among, int64_t *id, err *e)
{
    sqlite3_stmt *s = sql_keep(d->q, e,
                               "SELECT r.id FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x ON "
                               "x.id=v.experiment_id WHERE r.status='running' AND r.lease_until<?2 AND x.name=?1 AND "
                               "v.archived=0 AND r.archived=0 AND NOT owner_lives(r.owner) ORDER BY r.place,r.id",
                               "sd", experiment, now());
    int rc = s ? 0 : -1;
    bool ours = false;
    while (!rc && !ours && (rc = sql_next(s, e)) == 1) {
        rc = 0, ours = !among;
        *id = sqlite3_column_int64(s, 0);
        for (size_t i = 0; !ours && i < among->n; i++) ours = among->id[i] == *id;
    }
    sql_rest(s);
    return rc < 0 ? -1 : ours;
}

/* Finds the first queued run from among->next to `end` and sets `next` behind it. 1 and *id; 0 if there is none; -1. */
static int find_queued(db *d, db_queue *among, size_t end, int64_t *id, err *e)
{
    int64_t one;
    int rc = 0;
    while (!rc && among->next < end)
        rc = sql_int(d->q, e, &one,
                     "SELECT 1 FROM run r JOIN variant v ON v.id=r.variant_id WHERE r.id=?1 AND r.status='queued' AND "
                     "r.archived=0 AND v.archived=0",
                     "i", *id = among->id[among->next++]);
    return rc;
}

/* Finds a run to claim. Runs before `next` may have been queued again, so they are tried last. */
static int find_free(db *d, const char *experiment, db_queue *among, int64_t *id, err *e)
{
    int rc = find_expired(d, experiment, among, id, e);
    if (rc) return rc;
    if (!among)
        return sql_int(d->q, e, id,
                       "SELECT r.id FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x ON "
                       "x.id=v.experiment_id WHERE x.name=?1 AND v.archived=0 AND r.archived=0 AND r.status='queued' "
                       "ORDER BY r.place,r.id LIMIT 1",
                       "s", experiment);
    size_t passed = among->next;
    rc = find_queued(d, among, among->n, id, e);
    if (rc) return rc;
    among->next = 0;
    return find_queued(d, among, passed, id, e);
}

static int claim_run(db *d, int64_t run, const char *owner, double lease, db_claim *out, err *e)
{
    double t = now();
    sqlite3_stmt *s = sql_keep(
        d->q, e,
        "UPDATE run SET status='running',owner=?1,attempt=attempt+1,lease_until=?2,heartbeat_at=?3,"
        "started_at=coalesce(started_at,?3),ended_at=NULL WHERE id=?4 RETURNING id,attempt,generation,seed,"
        "(SELECT name FROM variant v WHERE v.id=variant_id),(SELECT config_json FROM variant v "
        "WHERE v.id=variant_id),(SELECT config_hash FROM variant v WHERE v.id=variant_id),"
        "NOT EXISTS(SELECT 1 FROM attempt a WHERE a.run_id=run.id AND a.log_path GLOB '*-g'||generation||'/log.txt')",
        "sddi", owner, t + lease, t, run);
    static const char names[] =
        "run.id run.attempt run.generation run.seed variant.name variant.config_json variant.config_hash";
    int rc = sql_row(s, names, e);
    if (rc == 1) {
        *out = (db_claim){.run = sqlite3_column_int64(s, 0),
                          .attempt = sqlite3_column_int64(s, 1),
                          .generation = sqlite3_column_int64(s, 2),
                          .seed = sqlite3_column_int64(s, 3),
                          .name = xstrdup((const char *)sqlite3_column_text(s, 4)),
                          .config_json = xstrdup((const char *)sqlite3_column_text(s, 5)),
                          .config_hash = xstrdup((const char *)sqlite3_column_text(s, 6)),
                          .anew = sqlite3_column_int(s, 7)};
        snprintf(out->owner, sizeof out->owner, "%s", owner);
        if (sql_next(s, e) < 0) rc = -1;
    }
    sql_rest(s);
    return rc;
}

static int open_attempt(db *d, const db_claim *c, err *e)
{
    if (sql_do(d->q, e,
               "UPDATE attempt SET ended_at=?3,error=coalesce(error,'its lease expired and another process took over "
               "the run') WHERE run_id=?1 AND n<?2 AND ended_at IS NULL",
               "iid", c->run, c->attempt, now()))
        return -1;
    return sql_do(d->q, e, "INSERT INTO attempt(run_id,n,started_at) VALUES(?1,?2,?3)", "iid", c->run, c->attempt,
                  now());
}

int db_claim_next(db *d, const char *experiment, db_queue *among, const char *owner, double lease, db_claim *out,
                  err *e)
{
    *out = (db_claim){0};
    if (strlen(owner) >= sizeof out->owner)
        return fail(e, "owner \"%s\": found %zu bytes, expected at most %zu", owner, strlen(owner),
                    sizeof out->owner - 1);
    int found = -1;
    if (tx_begin(d, true, e) == 0) {
        int64_t run = 0;
        found = find_free(d, experiment, among, &run, e);
        if (found == 1) found = claim_run(d, run, owner, lease, out, e);
        int rc = found == 1 ? open_attempt(d, out, e) : found;
        if (tx_end(d, rc, e)) found = -1;
    }
    if (found != 1) db_claim_free(out);
    return found;
}

void db_claim_free(db_claim *c)
{
    free(c->name);
    free(c->config_json);
    free(c->config_hash);
    *c = (db_claim){0};
}

static int check_held(db *d, const db_claim *c, err *e)
{
    sqlite3_stmt *s = sql_keep(d->q, e, "SELECT status,owner,attempt FROM run WHERE id=?1", "i", c->run);
    int rc = sql_row(s, "run.status - run.attempt", e);
    if (rc == 0) {
        rc = fail(e, "run %lld is no longer in the database", (long long)c->run);
    } else if (rc == 1) {
        const char *status = (const char *)sqlite3_column_text(s, 0), *owner = (const char *)sqlite3_column_text(s, 1);
        int64_t attempt = sqlite3_column_int64(s, 2);
        bool ours = same(status, "running") && same(owner, c->owner) && attempt == c->attempt;
        rc = ours ? 0
                  : fail(e, "run %lld, attempt %lld: no longer held by this process (now %s, attempt %lld, owner %s)",
                         (long long)c->run, (long long)c->attempt, status, (long long)attempt, owner ? owner : "none");
    }
    sql_rest(s);
    return rc;
}

int claim_begin(db *d, const db_claim *c, bool durable, err *e)
{
    if (tx_begin(d, durable, e)) return -1;
    return check_held(d, c, e) ? tx_end(d, -1, e) : 0;
}

bool db_holds(db *d, const db_claim *c)
{
    err e = {0};
    int64_t ours = 0;
    int rc = sql_int(d->q, &e, &ours, "SELECT status='running' AND owner IS ?2 AND attempt=?3 FROM run WHERE id=?1",
                     "isi", c->run, c->owner, c->attempt);
    return rc < 0 || (rc == 1 && ours); /* the claim also counts as held if the database cannot be read */
}

int db_heartbeat(db *d, const db_claim *c, int64_t step, int64_t total_steps, double lease, err *e)
{
    double t = now();
    if (claim_begin(d, c, false, e)) return -1;
    int rc = sql_do(d->q, e,
                    "UPDATE run SET heartbeat_at=?2,lease_until=?3,step=coalesce(?4,step),"
                    "total_steps=coalesce(?5,total_steps) WHERE id=?1",
                    "iddII", c->run, t, t + lease, step, total_steps);
    return tx_end(d, rc, e);
}

int db_release_dead(db *d, const char *experiment, size_t *released, err *e)
{
    size_t count = 0;
    int rc = 0;
    int64_t *dead = NULL;
    CLEANUP(arena_free) arena a = {0};
    if (tx_begin(d, true, e)) return -1;
    sqlite3_stmt *s =
        sql_open(d->q, e,
                 "SELECT r.id,r.owner FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x"
                 " ON x.id=v.experiment_id WHERE x.name=?1 AND r.status='running' AND r.owner IS NOT NULL",
                 "s", experiment);
    while (sql_each(s, "", &rc, e)) {
        if (!db_owner_is_gone((const char *)sqlite3_column_text(s, 1))) continue;
        dead = list_grow(&a, dead, count, sizeof *dead);
        dead[count++] = sqlite3_column_int64(s, 0);
    }
    for (size_t i = 0; i < count && !rc; i++) {
        rc = sql_do(d->q, e,
                    "UPDATE attempt SET ended_at=?2,error=coalesce(error,'the host process died') WHERE run_id=?1"
                    " AND ended_at IS NULL",
                    "id", dead[i], now());
        if (!rc)
            rc =
                sql_do(d->q, e, "UPDATE run SET status='queued',owner=NULL,lease_until=NULL WHERE id=?1", "i", dead[i]);
    }
    rc = tx_end(d, rc, e);
    if (!rc && released) *released = count;
    return rc;
}

int db_release_owner(db *d, const char *owner, err *e)
{
    if (tx_begin(d, true, e)) return -1;
    int rc = sql_do(d->q, e,
                    "UPDATE attempt SET ended_at=?2,error=coalesce(error,'its host ended before handing the run over')"
                    " WHERE ended_at IS NULL AND run_id IN (SELECT id FROM run WHERE status='running' AND owner=?1)",
                    "sd", owner, now());
    if (!rc)
        rc = sql_do(d->q, e,
                    "UPDATE run SET status='queued',owner=NULL,lease_until=NULL WHERE status='running' AND owner=?1",
                    "s", owner);
    return tx_end(d, rc, e);
}

int run_show_metrics(db *d, int64_t run, err *e)
{
    int64_t experiment = 0, lacks = 0;
    if (sql_int(d->q, e, &experiment,
                "SELECT v.experiment_id FROM run r JOIN variant v ON v.id=r.variant_id WHERE r.id=?1", "i", run) < 0)
        return -1;
    /* makes the view only if it lacks a metric, because making it reads every run */
    if (sql_int(d->q, e, &lacks,
                "SELECT (SELECT count(*) FROM experiment e WHERE e.id=?2 AND e.view_name IS NULL)+(SELECT count(*) "
                "FROM result x WHERE x.run_id=?1 AND NOT EXISTS("
                "SELECT 1 FROM experiment e JOIN sqlite_master s ON s.name=e.view_name WHERE e.id=?2 AND "
                "(instr(s.sql,',m'||x.metric_id||'.mean ')>0 OR instr(s.sql,',(SELECT m'||x.metric_id||'.mean ')>0)))",
                "ii", run, experiment) < 0)
        return -1;
    return lacks ? view_refresh(d->q, experiment, e) : 0;
}

int db_finish(db *d, const db_claim *c, enum db_status status, int exit_code, int term_signal, const char *error,
              err *e)
{
    double t = now();
    if (status == DB_RUNNING) return fail(e, "run %lld: an attempt cannot end as running", (long long)c->run);
    if (claim_begin(d, c, true, e)) return -1;
    int rc = sql_do(d->q, e,
                    "UPDATE run SET status=?2,owner=NULL,lease_until=NULL,heartbeat_at=?3,"
                    "ended_at=CASE ?2 WHEN 'queued' THEN NULL ELSE ?3 END WHERE id=?1",
                    "isd", c->run, db_status_text(status), t);
    if (!rc)
        rc = sql_do(d->q, e,
                    "UPDATE attempt SET ended_at=?3,exit_code=?4,term_signal=?5,error=?6 WHERE run_id=?1 AND n=?2",
                    "iidIIs", c->run, c->attempt, t, (int64_t)exit_code, (int64_t)term_signal, error);
    if (!rc) rc = run_show_metrics(d, c->run, e);
    return tx_end(d, rc, e);
}

/* ---- requeueing and removal ---- */

static const char *const belongings[] = {"DELETE FROM point WHERE run_id=?1", "DELETE FROM result WHERE run_id=?1",
                                         "DELETE FROM artifact WHERE run_id=?1", "DELETE FROM tag WHERE run_id=?1"};

static int empty_run(db *d, int64_t run, err *e)
{
    int rc = 0;
    for (size_t k = 0; k < LENGTH(belongings) && !rc; k++) rc = sql_do(d->q, e, belongings[k], "i", run);
    return rc;
}

int run_afresh(db *d, int64_t run, err *e)
{
    int rc = sql_do(d->q, e, "UPDATE run SET generation=generation+1,step=NULL WHERE id=?1", "i", run);
    return rc ? rc : empty_run(d, run, e);
}

int db_run_of(db *d, const char *experiment, const char *hash, int64_t seed, enum db_status *status,
              int64_t *generation, err *e)
{
    sqlite3_stmt *s =
        sql_open(d->q, e,
                 "SELECT r.status,r.generation FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x ON"
                 " x.id=v.experiment_id WHERE x.name=?1 AND v.config_hash GLOB ?2||'*' AND r.seed=?3",
                 "ssi", experiment, hash, seed);
    int rc = sql_row(s, "run.status run.generation", e);
    if (rc == 1) {
        if (sql_status(s, 0, status, e)) rc = -1;
        *generation = sqlite3_column_int64(s, 1);
    }
    sqlite3_finalize(s);
    return rc;
}

int db_requeue(db *d, const int64_t *runs, size_t n, enum db_rerun which, size_t *requeued, err *e)
{
    size_t count = 0;
    if (tx_begin(d, true, e)) return -1;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        int64_t id, failed = 0;
        rc = sql_int(d->q, e, &failed, "SELECT status='failed' FROM run WHERE id=?1", "i", runs[i]);
        if (rc < 0) break;
        rc = sql_int(d->q, e, &id,
                     "UPDATE run SET status='queued',owner=NULL,lease_until=NULL,started_at=NULL,ended_at=NULL,"
                     "recorded=0,queued_at=?2 WHERE id=?1 AND (status IN('failed','killed')"
                     " OR (?3 AND status='done')) RETURNING id",
                     "idi", runs[i], now(), (int64_t)(which == DB_RERUN_ALL));
        if (rc != 1) continue;
        count++;
        rc = failed && which == DB_RERUN_FAILED ? empty_run(d, runs[i], e) : run_afresh(d, runs[i], e);
    }
    rc = tx_end(d, rc, e);
    if (!rc && requeued) *requeued = count;
    return rc;
}

int db_count(db *d, const int64_t *runs, size_t n, db_counts *out, err *e)
{
    *out = (db_counts){0};
    sqlite3_stmt *s = sql_open(d->q, e,
                               "SELECT r.status FROM run r JOIN variant v ON v.id=r.variant_id WHERE r.id=?1 AND "
                               "r.archived=0 AND v.archived=0",
                               "");
    int rc = s ? 0 : -1;
    for (size_t i = 0; i < n && rc >= 0; i++) {
        enum db_status status;
        sqlite3_bind_int64(s, 1, runs[i]);
        rc = sql_next(s, e);
        if (rc == 1 && sql_status(s, 0, &status, e))
            rc = -1;
        else if (rc == 1)
            out->of[status]++;
        else
            out->gone++;
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    return rc < 0 ? -1 : 0;
}
