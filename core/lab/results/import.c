/* import.c - imports what export.c wrote. Runs trained here are left unchanged. */
#include "base/gzip.h"
#include "lab/results/import.h"
#include "lab/results/columns.h"
#include "lab/results/internal.h"
#include "network/settings/config.h"
#include <math.h>
#include <string.h>

/* Returns the value of a key, also under its name in files of version 0.1 (3772abc, fa6aaa1). */
static const cJSON *value_of(const cJSON *o, const char *key)
{
    static const char *const renamed[][2] = {
        {"group_name", "grp"}, {"place", "ord"}, {"direction", "goal"}, {"checkpoint", "how"}};
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    for (size_t i = 0; !v && i < LENGTH(renamed); i++)
        if (same(key, renamed[i][0])) v = cJSON_GetObjectItemCaseSensitive(o, renamed[i][1]);
    return v;
}

static const char *text_of(const cJSON *o, const char *key) { return cJSON_GetStringValue(value_of(o, key)); }

/* Returns the first item of a list. NULL: the list is empty or missing. */
static const cJSON *first_of(const cJSON *o, const char *key)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, key);
    return list ? list->child : NULL;
}

static double real_of(const cJSON *o, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}
static int64_t whole_of(const cJSON *o, const char *key, int64_t missing)
{
    const cJSON *v = value_of(o, key);
    return cJSON_IsNumber(v) && fabs(v->valuedouble) < 9e15 ? (int64_t)v->valuedouble : missing;
}

static int need(const cJSON *o, const char *key, const char **out, err *e)
{
    *out = text_of(o, key);
    return *out ? 0 : fail(e, "found no text \"%s\"", key);
}

enum { MOST_BYTES = 1 << 28, MOST_ATTEMPTS = 1000000000 }; /* the largest record so far has 13 MB */
static const double MOST_STEP = 9e15;

/* Reads a whole number; fails if it is missing or outside [least, most]. */
static int need_whole(const cJSON *o, const char *key, double least, double most, int64_t *out, err *e)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    double x = cJSON_IsNumber(v) ? v->valuedouble : NAN;
    if (!(x >= least && x <= most) || x != floor(x)) {
        char *text = v ? cJSON_PrintUnformatted(v) : NULL;
        fail(e, "\"%s\": found %.40s, expected a whole number from %.0f to %.0f", key, text ? text : "nothing", least,
             most);
        cJSON_free(text);
        return -1;
    }
    *out = (int64_t)x;
    return 0;
}

/* Reads a whole number, -1 if it is missing or null. */
static int optional_whole(const cJSON *o, const char *key, int64_t *out, err *e)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    *out = -1;
    return !v || cJSON_IsNull(v) ? 0 : need_whole(o, key, 0, MOST_STEP, out, e);
}

/* as: the experiment's name here; NULL: NAME.recorded; "": its own. */
static int64_t insert_experiment(sqlite3 *q, const cJSON *x, const char *as, err *e)
{
    const char *name, *spec;
    int64_t id = -1;
    char sha[65];
    double created;
    if (need(x, "name", &name, e) || need(x, "spec_ini", &spec, e) || import_time(x, "created_at", &created, e))
        return -1;
    if (experiment_name_check(name, e)) return fail_in(e, "\"name\": ");
    sha256_of(spec, strlen(spec), sha);
    size_t bare = strlen(name) - (has_suffix(name, DB_RECORDED) ? strlen(DB_RECORDED) : 0);
    AUTOFREE char *own = as && *as ? xstrdup(as) : xprintf("%.*s%s", (int)bare, name, as ? "" : DB_RECORDED);
    const char *argv = text_of(x, "argv");
    int rc = sql_do(q, e,
                    "INSERT OR IGNORE INTO experiment(name,note,headline,paper_table,spec_sha256,spec_ini,argv,"
                    "created_at,analysis) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
                    "sssssssds", own, text_of(x, "note"), text_of(x, "headline"), text_of(x, "paper_table"), sha, spec,
                    argv ? argv : "[]", isfinite(created) ? created : now(), text_of(x, "analysis"));
    if (!rc && sql_int(q, e, &id, "SELECT id FROM experiment WHERE name=?1", "s", own) != 1) id = -1;
    return id;
}

/* Is `key` one of the words in the blank-separated `list`? */
static bool has_word(const char *list, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = list; p && *p; p += strspn(p, " ")) {
        size_t k = strcspn(p, " ");
        if (k == n && !strncmp(p, key, n)) return true;
        p += k;
    }
    return false;
}

static int insert_params(sqlite3 *q, int64_t variant, const cJSON *config, const char *prefix, const char *swept,
                         err *e)
{
    static const char sql[] = "INSERT OR IGNORE INTO param(variant_id,key,value,is_swept) VALUES(?1,?2,?3,?4)";
    int rc = 0;
    for (const cJSON *p = config->child; p && !rc; p = p->next) {
        AUTOFREE char *key = *prefix ? xprintf("%s.%s", prefix, p->string) : xstrdup(p->string);
        int64_t s = has_word(swept, key) || has_word(swept, config_first_name(key));
        if (cJSON_IsObject(p))
            rc = insert_params(q, variant, p, key, swept, e);
        else if (cJSON_IsBool(p))
            rc = sql_do(q, e, sql, "isii", variant, key, (int64_t)cJSON_IsTrue(p), s);
        else if (cJSON_IsNumber(p) && p->valuedouble == floor(p->valuedouble) && fabs(p->valuedouble) < 9e15)
            rc = sql_do(q, e, sql, "isii", variant, key, (int64_t)p->valuedouble, s);
        else if (cJSON_IsNumber(p))
            rc = sql_do(q, e, sql, "isdi", variant, key, p->valuedouble, s);
        else
            rc = sql_do(q, e, sql, "issi", variant, key, cJSON_IsString(p) ? p->valuestring : NULL, s);
    }
    return rc;
}

static int insert_alias(sqlite3 *q, int64_t variant, const cJSON *a, err *e)
{
    const char *name, *grp, *change;
    if (need(a, "name", &name, e) || need(a, "group_name", &grp, e) || need(a, "change", &change, e)) return -1;
    return sql_do(
        q, e,
        "INSERT OR IGNORE INTO alias(variant_id,name,group_name,place,change,paper_row) VALUES(?1,?2,?3,?4,?5,?6)",
        "ississ", variant, name, grp, whole_of(a, "place", 0), change, text_of(a, "paper_row"));
}

/* Finds the experiment's variant with that hash, or makes it; archives it if another variant has its name. */
static int insert_variant(sqlite3 *q, int64_t experiment, const cJSON *v, err *e)
{
    const char *hash, *name, *grp, *change;
    int64_t id = 0;
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(v, "config");
    if (need(v, "hash", &hash, e) || need(v, "name", &name, e) || need(v, "group_name", &grp, e) ||
        need(v, "change", &change, e))
        return -1;
    if (!cJSON_IsObject(config)) return fail(e, "variant \"%s\": found no object \"config\"", name);
    int rc =
        sql_int(q, e, &id, "SELECT id FROM variant WHERE experiment_id=?1 AND config_hash=?2", "is", experiment, hash);
    if (rc) return rc < 0 ? -1 : 0;
    for (cJSON *key = config->child; key; key = key->next) {
        const char *now = config_new_name(key->string);
        if (now) cJSON_free(key->string), key->string = xstrdup(now);
    }
    char *json = cJSON_PrintUnformatted(config);
    rc = sql_int(
        q, e, &id,
        "INSERT INTO variant(experiment_id,group_name,place,name,change,is_base,paper_row,not_applicable,config_hash,"
        "config_json,archived,exploratory) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,(SELECT count(*) FROM variant WHERE"
        " experiment_id=?1 AND name=?4 AND archived=0),?11<>0) RETURNING id",
        "isississssi", experiment, grp, whole_of(v, "place", 0), name, change, whole_of(v, "is_base", 0),
        text_of(v, "paper_row"), text_of(v, "not_applicable"), hash, json, whole_of(v, "exploratory", 0));
    cJSON_free(json);
    if (rc != 1) return -1;
    rc = insert_params(q, id, config, "", text_of(v, "swept"), e);
    for (const cJSON *a = first_of(v, "aliases"); a && !rc; a = a->next) rc = insert_alias(q, id, a, e);
    return rc;
}

/* Writes an attempt without its log's path, which is on the run's machine. */
static int insert_attempt(sqlite3 *q, int64_t run, const cJSON *a, err *e)
{
    int64_t n;
    double started, ended;
    if (need_whole(a, "n", 1, MOST_ATTEMPTS, &n, e) || import_time(a, "started_at", &started, e) ||
        import_time(a, "ended_at", &ended, e))
        return -1;
    return sql_do(q, e,
                  "INSERT OR REPLACE INTO attempt(run_id,n,host,device,pid,slurm_job,git_commit,git_dirty,diff_sha256,"
                  "build_json,plugins_json,argv,parameters,flops_step,tokens_second,peak_memory,started_at,ended_at,"
                  "exit_code,term_signal,error) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,"
                  "?19,?20,?21)",
                  "iissIssIssssIddIddIIs", run, n, text_of(a, "host"), text_of(a, "device"), whole_of(a, "pid", -1),
                  text_of(a, "slurm_job"), text_of(a, "git_commit"), whole_of(a, "git_dirty", -1),
                  text_of(a, "diff_sha256"), text_of(a, "build_json"), text_of(a, "plugins_json"), text_of(a, "argv"),
                  whole_of(a, "parameters", -1), real_of(a, "flops_step"), real_of(a, "tokens_second"),
                  whole_of(a, "peak_memory", -1), started, ended, whole_of(a, "exit_code", -1),
                  whole_of(a, "term_signal", -1), text_of(a, "error"));
}

/* Converts a result's statistics to the database's bytes. "stats" has the numbers of columns; in files of
 * "ablate_export": 1 the bytes themselves. */
static int read_stats(const cJSON *r, const char *metric, columns_read *c, str *bytes, err *e)
{
    const cJSON *of = cJSON_GetObjectItemCaseSensitive(r, "stats");
    const char *text = cJSON_GetStringValue(of);
    CLEANUP(arena_free) arena mem = {0};
    db_stats s = {0};
    int rc = 0;
    if (cJSON_IsArray(of)) {
        rc = columns_stats(c, of, &mem, &s, e);
        if (!rc) stats_encode(&s, bytes);
    } else if (text && !same(text, DB_LEFT_OUT)) {
        rc = base64_decode(text, bytes) ? fail(e, "\"stats\" is not base64")
                                        : stats_decode(bytes->s, bytes->n, &mem, &s, e);
    }
    return rc ? fail_in(e, "metric \"%s\": ", metric) : 0;
}

static int import_result(sqlite3 *q, int64_t run, const cJSON *r, columns_read *c, err *e)
{
    const char *metric, *how = text_of(r, "checkpoint"), *direction = text_of(r, "direction");
    str bytes = {0};
    int64_t id = -1, step, other = 0;
    int rc = need(r, "metric", &metric, e) || optional_whole(r, "step", &step, e) || read_stats(r, metric, c, &bytes, e)
                 ? -1
                 : 0;
    if (!rc && same(text_of(r, "stats"), DB_LEFT_OUT))
        rc = sql_do(
            q, e, "INSERT OR REPLACE INTO tag(run_id,tag,value) VALUES(?1,'" DB_STATISTICS " '||?2,'" DB_LEFT_OUT "')",
            "is", run, metric);
    if (!rc)
        rc = sql_int(
            q, e, &other,
            "SELECT 1 FROM metric m JOIN result x ON x.metric_id=m.id WHERE m.name=?1 AND m.direction<>?2 LIMIT 1",
            "ss", metric, direction);
    if (rc > 0)
        rc = fail(e,
                  "metric \"%s\": %s is better here, but %s in other experiments of this database; give the same "
                  "direction (--lower-is-better, --higher-is-better) or use another database (--db)",
                  metric, same(direction, "min") ? "lower" : "higher", same(direction, "min") ? "higher" : "lower");
    if (!rc) id = metric_id(q, metric, direction, e), rc = id < 0 ? -1 : 0;
    if (!rc)
        rc = sql_do(
            q, e,
            "INSERT OR REPLACE INTO result(run_id,metric_id,value,step,checkpoint,signature,stats,unit,aggregation)"
            " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
            "iidIssbss", run, id, real_of(r, "value"), step, how ? how : "final", text_of(r, "signature"),
            (const void *)bytes.s, bytes.n, text_of(r, "unit"), text_of(r, "aggregation"));
    str_free(&bytes);
    return rc;
}

static int insert_curve(sqlite3 *q, int64_t run, const cJSON *c, err *e)
{
    const char *metric;
    if (need(c, "metric", &metric, e)) return -1;
    int64_t id = metric_id(q, metric, NULL, e);
    int rc = id < 0 ? -1 : 0;
    for (const cJSON *p = first_of(c, "points"); p && !rc; p = p->next) {
        const cJSON *step = cJSON_GetArrayItem(p, 0), *value = cJSON_GetArrayItem(p, 1);
        if (!cJSON_IsNumber(step) || !(step->valuedouble >= 0 && step->valuedouble <= MOST_STEP))
            return fail(e, "curve \"%s\": found a point without a step", metric);
        rc = sql_do(q, e, "INSERT OR REPLACE INTO point(run_id,metric_id,step,value) VALUES(?1,?2,?3,?4)", "iiid", run,
                    id, (int64_t)step->valuedouble, cJSON_IsNumber(value) ? value->valuedouble : NAN);
    }
    return rc;
}

/* Makes an empty run, in place of one with another status, unless that is done, running, or has progress that this one
 * (not done) would lose. *id 0: the old run is kept. */
static int claim_place(sqlite3 *q, int64_t variant, int64_t seed, const char *status, int64_t *id, err *e)
{
    int64_t keep = 0;
    int rc = sql_int(q, e, &keep,
                     "SELECT status IN('done','running') OR status=?3 OR(?3<>'done' AND attempt>0) FROM run WHERE "
                     "variant_id=?1 AND seed=?2",
                     "iis", variant, seed, status);
    *id = 0;
    if (rc < 0 || keep) return rc < 0 ? -1 : 0;
    if (sql_do(q, e, "DELETE FROM run WHERE variant_id=?1 AND seed=?2", "ii", variant, seed)) return -1;
    static const char sql[] = "INSERT INTO run(variant_id,seed,queued_at) VALUES(?1,?2,0) RETURNING id";
    return sql_int(q, e, id, sql, "ii", variant, seed) == 1 ? 0 : -1;
}

static int insert_run(sqlite3 *q, int64_t experiment, const cJSON *r, columns_read *columns, size_t *imported, err *e)
{
    const char *hash, *status;
    enum db_status parsed;
    int64_t variant = 0, id = 0, seed, step, total, attempt = 0;
    double queued, started, ended;
    if (need(r, "hash", &hash, e) || need(r, "status", &status, e)) return -1;
    if (status_parse(status, &parsed) || (parsed != DB_DONE && parsed != DB_FAILED && parsed != DB_SKIPPED))
        return fail(e, "found a run with the status \"%.40s\", expected done, failed or skipped", status);
    if (need_whole(r, "seed", 0, UINT32_MAX, &seed, e) || optional_whole(r, "step", &step, e) ||
        optional_whole(r, "total_steps", &total, e) || import_time(r, "queued_at", &queued, e) ||
        import_time(r, "started_at", &started, e) || import_time(r, "ended_at", &ended, e))
        return -1;
    int rc = sql_int(q, e, &variant, "SELECT id FROM variant WHERE experiment_id=?1 AND config_hash=?2", "is",
                     experiment, hash);
    if (rc != 1) return rc < 0 ? -1 : fail(e, "found a run with configuration %.12s, which no variant has", hash);
    if (claim_place(q, variant, seed, status, &id, e)) return -1;
    if (!id) return 0;
    rc = 0;
    for (const cJSON *c = first_of(r, "attempts"); c && !rc; c = c->next) {
        rc = insert_attempt(q, id, c, e);
        attempt = whole_of(c, "n", 1);
    }
    for (const cJSON *c = first_of(r, "tags"); c && !rc; c = c->next) {
        const char *tag;
        rc = need(c, "tag", &tag, e) ||
             sql_do(q, e, "INSERT INTO tag(run_id,tag,value) VALUES(?1,?2,?3)", "iss", id, tag, text_of(c, "value"));
    }
    for (const cJSON *c = first_of(r, "results"); c && !rc; c = c->next) rc = import_result(q, id, c, columns, e);
    for (const cJSON *c = first_of(r, "curves"); c && !rc; c = c->next) rc = insert_curve(q, id, c, e);
    if (!rc)
        rc = sql_do(q, e,
                    "UPDATE run SET status=?2,attempt=?3,step=?4,total_steps=?5,queued_at=coalesce(?6,0),started_at=?7,"
                    "ended_at=?8,recorded=CASE WHEN EXISTS(SELECT 1 FROM tag WHERE run_id=?1 AND tag='" DB_IMPORTED
                    "') THEN 2 ELSE (SELECT name LIKE '%" DB_RECORDED "' FROM experiment WHERE id=?9) END WHERE id=?1",
                    "isiIIdddi", id, status, attempt, step, total, queued, started, ended, experiment);
    if (!rc && imported) ++*imported;
    return rc;
}

static int insert_trial(sqlite3 *q, int64_t experiment, const cJSON *t, err *e)
{
    const char *row, *settings, *metric, *outcome;
    if (need(t, "row", &row, e) || need(t, "settings", &settings, e) || need(t, "metric", &metric, e) ||
        need(t, "outcome", &outcome, e))
        return -1;
    return sql_do(
        q, e,
        "INSERT OR REPLACE INTO trial(experiment_id,row,n,rung,settings,seed,steps,metric,value,seconds,flops,outcome)"
        " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
        "isiisiIsddds", experiment, row, whole_of(t, "n", 0), whole_of(t, "rung", 0), settings, whole_of(t, "seed", 0),
        whole_of(t, "steps", -1), metric, real_of(t, "value"), real_of(t, "seconds"), real_of(t, "flops"), outcome);
}

/* If a row has several variants, shows one that has runs. A record made elsewhere with --only lists the other rows
 * without runs, and searched rows with their settings before the search. What it hides gets archived = 2. */
static int prefer_runs(sqlite3 *q, int64_t experiment, err *e)
{
#define WITH_RUNS "FROM variant o JOIN run r ON r.variant_id=o.id WHERE o.experiment_id=?1 AND o.name=variant.name"
    static const char hide[] = "UPDATE variant SET archived=2 WHERE experiment_id=?1 AND archived=0 AND NOT EXISTS("
                               "SELECT 1 FROM run WHERE variant_id=variant.id) AND EXISTS(SELECT 1 " WITH_RUNS ")",
                      show[] = "UPDATE variant SET archived=0 WHERE experiment_id=?1 AND archived=1 AND id=(SELECT min("
                               "o.id) " WITH_RUNS ") AND(SELECT min(archived)=1 AND max(archived)=2 FROM variant o "
                               "WHERE o.experiment_id=?1 AND o.name=variant.name)";
    return sql_do(q, e, hide, "i", experiment) || sql_do(q, e, show, "i", experiment) ? -1 : 0;
}

/* Fails if the record brings a second base: rows would be compared with different ones. */
static int one_base(sqlite3 *q, int64_t experiment, const cJSON *v, err *e)
{
    int64_t n = 0;
    while (v && !whole_of(v, "is_base", 0)) v = v->next;
    /* the base of a search is the first of its trials */
    if (sql_int(q, e, &n,
                "SELECT count(*) FROM variant v WHERE experiment_id=?1 AND(is_base=1 AND archived=0 OR config_hash=?2 "
                "AND EXISTS(SELECT 1 FROM run WHERE variant_id=v.id)AND NOT EXISTS(SELECT 1 FROM experiment WHERE "
                "id=?1 AND name LIKE '%.tune%'))",
                "is", experiment, v ? text_of(v, "hash") : NULL) < 0)
        return -1;
    return n > 1 ? fail(e, "the record's base differs from the base that the experiment has in the database; remove "
                           "that experiment first (`ablate rm`)")
                 : 0;
}

#define OF_ANOTHER "; results of another program are imported with --as NAME"

static int insert_all(db *d, const cJSON *root, const char *as, size_t *imported, err *e)
{
    int64_t version = whole_of(root, "ablate_export", 0);
    if (version < 1)
        return fail(e, "found no \"ablate_export\": 2, expected a file written by `ablate record`" OF_ANOTHER);
    if (version > 2)
        return fail(e, "\"ablate_export\": found %lld, expected 2 or less: a newer ablate wrote it",
                    (long long)version);
    if (import_check(root, e)) return -1;
    sqlite3 *q = d->q;
    int64_t experiment = insert_experiment(q, cJSON_GetObjectItemCaseSensitive(root, "experiment"), as, e);
    columns_read columns = {0};
    int rc = experiment < 0 ? -1 : columns_open(&columns, cJSON_GetObjectItemCaseSensitive(root, "columns"), e);
    for (const cJSON *c = first_of(root, "metrics"); c && !rc; c = c->next) /* keeps the order of the record */
        if (cJSON_IsString(c) && metric_id(q, c->valuestring, NULL, e) < 0) rc = -1;
    for (const cJSON *c = first_of(root, "variants"); c && !rc; c = c->next) rc = insert_variant(q, experiment, c, e);
    for (const cJSON *c = first_of(root, "trials"); c && !rc; c = c->next) rc = insert_trial(q, experiment, c, e);
    for (const cJSON *c = first_of(root, "runs"); c && !rc; c = c->next)
        rc = insert_run(q, experiment, c, &columns, imported, e);
    columns_close(&columns);
    if (!rc) rc = prefer_runs(q, experiment, e);
    if (!rc) rc = one_base(q, experiment, first_of(root, "variants"), e);
    return rc ? -1 : d->views_later ? 0 : view_refresh(d->q, experiment, e);
}

int db_import(db *d, const char *path, bool own_name, size_t *imported, err *e)
{
    CLEANUP(str_free) str text = {0};
    const char *stop = NULL;
    size_t n = 0, line = 1;
    if (gzip_read(path, MOST_BYTES, &text, e)) return -1;
    cJSON *root = cJSON_ParseWithOpts(str_text(&text), &stop, true);
    if (!root) {
        for (const char *p = text.s; p && stop && p < stop; p++) line += *p == '\n';
        return fail(e, "%s:%zu: not valid JSON" OF_ANOTHER, path, line);
    }
    int rc = tx_begin(d, true, e);
    if (!rc) {
        rc = insert_all(d, root, own_name ? "" : NULL, &n, e);
        if (rc) fail_in(e, "%s: ", path);
        rc = tx_end(d, rc, e);
    }
    if (!rc && imported) *imported = n;
    cJSON_Delete(root);
    return rc ? -1 : 0;
}

/* Removes an earlier import of this name. Fails if the name has ablate's own runs. */
static int make_room(db *d, const char *name, err *e)
{
    int64_t there = 0, own = 0;
    if (sql_int(d->q, e, &there, "SELECT count(*) FROM experiment WHERE name=?1", "s", name) < 0 ||
        sql_int(d->q, e, &own,
                "SELECT count(*)=0 OR sum(r.recorded<>2) FROM experiment x JOIN variant v ON "
                "v.experiment_id=x.id JOIN run r ON r.variant_id=v.id WHERE x.name=?1",
                "s", name) < 0)
        return -1;
    if (there && own)
        return fail(e, "experiment \"%s\" was not made by an import; choose another name with --as", name);
    if (there && view_drop(d->q, name, e)) return -1;
    return there ? sql_do(d->q, e, "DELETE FROM experiment WHERE name=?1", "s", name) : 0;
}

int db_import_foreign(db *d, struct cJSON *root, const char *name, size_t *imported, err *e)
{
    if (experiment_name_check(name, e)) return fail_in(e, "--as: ");
    if (tx_begin(d, true, e)) return -1;
    return tx_end(d, make_room(d, name, e) || insert_all(d, root, name, imported, e) ? -1 : 0, e);
}
