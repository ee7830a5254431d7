/* recorded.c - reads the project's records (experiments/recorded/NAME.json.gz) as a second source: found by name if the
 * database has no such experiment, read into memory on demand, and never written. */
#include "base/below.h"
#include "lab/results/internal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ids of recorded runs: the i-th file's begin at FIRST + i * PER_FILE, above the ids of any database. */
enum { FIRST = 100000000, PER_FILE = 100000 };

struct recorded_source {
    char *name; /* the experiment's name without the suffix */
    reader r;
};

static char *name_of(const char *path)
{
    const char *file = strrchr(path, '/') + 1;
    return xstrndup(file, strlen(file) - strlen(has_suffix(file, ".gz") ? ".json.gz" : ".json"));
}

sqlite3 *
recorded_memory(err *e) /* without foreign keys: import.c makes them, their checks took an eighth of the time */
{
    db d = {.path = (char[]){"memory"}, .pid = getpid()};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(":memory:", &d.q, flags, NULL) == SQLITE_OK &&
        !sql_script(d.q, "PRAGMA foreign_keys=OFF; PRAGMA journal_mode=OFF", e) && !sql_owner_lives(d.q, e) &&
        !db_create(&d, e))
        return d.q;
    sql_close(d.q);
    return NULL;
}

/* Reads file i into the database in memory. A temporary run makes ids begin at the file's first. */
static int read_file(sqlite3 *q, const char *path, size_t i, err *e)
{
    db d = {.q = q, .path = (char[]){"memory"}, .pid = getpid(), .views_later = true};
    AUTOFREE char *before =
        xprintf("INSERT INTO experiment(id,name,spec_sha256,spec_ini,argv,created_at) VALUES(-1,'','','','',0);"
                "INSERT INTO variant(id,experiment_id,group_name,place,name,change,config_hash,config_json) "
                "VALUES(-1,-1,'',0,'','','','{}');INSERT INTO run(id,variant_id,seed,queued_at) VALUES(%lld,-1,0,0)",
                FIRST + (long long)i * PER_FILE);
    int rc = sql_script(q, before, e) || db_import(&d, path, false, NULL, e) ||
             sql_script(q, "PRAGMA foreign_keys=ON;DELETE FROM experiment WHERE id=-1;PRAGMA foreign_keys=OFF", e);
    return rc ? -1 : 0;
}

static reader *open_source(reader *r, const char *path, size_t i, err *e)
{
    char *name = name_of(path);
    for (size_t k = 0; k < r->n_recorded; k++)
        if (same(r->recorded[k]->name, name)) {
            free(name);
            return &r->recorded[k]->r;
        }
    sqlite3 *q = recorded_memory(e);
    if (!q || read_file(q, path, i, e) || view_refresh_all(q, e)) {
        sql_close(q);
        free(name);
        return NULL;
    }
    struct recorded_source *s = xcalloc(1, sizeof *s);
    *s = (struct recorded_source){.name = name, .r = {.q = q, .path = xstrdup(path)}};
    r->recorded = xrealloc(r->recorded, (r->n_recorded + 1) * sizeof *r->recorded);
    r->recorded[r->n_recorded++] = s;
    return &s->r;
}

int recorded_open(reader *r, const char *experiment, reader **out, err *e)
{
    AUTOFREE char *name = xstrdup(experiment ? experiment : "");
    char **paths;
    size_t n;
    *out = NULL;
    if (has_suffix(name, DB_RECORDED)) name[strlen(name) - strlen(DB_RECORDED)] = 0;
    int rc = *name && r->recorded_folder ? record_files(r->recorded_folder, &paths, &n, e) : 1;
    for (size_t i = 0; !rc && i < n; i++) {
        AUTOFREE char *own = name_of(paths[i]);
        if (same(own, name) && !(*out = open_source(r, paths[i], i, e))) rc = -1;
    }
    if (rc != 1) free_texts(paths, n);
    return rc < 0 ? -1 : 0;
}

int recorded_of_run(reader *r, int64_t run, reader **out, err *e)
{
    char **paths;
    size_t n, i = run >= FIRST ? (size_t)(run - FIRST) / PER_FILE : 0;
    *out = r;
    if (run < FIRST || !r->recorded_folder) return 0;
    if (record_files(r->recorded_folder, &paths, &n, e)) return -1;
    if (i < n) *out = open_source(r, paths[i], i, e);
    free_texts(paths, n);
    return *out ? 0 : -1;
}

bool names_is_own(reader *r, const char *experiment)
{
    int64_t id;
    err none = {0};
    return sql_int(r->q, &none, &id, "SELECT id FROM experiment WHERE name=?1", "s", experiment) == 1;
}

int recorded_of_name(reader *r, const char *text, reader **out, err *e)
{
    reader *source = NULL;
    AUTOFREE char *name = xstrndup(text, strcspn(text, "/")), *suffixed = xprintf("%s%s", name, DB_RECORDED);
    bool own = !strchr(text, '/') || names_is_own(r, name) || names_is_own(r, suffixed);
    int rc = own ? 0 : recorded_open(r, name, &source, e);
    *out = source ? source : r;
    return rc;
}

char *recorded_path(const char *folder, const char *experiment)
{
    static const char *const suffixes[] = {".json.gz", ".json"};
    err none = {0};
    for (size_t i = 0; folder && i < LENGTH(suffixes); i++) {
        AUTOFREE char *name = xprintf("%s%s", experiment, suffixes[i]);
        char *path = path_below(folder, name, &none);
        if (path && file_exists(path)) return path;
        free(path);
    }
    return NULL;
}

bool recorded_has(const reader *r, const char *experiment)
{
    AUTOFREE char *path = recorded_path(r->recorded_folder, experiment);
    return path;
}

int reader_recorded_names(reader *r, arena *a, const char *const **out, size_t *n, err *e)
{
    char **paths = NULL;
    *n = 0;
    if (r->recorded_folder && record_files(r->recorded_folder, &paths, n, e)) return -1;
    const char **names = arena_alloc(a, (*n + 1) * sizeof *names);
    for (size_t i = 0; i < *n; i++) {
        AUTOFREE char *name = name_of(paths[i]);
        names[i] = arena_strdup(a, name);
    }
    free_texts(paths, *n);
    *out = names;
    return 0;
}

int recorded_attach(reader *r, err *e)
{
    char **paths;
    size_t n;
    sqlite3_int64 size = 0;
    if (!r->recorded_folder || record_files(r->recorded_folder, &paths, &n, e)) return 0;
    sqlite3 *q = recorded_memory(e);
    int rc = q ? 0 : -1;
    for (size_t i = 0; i < n && !rc; i++) rc = read_file(q, paths[i], i, e);
    if (!rc) rc = view_refresh_all(q, e);
    free_texts(paths, n);
    unsigned char *bytes = rc ? NULL : sqlite3_serialize(q, "main", &size, 0);
    sql_close(q);
    if (!rc) rc = bytes ? sql_script(r->q, "ATTACH ':memory:' AS recorded", e) : fail(e, "out of memory");
    if (!rc && sqlite3_deserialize(r->q, "recorded", bytes, size, size,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        rc = sql_fail(r->q, e, "attaching the recorded runs");
    return rc;
}

void recorded_close(reader *r)
{
    for (size_t i = 0; i < r->n_recorded; i++) {
        struct recorded_source *s = r->recorded[i];
        sql_close(s->r.q);
        free(s->r.path);
        free(s->name);
        free(s);
    }
    free(r->recorded);
    free(r->recorded_folder);
}
