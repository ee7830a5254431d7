/* open.c - opens, creates, migrates and closes the database. */
#include "lab/results/internal.h"
#include "network/settings/config.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { BUSY_MS = 30000 };

/* Renames the settings of stored rows and trials to the keys' present names. */
static int rename_keys(sqlite3 *q, err *e)
{
    for (const renamed_key *r = config_renamed; r->old; r++) {
        char old[64], now[64];
        snprintf(old, sizeof old, "\"%s\":", r->old);
        snprintf(now, sizeof now, "\"%s\":", r->now);
        if (sql_do(q, e, "UPDATE variant SET config_json=replace(config_json,?1,?2)", "ss", old, now) ||
            sql_do(q, e, "UPDATE trial SET settings=replace(settings,?1,?2)", "ss", old, now) ||
            sql_do(q, e, "UPDATE param SET key=?2 WHERE key=?1", "ss", r->old, r->now))
            return -1;
    }
    return 0;
}

/* Steps from older versions to this one, oldest first; version 1 is the first there is. */
static const migration db_steps[] = {{1, results_from_1, NULL}, {2, results_from_2, NULL},
                                     {3, results_from_3, NULL}, {4, results_from_4, rename_keys},
                                     {5, results_from_5, NULL}, {6, results_from_6, NULL}};

bool db_is_network(unsigned long f_type)
{
    /* NFS, SMB (three), AFS, Coda, 9P, FUSE (sshfs ...), Lustre, GPFS, BeeGFS, Ceph, GFS2, OCFS2, PVFS2, VirtualBox */
    static const uint32_t remote[] = {0x6969,     0x517B,     0xFE534D42, 0xFF534D42, 0x5346414F, 0x73757245,
                                      0x01021997, 0x65735546, 0x0BD00BD0, 0x47504653, 0x19830326, 0x00C36400,
                                      0x01161970, 0x7461636F, 0x20030528, 0x786F4256};
    for (size_t i = 0; i < LENGTH(remote); i++)
        if (remote[i] == (uint32_t)f_type) return true;
    return false;
}

/* Chooses write-ahead logging if it is safe, else a rollback journal with a warning. */
static int choose_journal(db *d, bool no_wal, err *e)
{
    AUTOFREE char *folder = path_folder(d->path);
    struct statfs fs;
    bool network = statfs(folder, &fs) == 0 && db_is_network((unsigned long)fs.f_type);
    if (network)
        log_line(LOG_WARN,
                 "%s is on a network file system, where write-ahead logging can lose data; using a rollback journal, "
                 "which is slower. Only one machine at a time should write",
                 d->path);
    const char *want = network || no_wal ? "delete" : "wal";
    const char *sql = network || no_wal ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL";
    /* If two processes create the file at once, SQLite returns BUSY here without waiting. */
    for (int tries = 0;; tries++) {
        sqlite3_stmt *s = sql_open(d->q, e, sql, "");
        if (!s) return -1;
        int rc = sqlite3_step(s);
        char mode[16] = "";
        if (rc == SQLITE_ROW) snprintf(mode, sizeof mode, "%s", (const char *)sqlite3_column_text(s, 0));
        sqlite3_finalize(s);
        if (rc == SQLITE_ROW) {
            if (!same(mode, want)) log_line(LOG_WARN, "%s: found journal mode %s, expected %s", d->path, mode, want);
            return 0;
        }
        if ((rc != SQLITE_BUSY && rc != SQLITE_LOCKED) || tries >= BUSY_MS / 50)
            return sql_fail(d->q, e, "setting the journal mode");
        sqlite3_sleep(50);
    }
}

int db_inspect(sqlite3 *q, const char *path, int64_t *version, err *e)
{
    int64_t tables = 0, id = 0;
    if (sql_int(q, e, &tables, "SELECT count(*) FROM sqlite_master", "") < 0 ||
        sql_int(q, e, &id, "PRAGMA application_id", "") < 0 || sql_int(q, e, version, "PRAGMA user_version", "") < 0)
        return -1;
    if (!tables && !id && !*version) return 0;
    if (id != DB_APPLICATION_ID)
        return fail(e,
                    "%s: found an SQLite database of another program (application_id %lld, expected %d); name "
                    "another file with --db",
                    path, (long long)id, DB_APPLICATION_ID);
    if (*version > DB_VERSION)
        return fail(e,
                    "%s: found version %lld of the results database, this program knows up to %d; use a newer "
                    "ablate, or another file with --db",
                    path, (long long)*version, DB_VERSION);
    return guard_schema(q, path, *version, e) || guard_pages(q, path, e) ? -1 : 1;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int record_files(const char *folder, char ***paths, size_t *n, err *e)
{
    *paths = NULL, *n = 0;
    DIR *dir = opendir(folder);
    if (!dir && errno == ENOENT) return 0;
    if (!dir) return fail(e, "%s: %s", folder, strerror(errno));
    size_t cap = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *name = entry->d_name;
        if (name[0] == '.' || !(has_suffix(name, ".json.gz") || has_suffix(name, ".json"))) continue;
        *paths = grow(*paths, &cap, *n + 1, sizeof **paths);
        (*paths)[(*n)++] = path_join(folder, name);
    }
    closedir(dir);
    if (*n) qsort(*paths, *n, sizeof **paths, by_name);
    return 0;
}

static int run_scripts(sqlite3 *q, const char *const *script, err *e)
{
    int rc = 0;
    for (; *script && !rc; script++) rc = sql_script(q, *script, e);
    return rc;
}

/* Creates tables and published numbers in one transaction: after a crash the file is still empty, hence new. */
int db_create(db *d, err *e)
{
    int64_t version = 0;
    if (tx_begin(d, true, e)) return -1;
    int rc = db_inspect(d->q, d->path, &version, e); /* another process may have created the tables */
    if (rc == 1) return tx_end(d, 0, e);
    if (!rc) rc = run_scripts(d->q, results_tables, e) || run_scripts(d->q, results_views, e) ? -1 : 0;
    if (!rc) rc = published_refresh(d, e);
    if (!rc) rc = view_refresh_all(d->q, e);
    return tx_end(d, rc, e);
}

/* ---- upgrading ----
 * The upgrading process copies the database to a file .part while it holds the write lock, and renames the copy after
 * the commit. If that process is killed, the next one replaces or renames the copy. If several processes open the
 * database at once, only one copies it. */

static char *part_of(const db *d, int64_t version)
{
    return xprintf("%s.version%lld.part", d->path, (long long)version);
}

/* Renames the copy to the first free name; the caller frees it. NULL: no copy, or another process was faster. */
static char *name_copy(const db *d, int64_t version)
{
    AUTOFREE char *part = part_of(d, version);
    char *to = NULL;
    for (int i = 0; file_exists(part) && (!to || file_exists(to)); i++) {
        free(to);
        to = i ? xprintf("%s.version%lld.%d.bak", d->path, (long long)version, i)
               : xprintf("%s.version%lld.bak", d->path, (long long)version);
    }
    if (to && rename(part, to)) free(to), to = NULL;
    return to;
}

/* Within a write transaction, copies the last committed state, read through a separate connection. */
static int back_up(db *d, int64_t version, err *e)
{
    AUTOFREE char *part = part_of(d, version);
    sqlite3 *from = NULL, *to = NULL;
    int rc = remove(part) && errno != ENOENT ? fail(e, "%s: %s", part, strerror(errno)) : 0;
    if (!rc && (sqlite3_open_v2(d->path, &from, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
                sqlite3_open_v2(part, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK))
        rc = fail(e, "%s: cannot make a copy: %s", part, sqlite3_errmsg(to ? to : from));
    sqlite3_backup *b = rc ? NULL : sqlite3_backup_init(to, "main", from, "main");
    if (b) sqlite3_backup_step(b, -1);
    if (!rc && (!b || sqlite3_backup_finish(b) != SQLITE_OK))
        rc = fail(e, "%s: cannot make a copy: %s", part, sqlite3_errmsg(to));
    sqlite3_close(to);
    sqlite3_close(from);
    if (rc) remove(part);
    return rc;
}

static int step_up(db *d, const migration *m, err *e)
{
    char set[64];
    snprintf(set, sizeof set, "PRAGMA user_version=%d", m->from + 1);
    if (m->before && m->before(d->q, e)) return -1;
    return sql_script(d->q, m->sql, e) || sql_script(d->q, set, e) ? -1 : 0;
}

int db_migrate(db *d, const migration *steps, size_t n, char **backup, err *e)
{
    int64_t version = 0, first = 0;
    bool needed = false;
    char *kept = NULL;
    if (backup) *backup = NULL;
    if (sql_int(d->q, e, &version, "PRAGMA user_version", "") < 0) return -1;
    for (size_t i = 0; i < n; i++) needed |= steps[i].from == version;
    if (needed) {
        if (tx_begin(d, true, e)) return -1;
        /* another process may have upgraded the database */
        int rc = sql_int(d->q, e, &version, "PRAGMA user_version", "") < 0 ? -1 : 0;
        for (size_t i = 0; i < n && !rc; i++) {
            if (steps[i].from != version) continue;
            if (!first) rc = back_up(d, first = version, e) || view_drop_all(d->q, e) ? -1 : 0;
            if (!rc) rc = step_up(d, &steps[i], e);
            version++;
        }
        if (first && !rc) rc = run_scripts(d->q, results_views, e) || sql_script(d->q, "DELETE FROM meta", e) ? -1 : 0;
        if (tx_end(d, rc, e)) {
            AUTOFREE char *part = part_of(d, first);
            if (first) remove(part);
            return fail_in(e, "cannot upgrade the database to a newer version (it stays as it was): ");
        }
    }
    for (int64_t from = 1; from < version && !kept; from++)
        kept = name_copy(d, from); /* also names the copy of a killed process */
    if (kept) log_line(LOG_INFO, "%s was upgraded to a newer version; the old one is kept as %s", d->path, kept);
    if (backup)
        *backup = kept;
    else
        free(kept);
    return 0;
}

/* Fails while a host trains runs of the database: an older program cannot continue with an upgraded database. Hosts on
 * other machines are known by their heartbeat alone. */
static int check_hosts(db *d, int64_t version, err *e)
{
    enum { SILENT = 120 };
    sqlite3_stmt *s =
        sql_open(d->q, e, "SELECT owner,heartbeat_at FROM run WHERE status='running' AND owner NOT NULL", "");
    int rc = 0;
    while (sql_each(s, "", &rc, e)) {
        const char *owner = (const char *)sqlite3_column_text(s, 0);
        if (db_owner_process(owner) || (!db_owner_is_gone(owner) && now() - sql_real(s, 1) <= SILENT))
            rc =
                fail(e,
                     "%s: found version %lld of the results database, in use by a process that trains its runs (%s), "
                     "expected version %d; nothing was changed, since an older ablate cannot continue with an upgraded "
                     "database. Read it with that ablate, or wait until that process ends: the next command then "
                     "upgrades it",
                     d->path, (long long)version, owner, DB_VERSION);
    }
    return rc;
}

static int set_up(db *d, const db_options *o, err *e)
{
    int64_t version = 0;
    sql_wait(d);
    guard_connection(d->q);
    if (sqlite3_db_readonly(d->q, "main") == 1)
        return fail(e, "%s is read-only for this user; change its permissions or name another file with --db", d->path);
    int kind = db_inspect(d->q, d->path, &version, e);
    if (kind == 1 && version < DB_VERSION && check_hosts(d, version, e)) return -1;
    if (kind < 0 || choose_journal(d, o->no_wal, e)) return -1;
    if (sql_script(d->q, "PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL;", e)) return -1;
    if (kind == 0 && db_create(d, e)) return -1;
    if (db_migrate(d, db_steps, LENGTH(db_steps), NULL, e)) return -1;
    if (version && version < DB_VERSION && (tx_begin(d, true, e) || tx_end(d, view_refresh_all(d->q, e), e))) return -1;
    return published_refresh(d, e);
}

/* Refuses names with a special meaning in SQLite, which would leave no file, and names that are too long for it. */
int db_check_path(const char *path, err *e)
{
    if (!*path) return fail(e, "the name of the database is empty");
    if (same(path, ":memory:") || has_prefix(path, "file:"))
        return fail(e,
                    "%s: expected a database file, found a name with a special meaning in SQLite; use ./%s for a file",
                    path, path);
    enum { LONGEST = 500 }; /* SQLite's 512, less what it appends for its journal */
    AUTOFREE char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    size_t n = strlen(path) + (here ? strlen(here) + 1 : 0);
    if (n > LONGEST)
        return fail(e, "%.60s...: found a path of %zu bytes to the database, expected at most %d, SQLite's limit", path,
                    n, LONGEST);
    return 0;
}

db *db_open(const db_options *o, err *e)
{
    struct stat st;
    if (db_check_path(o->path, e)) return NULL;
    if (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        fail(e, "%s: found %s, expected a database file", o->path, S_ISDIR(st.st_mode) ? "a folder" : "a special file");
        return NULL;
    }
    AUTOFREE char *folder = path_folder(o->path);
    if (!is_folder(folder) && make_folders(folder, e)) return NULL;
    db *d = xcalloc(1, sizeof *d);
    d->path = xstrdup(o->path);
    d->pid = getpid();
    d->ticks_from = now() - ticks();
    d->patient = o->patient;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(o->path, &d->q, flags, NULL) != SQLITE_OK) {
        fail(e, "%s: cannot open: %s", o->path, d->q ? sqlite3_errmsg(d->q) : "out of memory");
    } else if (!sql_owner_lives(d->q, e) && set_up(d, o, e) == 0) {
        return d;
    }
    db_close(d);
    return NULL;
}

void db_close(db *d)
{
    if (!d) return;
    /* A forked child must not close the parent's connection: that would drop the parent's locks. */
    if (d->pid == getpid()) sql_close(d->q);
    free(d->path);
    free(d);
}

const char *db_status_text(enum db_status s)
{
    static const char *const text[] = {"queued", "running", "done", "failed", "killed", "skipped"};
    return text[s];
}

int status_parse(const char *text, enum db_status *out)
{
    for (enum db_status s = DB_QUEUED; s <= DB_SKIPPED; s++)
        if (same(text, db_status_text(s))) return *out = s, 0;
    return -1;
}
