/* reader.c - opens a database for reading, or the recorded experiments alone. */
#include "lab/results/internal.h"
#include "network/settings/config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* On such a medium SQLite needs immutable=1: otherwise it tries to write lock files beside the database. */
static bool on_readonly_medium(const char *path)
{
    struct statvfs s;
    return statvfs(path, &s) == 0 && (s.f_flag & ST_RDONLY);
}

static char *immutable_uri(const char *path)
{
    str uri = {0};
    AUTOFREE char *full = realpath(path, NULL);
    str_add(&uri, "file:");
    for (const char *p = full ? full : path; *p; p++)
        if (strchr("?#%", *p))
            str_addf(&uri, "%%%02x", (unsigned)*p);
        else
            str_addc(&uri, *p);
    str_add(&uri, "?immutable=1");
    return uri.s;
}

static int open_readonly(reader *r, err *e)
{
    sql_close(r->q);
    r->q = NULL;
    bool fixed = on_readonly_medium(r->path);
    AUTOFREE char *name = fixed ? immutable_uri(r->path) : xstrdup(r->path);
    int rc =
        sqlite3_open_v2(name, &r->q, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | (fixed ? SQLITE_OPEN_URI : 0), NULL);
    if (rc == SQLITE_OK) {
        sqlite3_busy_timeout(r->q, 30000);
        guard_connection(r->q);
        return 0;
    }
    return r->q ? sql_fail(r->q, e, "opening it") : fail(e, "%s: out of memory", r->path);
}

reader *reader_open(const db_options *o, err *e)
{
    if (db_check_path(o->path, e)) return NULL;
    reader *r = xcalloc(1, sizeof *r);
    r->path = xstrdup(o->path), r->runs = db_runs_folder(o);
    if (o->recorded && is_folder(o->recorded)) r->recorded_folder = xstrdup(o->recorded);
    struct stat st;
    int64_t version = 0;
    if (stat(o->path, &st) || (S_ISREG(st.st_mode) && st.st_size == 0)) {
        r->absent = true;
        if (o->optional && r->recorded_folder && (r->q = recorded_memory(e))) return r;
        fail(e, "no database at %s; `ablate run` creates one", o->path);
        goto failed;
    }
    if (S_ISREG(st.st_mode)) {
        err first = {0};
        int kind = open_readonly(r, &first) ? -1 : db_inspect(r->q, r->path, &version, &first);
        if (kind == 1 && version == DB_VERSION) return r;
        /* A killed host may leave a journal that only a writer can roll back: SQLite then reports read-only. */
        if (kind < 0 && !(r->q && sqlite3_errcode(r->q) == SQLITE_READONLY)) {
            fail(e, "%s", first.text);
            goto failed;
        }
    }
    db *d = db_open(o, e); /* recovers or migrates, or fails with a message */
    db_close(d);
    if (d && open_readonly(r, e) == 0) return r;
failed:
    reader_close(r);
    return NULL;
}

reader *reader_open_any(const db_options *o, err *e)
{
    db_options any = *o;
    any.optional = true;
    return reader_open(&any, e);
}

void reader_close(reader *r)
{
    if (!r) return;
    recorded_close(r);
    sql_close(r->q);
    r->q = NULL;
    free(r->path);
    free(r->runs);
    free(r);
}

int64_t reader_version(reader *r, err *e)
{
    int64_t version = -1;
    return sql_int(r->q, e, &version, "PRAGMA data_version", "") == 1 ? version : -1;
}

char *reader_model(reader *r, const char *name, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_detail run;
    char *path = NULL;
    bool named = run_file_name(name, -1) == name;
    int64_t id = named ? -1 : reader_find_run(r, name, e);
    if (named) path = path_join(r->runs, name);
    if (id >= 0 && !reader_run(r, id, &a, &run, e)) {
        for (size_t i = 0; i < run.n_artifacts; i++)
            if (same(run.artifacts[i].key, "model")) path = xstrdup(run.artifacts[i].value);
        if (path && read_run_file(&run, path, e)) free(path), path = NULL;
        if (!path) fail(e, "run %s has no model: it was not trained to the end here", name);
    }
    if (path && !file_exists(path)) {
        fail(e, "the model of run %s is missing: expected it at %s", name, path);
        free(path);
        path = NULL;
    }
    return path;
}
