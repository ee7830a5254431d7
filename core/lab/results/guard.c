/* guard.c - limits what a database's schema may do and which files its paths may name: it may come from a stranger. */
#include "base/below.h"
#include "lab/results/internal.h"
#include "network/settings/config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Forbids triggers, writes to the schema, and in views all functions with side effects. SQLite before 3.41 counts
 * json_valid(), which our tables call, among these, so views are not limited there. */
void guard_connection(sqlite3 *q)
{
    enum { KNOWS_JSON = 3041000 };
    sqlite3_db_config(q, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (sqlite3_libversion_number() >= KNOWS_JSON) sqlite3_db_config(q, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(q, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(q, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_exec(q, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
}

/* Did ablate make this view? Recognises the schema's views by their text; views of experiments and published tables,
 * and `settings`, by their name. */
static bool is_known_view(const char *name, const char *text, bool generated)
{
    if (generated || same(name, "settings") || has_prefix(name, "published_")) return true;
    for (const char *const *script = results_views; *script; script++)
        if (text && strstr(*script, text)) return true;
    return false;
}

int guard_schema(sqlite3 *q, const char *path, int64_t version, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    /* In an older version views need no check: the upgrade drops them before it reads any. */
    const char *sql =
        version < DB_VERSION
            ? "SELECT type,name,sql,0 FROM sqlite_master WHERE type='trigger' OR sql LIKE 'CREATE VIRTUAL%'"
            : "SELECT type,name,sql,type='view' AND EXISTS(SELECT 1 FROM experiment WHERE view_name=m.name) "
              "FROM sqlite_master m WHERE type IN('view','trigger') OR sql LIKE 'CREATE VIRTUAL%'";
    sqlite3_stmt *s = sql_open(q, e, sql, "");
    int rc = 0;
    while (sql_each(s, "", &rc, e)) {
        const char *type = sql_text(s, 0, &a), *name = sql_text(s, 1, &a);
        if (!same(type, "view") || !is_known_view(name, sql_bytes(s, 2, &a), sqlite3_column_int(s, 3)))
            rc = fail(e,
                      "%s: found the %s \"%s\", which ablate did not make; in a stranger's database it could falsify "
                      "what is shown. If you made it, remove it here (DROP %s) and keep it in another file",
                      path, same(type, "table") ? "virtual table" : type, name, type);
    }
    return rc;
}

static int inspect_pages(sqlite3 *q, const char *pragma, const char *path, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    sqlite3_stmt *s = sql_open(q, e, pragma, "");
    int rc = sql_next(s, e);
    const char *found = rc == 1 ? sql_text(s, 0, &a) : NULL;
    if (rc >= 0 && !same(found, "ok"))
        rc = fail(
            e,
            "%s is damaged (%.200s); nothing was read or changed. `sqlite3 %s .recover | sqlite3 NEW.db` saves what "
            "can be saved",
            path, found ? found : "", path);
    sqlite3_finalize(s);
    return rc < 0 ? -1 : 0;
}

/* Marks a database that was checked: a file in ~/.cache/ablate/looked, named by device and inode, with its size and
 * times. Any write changes size or times; pages in a write-ahead log have SQLite's checksums. */
typedef struct {
    char *folder, *file;
    char says[128];
} mark;

static mark mark_of(const char *path)
{
    static const int64_t least = 4 << 20; /* bytes: a smaller file is checked as fast as the program starts */
    struct stat file;
    mark m = {0};
    if (stat(path, &file) || !S_ISREG(file.st_mode) || file.st_size < least) return m;
    if (!(m.folder = path_in_cache("looked"))) return m;
    m.file = xprintf("%s/%llx-%llx", m.folder, (unsigned long long)file.st_dev, (unsigned long long)file.st_ino);
    snprintf(m.says, sizeof m.says, "%lld %lld.%09ld %lld.%09ld", (long long)file.st_size,
             (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, (long long)file.st_ctim.tv_sec,
             file.st_ctim.tv_nsec);
    return m;
}

static bool mark_stands(const mark *m)
{
    CLEANUP(str_free) str text = {0};
    err none = {0};
    return m->file && !file_read_regular(m->file, sizeof m->says, &text, &none) && same(str_text(&text), m->says);
}

/* Checks the file: a damaged page can hide rows from one query and show them to another, without an error. Checking all
 * of a large file would take too long (10 MB take 40 ms), so there only the tables that list its contents are checked
 * (100,000 runs take 0.1 s). Values of the other tables are checked on reading (sql_row). */
static int inspect_file(sqlite3 *q, const char *path, err *e)
{
    static const int64_t most = 32 << 20;
    static const char *const some[] = {"PRAGMA integrity_check('experiment')",
                                       "PRAGMA integrity_check('variant')",
                                       "PRAGMA integrity_check('alias')",
                                       "PRAGMA integrity_check('metric')",
                                       "PRAGMA integrity_check('param')",
                                       "PRAGMA integrity_check('run')",
                                       NULL};
    static const char *const all[] = {"PRAGMA integrity_check(1)", NULL};
    int64_t bytes = 0;
    if (sql_int(q, e, &bytes, "SELECT page_count*page_size FROM pragma_page_count,pragma_page_size", "") != 1)
        return -1;
    for (const char *const *look = bytes > most ? some : all; *look; look++)
        if (inspect_pages(q, *look, path, e)) return -1;
    return 0;
}

int guard_pages(sqlite3 *q, const char *path, err *e)
{
    static char asked[4096]; /* path of the file that this process checked last */
    if (same(asked, path)) return 0;
    mark m = mark_of(path);
    err none = {0};
    bool stands = mark_stands(&m);
    int bad = stands ? 0 : inspect_file(q, path, e);
    if (!bad && !stands && m.file && !make_folders(m.folder, &none)) file_write(m.file, m.says, strlen(m.says), &none);
    if (!bad) snprintf(asked, sizeof asked, "%s", path);
    free(m.folder), free(m.file);
    return bad;
}

const char *read_own_path(const char *runs, int64_t seed, const char *stored, arena *a)
{
    if (!runs || !stored || (has_prefix(stored, runs) && stored[strlen(runs)] == '/')) return stored;
    const char *name = run_file_name(stored, seed);
    if (!name) return stored;
    const char *own = arena_printf(a, "%s/%.*s", runs, (int)(strrchr(name, '/') - name), name);
    return is_folder(own) ? arena_printf(a, "%s/%s", runs, name) : stored;
}

int read_run_file(const read_detail *d, const char *path, err *e)
{
    AUTOFREE char *full = realpath(path, NULL);
    struct stat info;
    bool inside = full && run_file_name(full, d->run.seed);
    int rc = 0;
    if (full && !inside)
        rc = fail(
            e, "run %lld: its recorded file %s is not in a run's folder (CONFIGURATION-s%lld-gN), so it is not opened",
            (long long)d->run.id, path, (long long)d->run.seed);
    else if (full && (stat(full, &info) || !S_ISREG(info.st_mode)))
        rc = fail(e, "%s: found no regular file", path);
    return rc;
}

int read_outputs(const read_detail *d, const char *split, const char *ending, str *out, err *e)
{
    static const size_t most = (size_t)1 << 30; /* bytes */
    AUTOFREE char *file = xprintf("/%s.%s", split, ending);
    const char *path = NULL;
    for (size_t i = 0; i < d->n_artifacts; i++)
        if (has_suffix(d->artifacts[i].value, file)) path = d->artifacts[i].value;
    return !path ? fail(e, "run %lld has no outputs for %s: found no file %s%s", (long long)d->run.id, split, file + 1,
                        d->run.recorded ? "; the run was recorded elsewhere" : "")
           : read_run_file(d, path, e) || file_read_regular(path, most, out, e) ? -1
                                                                                : 0;
}
