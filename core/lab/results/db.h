/* db.h - the results database: the one connection that writes.
 *
 * Contents: an experiment is a frozen sweep; a variant is one row of its table (a configuration without
 * the seed); a run is a variant with a seed; an attempt is one try of a run with its provenance; points are
 * curves; a result is the number for the table, with per-sentence statistics for paired tests. Published
 * numbers of papers have a separate table. results/read.h reads all tables, results/query.h answers SQL.
 *
 * The host process writes; workers send it events over a pipe. A `db` belongs to the process that opened it: a forked
 * child that tries to use it gets an error. Not thread-safe. Ownership: strings passed in are copied; each function
 * states who frees a returned string. Errors: 0 or -1 (or NULL) and a message in `e`.
 * Durability: changes of a run's status and results survive a power cut once the call has returned; the last points
 * and heartbeats before one may be lost, but are never half written.
 */
#ifndef ABLATE_RESULTS_DB_H
#define ABLATE_RESULTS_DB_H
#include "base/base.h"

#define DB_APPLICATION_ID 1094861651 /* 'ABLS', in the file's header */
/* Recorded runs are kept in a separate experiment with this suffix: "quick.recorded". */
#define DB_RECORDED ".recorded"
/* Tag of a done run: the plugins loaded by the last `ablate run`, if their files differ from those of its training. */
#define DB_LOADED "plugins_loaded"
/* Tag of a run that was frozen after its row had a result. */
#define DB_LATE "late"
/* Tag of a run that another program trained: the files it was imported from. Such runs have run.recorded = 2. */
#define DB_IMPORTED "imported_from"
/* Tag "statistics METRIC" of a recorded run whose record left that metric's per-sentence statistics out. */
#define DB_STATISTICS "statistics"
#define DB_LEFT_OUT   "left out"
#define DB_VERSION    7 /* PRAGMA user_version of this program */

typedef struct db db;

typedef struct {
    const char *path;     /* the database file; its folder is created if missing */
    const char *recorded; /* folder of NAME.json of recorded experiments, a second source for readers; NULL: none */
    bool optional;        /* readers: if the file is missing, read only the recorded experiments */
    bool patient; /* writers: wait while another process holds the database, beyond $ABLATE_DATABASE_WAIT [30 s] */
    bool no_wal;  /* use a rollback journal even if write-ahead logging would work */
    /* usual: the database without --db, whose runs are in ROOT/runs; NULL: none */
    const char *usual, *root;
} db_options;

/* Opens the database; on first use creates and fills it. An older version is migrated after a backup next to
 * it; a newer version, another program's file and a read-only file are errors. The caller closes. */
db *db_open(const db_options *o, err *e);
void db_close(db *d); /* d may be NULL */
/* Is this statfs f_type a network file system's, where write-ahead logging could corrupt the database? */
bool db_is_network(unsigned long f_type);

/* Returns the folder of checkpoints and models: ROOT/runs for the usual database, FILE.runs for another (--db FILE),
 * because one row in two databases is two runs. Readers look there first for the files that the database names. The
 * caller frees. */
char *db_runs_folder(const db_options *o);
/* Returns db_runs_folder, resolved, if its files may be removed for this database; else NULL. A database that was
 * copied without its folder still names the original's files, so files are removed only below this folder. ROOT/runs
 * belongs to ROOT/results.db if that exists, and then to no other file that $ABLATE_DB names. */
char *db_own_folder(const db_options *o);

/* ---- freezing a sweep into runs ---- */

enum db_kind { DB_INT, DB_REAL, DB_TEXT, DB_BOOL };
typedef struct {
    const char *key;
    enum db_kind kind;
    int64_t i;     /* DB_INT, and DB_BOOL as 0 or 1 */
    double r;      /* DB_REAL */
    const char *s; /* DB_TEXT */
    bool swept;    /* the row itself sets this key: shown as the row's change */
} db_param;

typedef struct {
    const char *group;       /* block of the table: "A"; "" for base and single variants */
    const char *name;        /* unique in the experiment: "A/heads=1", "base" */
    const char *change;      /* the row's change relative to base, as the table shows it: "heads=1"; "" for base */
    bool is_base;            /* true for exactly one row */
    const char *same_as;     /* name of an equal row, which runs once and is shown in both places; or NULL */
    const char *config_hash; /* hash of the canonical configuration without the seed */
    const char *planned;     /* hash before the row's settings were searched; NULL: config_hash */
    const char *config_json; /* the configuration as a JSON object: keys to values, or section to keys to values */
    const db_param *params;  /* the configuration's values, typed for SQL; n_params of them */
    size_t n_params;
    const char *paper_row;      /* row key in the published table; NULL: the row's own name */
    size_t n_seeds;             /* number of the experiment's seeds, from the first; 0: all */
    bool left_out;              /* not selected: gets no new run */
    const char *not_applicable; /* why this row cannot run (an incompatible pair of plugins), or NULL */
    const char *plugins_json;   /* the present plugins, as in db_provenance; NULL: unknown */
} db_row_spec;

typedef struct {
    const char *name;
    const char *note;        /* shown above the table, or NULL */
    const char *spec_ini;    /* the spec file's text as read */
    const char *argv_json;   /* the command line as a JSON array */
    const char *paper_table; /* "table3"; NULL: derived from an experiment name that begins with table1 to table4 */
    const char *headline;    /* the metric of delta and p; NULL: the report chooses */
    const char *analysis;    /* the analysis as JSON (docs/ini.md: [criterion], factorial, [scale], match), or NULL */
    const db_row_spec *rows; /* in the table's order */
    size_t n_rows;
    const int64_t *seeds;
    size_t n_seeds;
} db_experiment_spec;

enum db_status { DB_QUEUED, DB_RUNNING, DB_DONE, DB_FAILED, DB_KILLED, DB_SKIPPED };
const char *db_status_text(enum db_status s);

typedef struct {
    int64_t id; /* run id */
    size_t row; /* index into spec.rows; rows with same_as have no runs of their own */
    int64_t seed;
    enum db_status status; /* DB_DONE: nothing to do; DB_SKIPPED: the row is not applicable */
    bool changed;          /* done, but with a plugin whose sha256 differs from the present plugin's */
    bool anew;             /* started with another version of a plugin: restarts, does not resume */
} db_frozen;

/* Writes the sweep in one transaction. Existing runs with the same configuration and seed are kept with all
 * their data; killed runs are queued again, failed runs stay failed (see db_requeue). A row whose
 * configuration changed under the same name becomes a new variant; the old one is archived, and restored if
 * its configuration returns. A run started with a plugin of another sha256 is requeued with a new generation; a
 * done run is kept and gets `changed`. Runs of seeds no longer listed are archived unless done. *out: one entry per
 * run, seed by seed in row order, *n of them; the caller frees. */
int db_freeze(db *d, const db_experiment_spec *spec, db_frozen **out, size_t *n, err *e);

typedef struct {
    size_t of[DB_SKIPPED + 1]; /* runs by status */
    size_t gone;               /* runs among these that are removed or archived by now */
} db_counts;
/* Counts these runs by their present status. */
int db_count(db *d, const int64_t *runs, size_t n, db_counts *out, err *e);

enum db_rerun { DB_RERUN_FAILED, DB_RERUN_ALL };
/* Finds the run that a folder is named after, by a prefix of the configuration's hash, the seed and the generation.
 * Returns 1 with the run's status and generation; 0 if there is none; -1. */
int db_run_of(db *d, const char *experiment, const char *hash, int64_t seed, enum db_status *status,
              int64_t *generation, err *e);
/* Queues runs again: failed and killed ones, or all that are not running. Deletes their points, results and artifacts;
 * their attempts stay as history. DB_RERUN_FAILED: a failed run resumes from its last complete state, if any; others
 * get a new generation, so that they do not resume old checkpoints.
 * `runs`: run ids, n of them. *requeued (may be NULL): number of requeued runs. */
int db_requeue(db *d, const int64_t *runs, size_t n, enum db_rerun which, size_t *requeued, err *e);
/* Removes exactly these n runs with all their data in one transaction, and `experiment` itself unless that is NULL.
 * Fails, and removes nothing, if the experiment has other runs or one of these is running. */
int db_remove(db *d, const int64_t *runs, size_t n, const char *experiment, err *e);
/* ---- older runs (older.c): trained, but not in the table, because their row's settings have changed ---- */
int db_older_count(db *d, const char *experiment, size_t *n, err *e);
/* Shows rows with finished older runs again, named NAME~1, NAME~2 ..., until the next freeze. *rows: their number. */
int db_restore(db *d, const char *experiment, size_t *rows, err *e);

/* ---- writing a run ---- */

typedef struct {
    int64_t run;
    int64_t attempt;    /* counts from 1 */
    int64_t generation; /* grows when the run restarts from scratch; it resumes only checkpoints of its generation */
    int64_t seed;
    char owner[128];
    bool anew;  /* the first attempt of this generation */
    char *name; /* the row's name; db_claim_free frees */
    char *config_json, *config_hash;
} db_claim;

/* Sets `waits`, which is called many times a second while another process holds the database, with news to show or
 * NULL. It must not use the database. If it returns false, the write fails. */
void db_on_wait(db *d, bool (*waits)(void *self, const char *news), void *self);
/* Begins one transaction for all writes until db_end, unless one is open. A failing write undoes only itself. */
int db_begin(db *d, err *e);
int db_end(db *d, int rc, err *e); /* commits if rc is 0, and does nothing if none is open; 0 or -1 */

/* Writes this process as the text of an owner: host, boot, process id, start time. */
void db_owner(char out[128]);
bool db_owner_is_gone(const char *owner); /* Did the owner run on this machine, and end? */
long db_owner_process(const char *owner); /* the owner's process id, if it lives on this machine; else 0 */
typedef struct {                          /* the runs of one call of `run`, in the order of their claims */
    const int64_t *id;
    size_t n, next; /* next: index at which the search for a queued run continues */
} db_queue;
/* Claims a run of `among` (NULL: any of the experiment) whose lease has expired, else the first queued run. Returns 1
 * with *out, 0 if there is none, -1. Successive claims from a queue read each run's status about twice. `lease`:
 * seconds after which others may take over the run unless a heartbeat renews the lease. Every later write names the
 * claim, and fails if another process has taken over the run. */
int db_claim_next(db *d, const char *experiment, db_queue *among, const char *owner, double lease, db_claim *out,
                  err *e);
void db_claim_free(db_claim *c);
/* Finds the model of a done run with the claim's seed and settings, except keys that only decoding reads, and tags the
 * claim's run with that run's number (model_of_run). *model: in the arena; NULL: none. runs: folder. (trained.c) */
int db_trained_model(db *d, const db_claim *c, const char *runs, arena *a, const char **model, err *e);
/* Does this claim still hold the run? Not if it was taken over, given back or removed. */
bool db_holds(db *d, const db_claim *c);
/* Requeues runs held by processes of this machine that no longer exist, without waiting for
 * their leases. *released (may be NULL): number of runs. */
int db_release_dead(db *d, const char *experiment, size_t *released, err *e);
/* Queues all runs of `owner` again. */
int db_release_owner(db *d, const char *owner, err *e);
int db_heartbeat(db *d, const db_claim *c, int64_t step, int64_t total_steps, double lease, err *e);

/* Provenance of an attempt. NULL and negative values mean unknown and leave the stored value. */
typedef struct {
    const char *host, *device;
    int64_t pid;
    const char *slurm_job;
    const char *git_commit;
    int git_dirty;            /* 0, 1, or -1 unknown */
    const char *diff;         /* text of the uncommitted changes: stored once by its SHA-256 */
    const char *build_json;   /* compiler, flags, library versions */
    const char *plugins_json; /* setting to plugin: {"position":{"name":"rotary","sha256":"...","file":"/..."},...} */
    const char *argv_json;    /* the worker's command line */
    const char *log_path;
    int64_t parameters;   /* number of learned values */
    double flops_step;    /* floating point operations per training step */
    double tokens_second; /* source plus target tokens per second in training */
    int64_t peak_memory;  /* bytes */
} db_provenance;
#define DB_PROVENANCE_UNKNOWN                                                                                          \
    (db_provenance)                                                                                                    \
    {                                                                                                                  \
        .pid = -1, .git_dirty = -1, .parameters = -1, .flops_step = -1, .tokens_second = -1, .peak_memory = -1         \
    }
int db_attempt(db *d, const db_claim *c, const db_provenance *p, err *e);

typedef struct {
    const char *metric;
    int64_t step;
    double value; /* NaN and infinities are stored as NULL: the run diverged */
} db_point;
/* Writes points of curves in one transaction; existing points are replaced (a resumed run repeats some). */
int db_points(db *d, const db_claim *c, const db_point *points, size_t n, err *e);

/* Per-sentence sufficient statistics: value[i * width + j] of sentence i. */
typedef struct {
    size_t n, width;
    double *value;
} db_stats;

typedef struct {
    const char *metric;      /* "PPL", "BLEU": the column's heading */
    const char *direction;   /* "min", "max", or NULL: no better or worse */
    const char *unit;        /* "%"; "": none; NULL: unknown */
    const char *aggregation; /* how sentences add up (text/metric/metric.h); NULL: unknown, or no statistics */
    const char *signature;   /* how the value was computed, or NULL */
    double value;            /* not finite: the run diverged */
    int64_t step;
    const char *how; /* the weights used: "final", "best", "average"; NULL: "final" */
    db_stats stats;  /* {0}: none */
} db_result;
int db_put_result(db *d, const db_claim *c, const db_result *r, err *e); /* replaces an earlier result of that metric */
/* Writes an artifact, with the file's size and hash. */
int db_put_artifact(db *d, const db_claim *c, const char *kind, const char *path, err *e);
int db_put_tag(db *d, const db_claim *c, const char *tag, const char *value, err *e);
/* Sets a tag of a run, whoever holds it; value NULL removes it. */
int db_tag_run(db *d, int64_t run, const char *tag, const char *value, err *e);
/* Adds results and points, measured later, to a done run that no process holds; replaces earlier ones of these
 * metrics; the experiment's view gets their columns. */
int db_put_beside(db *d, int64_t run, const db_result *results, size_t n_results, const db_point *points,
                  size_t n_points, err *e);
/* Ends the attempt. DB_DONE, DB_FAILED, DB_KILLED, DB_SKIPPED, or DB_QUEUED (given back, to be resumed).
 * exit_code, signal: -1: none; error: message, or NULL. */
int db_finish(db *d, const db_claim *c, enum db_status s, int exit_code, int signal, const char *error, err *e);

/* ---- comparisons: rows against base (view `paired`; docs/statistics.md) ---- */

/* The comparison of one row in one metric; NaN and NULL: unknown. */
typedef struct {
    const char *row, *base, *metric, *unit; /* row, base: current variants; unit: "difference" or "percent change" */
    size_t n, n_base, tests;
    double delta, low, high, p, p_adjusted;
    const char *rule;
    double variance_seeds, variance_sentences, df, seed_sd, least_detectable;
    double p_models, p_outside_base, p_permutation, beats_base, beats_base_low, beats_base_high;
    const char *verdict, *refused;
} db_comparison;
/* Replaces the comparisons of an experiment by `list` [n]. results: identifies the results behind them (read.h). */
int db_put_comparisons(db *d, const char *experiment, const char *results, const db_comparison *list, size_t n, err *e);

/* ---- trials of a search ---- */

typedef struct {
    const char *row;
    int64_t n, rung;      /* n: number of the candidate, from 1; rung: number of promotions */
    const char *settings; /* JSON object: the candidate's settings */
    int64_t seed, steps;
    const char *metric;
    double value;          /* NaN: diverged or failed */
    double seconds, flops; /* cost of the trial; NaN: unknown */
    const char *outcome;   /* "pruned", "promoted", "chosen" or "failed" */
} db_trial;
/* Replaces the trials of an experiment by `list` [n]. */
int db_put_trials(db *d, const char *experiment, const db_trial *list, size_t n, err *e);

/* ---- text files ---- */

typedef struct {
    size_t points;          /* maximum number of points per curve */
    const char *statistics; /* metrics that keep their per-sentence statistics, "PPL,BLEU"; NULL: all; "": none */
    str *left_out;          /* the metrics whose statistics are left out, "loss, BLEU"; may be NULL */
} db_export_options;
/* Appends an experiment with its runs, results, curves and provenance as JSON text. */
int db_export(db *d, const char *experiment, str *out, const db_export_options *o, err *e);
/* Returns the path of this experiment's record in the folder; the caller frees. NULL: there is none. */
char *recorded_path(const char *folder, const char *experiment);
/* Imports a record from a file, which may be compressed by gzip. Existing runs with the same experiment, configuration
 * and seed are left unchanged if they are done, running, have the file's status, or have an attempt and the file's is
 * not done; importing twice changes nothing. The experiment is named NAME.recorded here, so that recorded runs never
 * count as runs of NAME; `own_name`: NAME, which `run` continues. A file with impossible values is rejected with a
 * message. *imported (may be NULL): number of runs added or replaced. */
int db_import(db *d, const char *path, bool own_name, size_t *imported, err *e);
/* Imports a record in memory, whose runs another program trained (lab/foreign), as the experiment `name` itself.
 * Replaces an earlier import under that name; any other experiment of that name is an error. */
struct cJSON;
int db_import_foreign(db *d, struct cJSON *root, const char *name, size_t *imported, err *e);
void db_stats_text(const db_stats *s, str *out); /* appends the statistics as in a record: base64 */
#endif
