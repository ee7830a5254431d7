/* internal.h - shared by the files of core/lab/results: statements, transactions, opening. */
#ifndef ABLATE_RESULTS_INTERNAL_H
#define ABLATE_RESULTS_INTERNAL_H
#include "base/cleanup.h"
#include "lab/results/db.h"
#include "lab/results/read.h"
#include <sqlite3.h>
#include <sys/types.h>

struct db {
    sqlite3 *q;
    char *path;
    pid_t pid;                                   /* the process that opened it; forked children get an error */
    bool durable;                                /* synchronous is now FULL, else NORMAL */
    bool views_later;                            /* an import leaves the views to view_refresh_all */
    bool group;                                  /* between db_begin and db_end */
    bool patient;                                /* db_options */
    bool (*waits)(void *self, const char *news); /* db_on_wait */
    void *waiting;
    double busy_since; /* ticks(): when another process was first found to hold the database */
    bool busy_told;
    double ticks_from;           /* clock time at which ticks() was 0, as of opening: the clock may jump later */
    int64_t decodes_of, decodes; /* decodes: do rows of experiment decodes_of differ in decoding (trained.c) */
};

struct reader {
    sqlite3 *q;
    char *path, *runs;                 /* runs: db_runs_folder */
    bool absent;                       /* there is no database at path: only records can be read */
    char *recorded_folder;             /* folder of recorded experiments, or NULL */
    struct recorded_source **recorded; /* records opened so far */
    size_t n_recorded;
};

/* ---- statements (sql.c) ----
 * `types` has one letter per parameter ?1, ?2, ...: i int64_t; I int64_t, negative becomes NULL; d double, not finite
 * becomes NULL; D as d, and negative becomes NULL; s text, NULL becomes NULL; b blob (pointer, size_t). */
sqlite3_stmt *sql_open(sqlite3 *q, err *e, const char *sql, const char *types, ...);
/* Returns a statement that its connection prepares once and keeps, because preparing takes longer than running. The
 * caller ends with sql_rest, not with sqlite3_finalize, and meanwhile uses no statement of the same text. */
sqlite3_stmt *sql_keep(sqlite3 *q, err *e, const char *sql, const char *types, ...);
void sql_rest(sqlite3_stmt *s);
void sql_close(sqlite3 *q); /* closes the connection with its kept statements */
/* Returns a list of n elements (n 0: NULL) with room for one more, moved if necessary. The list is in the arena. */
void *list_grow(arena *a, const void *list, size_t n, size_t size);
/* Reads the first column of all rows into the arena and ends the statement. */
int sql_ids(sqlite3_stmt *s, arena *a, int64_t **ids, size_t *n, err *e);
/* Steps to the next row. 1: a row; 0: the end; -1, also if s is NULL. The caller always finalizes. */
int sql_next(sqlite3_stmt *s, err *e);
/* sql_next that also checks values: `names` lists the columns in order, separated by blanks; NULL in a named column is
 * damage: -1 and a message ("metric.name - result.checkpoint"; "-": may be NULL). */
int sql_row(sqlite3_stmt *s, const char *names, err *e);
/* Condition of a loop over rows: if *rc is 0, reads a row and returns true. At the end or after an error ends the
 * statement and returns false; *rc is 0 or -1. */
bool sql_each(sqlite3_stmt *s, const char *names, int *rc, err *e);
/* Reads the row's first columns, in order, each to the pointer of its letter: i int64_t, NULL reads as 0; I int64_t,
 * NULL reads as -1; d double, NULL reads as NAN; B bool; - leaves a column out, without a pointer. Texts, as const char
 * *: s sql_text, l sql_lines, b sql_bytes, j JSON with its texts as by sql_text. */
void sql_read(sqlite3_stmt *s, arena *a, const char *types, ...);
/* Checks that one column's value is not NULL: 0, or -1. */
int sql_known(sqlite3_stmt *s, int column, const char *name, err *e);
/* Reads a run's status; 0, or -1 and a message. */
int sql_status(sqlite3_stmt *s, int column, enum db_status *out, err *e);
/* Reads the first row's first column. Returns 1; 0 if there is no row or the value is NULL; -1. Keeps the statement. */
int sql_int(sqlite3 *q, err *e, int64_t *out, const char *sql, const char *types, ...);
#define sql_do(q, e, ...) sql_int(q, e, NULL, __VA_ARGS__) /* ignores rows */
int sql_script(sqlite3 *q, const char *sql, err *e);       /* several statements */
int sql_fail(sqlite3 *q, err *e, const char *what);        /* SQLite's last error as a message; -1 */
/* Copies a text, or returns NULL. Control characters, as in a stranger's database, are escaped (str_add_shown). */
const char *sql_text(sqlite3_stmt *s, int column, arena *a);
const char *sql_lines(sqlite3_stmt *s, int column, arena *a); /* sql_text that keeps newlines and tabs, for errors */

const char *sql_bytes(sqlite3_stmt *s, int column, arena *a); /* copies a text unescaped: paths, names for SQL */
double sql_real(sqlite3_stmt *s, int column);                 /* NaN for NULL */

void sql_add_json(str *out, sqlite3_stmt *s, int column); /* appends a value; a blob in base64 */
void sql_quote(str *out, const char *name);               /* "name" as an identifier */
void sql_literal(str *out, const char *text);             /* 'text' */

/* ---- transactions (sql.c) ---- */
void sql_wait(db *d); /* waits for other processes according to db_options and db_on_wait */
/* BEGIN IMMEDIATE; durable: on disk when tx_end returns. */
int tx_begin(db *d, bool durable, err *e);
/* Commits if rc is 0, else rolls back; returns 0 or -1. */
int tx_end(db *d, int rc, err *e);

/* ---- opening (schema.c) ---- */
extern const char *const results_tables[], *const results_views[]; /* scripts; each list ends with NULL */
/* SQL: creation time of the run's experiment in whole seconds since 1970, from which points count their time. */
#define CREATED_OF(RUN)                                                                                                \
    "(SELECT CAST(x.created_at AS INTEGER) FROM run u JOIN variant w ON w.id=u.variant_id JOIN experiment x ON "       \
    "x.id=w.experiment_id WHERE u.id=" RUN ")"
/* migrations from each version to the next */
extern const char results_from_1[], results_from_2[], results_from_3[], results_from_4[], results_from_5[],
    results_from_6[];
typedef struct {
    int from; /* the step migrates user_version `from` to from + 1 */
    const char *sql;
    int (*before)(sqlite3 *q, err *e); /* runs first, in the same transaction; or NULL */
} migration;
/* Runs the steps that `d` still needs, after a backup next to the file. *backup, unless backup is NULL: its path (the
 * caller frees), NULL if nothing was done. */
int db_migrate(db *d, const migration *steps, size_t n, char **backup, err *e);

/* Lists the records of a folder, NAME.json.gz or NAME.json, sorted; the caller frees. open.c */
int record_files(const char *folder, char ***paths, size_t *n, err *e);
int db_create(db *d, err *e); /* writes tables and published numbers into an empty database; open.c */
/* ---- recorded.c: the recorded experiments, each read into memory as a separate database ---- */
sqlite3 *recorded_memory(err *e); /* an empty database in memory */
/* Opens the source with this experiment (NAME or NAME.recorded). Returns 0, with *out NULL if none has it; or -1. */
int recorded_open(reader *r, const char *experiment, reader **out, err *e);
/* Find the database that has a run (by id or EXPERIMENT/ROW): r, or a recorded one. */
int recorded_of_run(reader *r, int64_t run, reader **out, err *e);
int recorded_of_name(reader *r, const char *text, reader **out, err *e);
/* Does the database itself have an experiment of exactly this name? */
bool names_is_own(reader *r, const char *experiment);
bool recorded_has(const reader *r, const char *experiment);
int recorded_attach(reader *r, err *e); /* attaches all records as the schema `recorded` of r's connection */
void recorded_close(reader *r);

int db_check_path(const char *path, err *e); /* open.c */
/* Returns the path of a run's file: below `runs`, this database's folder, if it has EXPERIMENT/CONFIGURATION-sSEED-gN,
 * else as stored. So a database can be moved and copied with its folder. (guard.c) */
const char *read_own_path(const char *runs, int64_t seed, const char *stored, arena *a);
/* Inspects the file. Returns 0 if it is empty, 1 if it is ablate's; else -1 and a message. *version: user_version. */
int db_inspect(sqlite3 *q, const char *path, int64_t *version, err *e); /* open.c */

/* ---- guard.c: a database may come from a stranger ---- */
void guard_connection(sqlite3 *q); /* defensive settings of a connection */
/* Refuses triggers, virtual tables and views that ablate did not make, by name. */
int guard_schema(sqlite3 *q, const char *path, int64_t version, err *e);
/* Checks once that the file is intact; of a large file only some tables. */
int guard_pages(sqlite3 *q, const char *path, err *e);

/* ---- parts that several files use ---- */
/* Replaces the database's published tables by the program's built-in ones if they differ, in a transaction or not. */
int published_refresh(db *d, err *e); /* published_write.c */

int view_check_name(const char *experiment, err *e);      /* view.c: is this a valid name of an experiment? */
int view_refresh(sqlite3 *q, int64_t experiment, err *e); /* view.c; in a transaction */
int view_drop(sqlite3 *q, const char *experiment, err *e);
int view_drop_all(sqlite3 *q, err *e);
int view_refresh_all(sqlite3 *q, err *e);                                       /* after a migration */
int experiment_id(sqlite3 *q, const char *name, int64_t *id, err *e);           /* compared.c; -1 and a message: none */
int64_t metric_id(sqlite3 *q, const char *name, const char *direction, err *e); /* finds or adds a metric; -1 */
/* claim.c: starts a new generation without earlier data and keeps the status */
int run_afresh(db *d, int64_t run, err *e);
/* claim.c: adds the columns of the run's metrics that its experiment's view lacks; in a transaction */
int run_show_metrics(db *d, int64_t run, err *e);
int status_parse(const char *text, enum db_status *out);
/* Calls tx_begin if `c` still holds the run; else -1 and a message. */
int claim_begin(db *d, const db_claim *c, bool durable, err *e);
int older_count(sqlite3 *q, const char *experiment, size_t *n, err *e); /* older.c */
/* Adds owner_lives(owner) to the SQL of a writing connection; claims and removals call it and check the lease. */
int sql_owner_lives(sqlite3 *q, err *e);

/* stats.c: writes statistics as bytes, with compact integers. */
void stats_encode(const db_stats *s, str *out);
int stats_decode(const void *data, size_t size, arena *a, db_stats *out, err *e);
bool stats_whole(const double *value, size_t n, size_t stride); /* are all whole, so that 'v' keeps them? */
/* Appends one column of n numbers: its kind, 'v' or 'd', and their bytes. */
void stats_put_column(const double *value, size_t n, size_t stride, char kind, str *out);
/* Reads a column that stats_put_column wrote at p. Returns the byte after it; NULL: the column is truncated. */
const unsigned char *stats_get_column(const unsigned char *p, const unsigned char *end, size_t n, size_t stride,
                                      double *value);
void base64_encode(const void *data, size_t n, str *out);
int base64_decode(const char *text, str *out); /* -1: not base64 */

int run_ini_print(sqlite3 *q, int64_t run, str *out, err *e); /* ini.c */
/* Sums the statistics of a document's sentences, if all runs of a metric name the same documents. (documents.c) */
void read_documents(read_experiment *x, arena *a);
size_t stats_by_document(db_stats *s, const char *counts, arena *a); /* returns how many; below 2 nothing changes */
#endif
