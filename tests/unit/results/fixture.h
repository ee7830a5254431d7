/* fixture.h - a database in a temporary folder and a small sweep to freeze into it. */
#ifndef TEST_RESULTS_FIXTURE_H
#define TEST_RESULTS_FIXTURE_H
#include "lab/results/db.h"
#include "lab/results/read.h"
#include "test.h"
#include <sqlite3.h>
#include <unistd.h>

/* Makes a folder, in memory if possible, as databases sync often. It remains while the test runs. */
static inline char *fixture_folder(void)
{
    char *path = xstrdup(access("/dev/shm", W_OK) ? "/tmp/ablate-results-XXXXXX" : "/dev/shm/ablate-results-XXXXXX");
    if (!mkdtemp(path)) abort();
    return path;
}

static inline void fixture_remove(char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) printf("could not remove %s\n", folder);
    free(folder);
}

/* base; A/heads=1; A/heads=8, which equals base; big */
static const db_param fixture_params[2][2] = {
    {{.key = "heads", .kind = DB_INT, .i = 8}, {.key = "dropout", .kind = DB_REAL, .r = 0.1}},
    {{.key = "heads", .kind = DB_INT, .i = 1, .swept = true}, {.key = "dropout", .kind = DB_REAL, .r = 0.1}}};
static const db_row_spec fixture_rows[] = {
    {.group = "",
     .name = "base",
     .change = "",
     .is_base = true,
     .config_hash = "h0",
     .config_json = "{\"heads\":8,\"dropout\":0.1,\"position\":\"sinusoid\",\"bias\":true}",
     .params = fixture_params[0],
     .n_params = 2},
    {.group = "A",
     .name = "A/heads=1",
     .change = "heads=1",
     .config_hash = "h1",
     .config_json = "{\"heads\":1,\"dropout\":0.1,\"rotary.base\":10000}",
     .params = fixture_params[1],
     .n_params = 2},
    {.group = "A",
     .name = "A/heads=8",
     .change = "heads=8",
     .same_as = "base",
     .config_hash = "h0",
     .config_json = "{\"heads\":8}"},
    {.group = "",
     .name = "big",
     .change = "d_model=1024",
     .config_hash = "h2",
     .config_json = "{\"heads\":16,\"d_model\":1024}"},
};
static const int64_t fixture_seeds[] = {1, 2};

static inline db_experiment_spec fixture_spec(const char *name)
{
    return (db_experiment_spec){.name = name,
                                .note = "toy",
                                .spec_ini = "[experiment]\n",
                                .argv_json = "[\"ablate\",\"run\"]",
                                .rows = fixture_rows,
                                .n_rows = LENGTH(fixture_rows),
                                .seeds = fixture_seeds,
                                .n_seeds = 2};
}

/* Removes an experiment with all its runs. */
static inline int fixture_remove_experiment(db *d, const char *path, const char *name, err *e)
{
    sqlite3 *q = NULL;
    sqlite3_stmt *s = NULL;
    int64_t runs[64];
    size_t n = 0;
    sqlite3_open_v2(path, &q, SQLITE_OPEN_READONLY, NULL);
    sqlite3_prepare_v2(q,
                       "SELECT r.id FROM run r JOIN variant v ON v.id=r.variant_id JOIN experiment x ON "
                       "x.id=v.experiment_id WHERE x.name=?1",
                       -1, &s, NULL);
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    while (n < LENGTH(runs) && sqlite3_step(s) == SQLITE_ROW) runs[n++] = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(q);
    return db_remove(d, runs, n, name, e);
}

/* Reads one number through a connection of its own; -999 if there is none. */
static inline double fixture_number(const char *path, const char *sql)
{
    sqlite3 *q = NULL;
    sqlite3_stmt *s = NULL;
    double v = -999;
    sqlite3_open_v2(path, &q, SQLITE_OPEN_READONLY, NULL);
    sqlite3_busy_timeout(q, 10000);
    if (sqlite3_prepare_v2(q, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW &&
        sqlite3_column_type(s, 0) != SQLITE_NULL)
        v = sqlite3_column_double(s, 0);
    else if (sqlite3_errcode(q) != SQLITE_ROW && sqlite3_errcode(q) != SQLITE_OK && sqlite3_errcode(q) != SQLITE_DONE)
        printf("%s: %s\n", sql, sqlite3_errmsg(q));
    sqlite3_finalize(s);
    sqlite3_close(q);
    return v;
}
/* Reads one text, as fixture_number does a number; the caller frees it. */
static inline char *fixture_text(const char *path, const char *sql)
{
    sqlite3 *q = NULL;
    sqlite3_stmt *s = NULL;
    char *v = NULL;
    sqlite3_open_v2(path, &q, SQLITE_OPEN_READONLY, NULL);
    sqlite3_busy_timeout(q, 10000);
    if (sqlite3_prepare_v2(q, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        v = xstrdup((const char *)sqlite3_column_text(s, 0) ? (const char *)sqlite3_column_text(s, 0) : "(null)");
    sqlite3_finalize(s);
    sqlite3_close(q);
    return v ? v : xstrdup("(no row)");
}
#define CHECK_SQL(path, sql, expected)                                                                                 \
    do {                                                                                                               \
        char *found_ = fixture_text(path, sql);                                                                        \
        CHECK_TEXT(found_, expected);                                                                                  \
        free(found_);                                                                                                  \
    } while (0)
#define CHECK_OK(call) /* checks that a call which fills `e` succeeds */                                               \
    do {                                                                                                               \
        e.text[0] = 0;                                                                                                 \
        CHECK_INT(call, 0);                                                                                            \
        CHECK_TEXT(e.text, "");                                                                                        \
    } while (0)
#endif
