/* db.h - the results database: the one connection that writes.
 *
 * What is in it: an experiment is a frozen sweep; a variant is one row of its table (a configuration without
 * the seed); a run is a variant with a seed; an attempt is one try of a run with its provenance; points are
 * curves; a result is the number for the table, with per-sentence statistics for paired tests. Published
 * numbers of papers live in a table of their own. results/read.h reads all of it, results/query.h answers
 * SQL.
 *
 * The host process writes; workers send it events over a pipe. A `db` belongs to the process that opened it:
 * a forked child that tries to use it gets an error. Not thread-safe. Ownership: strings passed in are
 * copied; strings handed out belong to what their line says. Errors: 0 or -1 (or NULL) and words in `e`.
 * Durability: changes of a run's status and results survive a power cut once the call returned; the last
 * points and heartbeats before one may be lost, never half written.
 */
#ifndef ABLATE_RESULTS_DB_H
#define ABLATE_RESULTS_DB_H
#include "base/base.h"

#define DB_APPLICATION_ID 1094861651 /* 'ABLS', in the file's header */
/* Recorded runs stand beside an experiment's own, in one of its name and this ending: "quick.recorded". */
#define DB_RECORDED       ".recorded"
#define DB_VERSION        4          /* PRAGMA user_version of this program */

typedef struct db db;

typedef struct {
    const char *path; /* the database file; its folder is made when missing */
    const char *recorded; /* folder of *.json of recorded experiments, read when the file is created; NULL: none */
    bool no_wal;          /* use a rollback journal even where write-ahead logging would work */
} db_options;

/* Opens, and on first use creates and fills, the database. An older version is migrated after a backup beside
 * it; a newer one, another program's file and a read-only one are refused in words. The caller closes. */
db *db_open(const db_options *o, err *e);
void db_close(db *d); /* NULL is fine */
/* Does a file system of this statfs f_type lie on another machine, where write-ahead logging would corrupt?
 */
bool db_is_network(unsigned long f_type);

/* ---- freezing a sweep into runs ---- */

enum db_kind { DB_INT, DB_REAL, DB_TEXT, DB_BOOL };
typedef struct {
    const char *key;
    enum db_kind kind;
    int64_t i;     /* DB_INT, and DB_BOOL as 0 or 1 */
    double r;      /* DB_REAL */
    const char *s; /* DB_TEXT */
    bool swept;    /* differs from base on purpose: shown as this row's change */
} db_param;

typedef struct {
    const char *group;  /* block of the table: "A"; "" for base and single variants */
    const char *name;   /* unique in the experiment: "A/heads=1", "base" */
    const char *change; /* what it changes against base, as the table shows it: "heads=1"; "" for base */
    bool is_base;       /* exactly one row */
    const char *
        same_as; /* name of the row that this one equals: it is shown in both places and runs once; or NULL */
    const char *config_hash; /* of the canonical configuration without the seed */
    const char
        *config_json; /* that configuration, one JSON object: keys to values, or section to keys to values */
    const db_param *params; /* the same, typed, for SQL; n_params of them */
    size_t n_params;
    const char *paper_row;      /* row key of the published table, NULL: the row's own name is looked up */
    size_t n_seeds;             /* the first so many of the experiment's seeds, 0: all */
    const char *not_applicable; /* why this row cannot be run (an impossible pair of plugins), or NULL */
    const char *plugins_json;   /* as in db_provenance: of the plugins at hand; NULL: unknown */
} db_row_spec;

typedef struct {
    const char *name;
    const char *note;      /* shown above the table, or NULL */
    const char *spec_ini;  /* the spec file's text as read */
    const char *argv_json; /* the command line as a JSON array */
    const char
        *paper_table; /* "table3", NULL: found from an experiment name that begins with table1 to table4 */
    const char *headline;    /* the metric of delta and p, NULL: chosen by the report */
    const char *analysis;    /* how it is judged, as JSON (docs/ini.md: [criterion], factorial, [scale], match), or NULL */
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
    enum db_status status; /* DB_DONE: nothing to do. Rows not applicable are DB_SKIPPED */
    bool changed;          /* done here, with a plugin of another sha256 than the one at hand */
    bool anew;             /* was begun with such a plugin: it does not go on from there */
} db_frozen;

/* Writes the sweep in one transaction. Runs whose configuration and seed are there already are kept with all
 * they have; killed ones are queued again, failed ones stay failed (see db_requeue). A row whose
 * configuration changed under the same name becomes a new variant, the old one is archived, and comes back if
 * its configuration does. A run that was begun with a plugin of another sha256 is queued afresh (its generation grows); a
 * done one is kept and `changed` says so. Runs of seeds that are no longer listed are archived unless done. *out: one entry a
 * run, seed by seed in row order, *n of them; the caller frees. */
int db_freeze(db *d, const db_experiment_spec *spec, db_frozen **out, size_t *n, err *e);

typedef struct {
    size_t of[DB_SKIPPED + 1]; /* runs by status */
    size_t gone;               /* removed or archived since */
} db_counts;
/* How the runs named stand now. */
int db_count(db *d, const int64_t *runs, size_t n, db_counts *out, err *e);

enum db_rerun { DB_RERUN_FAILED, DB_RERUN_ALL };
/* The run that a folder belongs to, named after the first letters of its configuration's hash, seed and generation: 1 and its
 * status and generation, 0, -1. */
int db_run_of(db *d, const char *experiment, const char *hash, int64_t seed, enum db_status *status, int64_t *generation, err *e);
/* Queue runs again: those that failed or were killed, or all that are not running. Their points, results and artifacts go, their
 * attempts stay as history. FAILED: a failed run goes on from its last whole state, where it has one; the others' generation grows,
 * so that old checkpoints are not resumed.
 * `runs`: run ids, n of them. *requeued (may be NULL): how many. */
int db_requeue(db *d, const int64_t *runs, size_t n, enum db_rerun which, size_t *requeued, err *e);
int db_remove_run(db *d, int64_t run, err *e); /* with all it has; a running one is refused */
int db_remove_experiment(db *d, const char *name, err *e);

/* ---- doing a run ---- */

typedef struct {
    int64_t run;
    int64_t attempt; /* counts from 1 */
    int64_t
        generation; /* counts the times the run was queued afresh: resume only checkpoints of the same one */
    int64_t seed;
    char owner[128];
    bool anew; /* the first attempt since the run was queued afresh */
    char *name; /* the row's name; db_claim_free frees */
    char *config_json, *config_hash;
} db_claim;

/* This process as an owner: host, boot, process id and its start, so that a later process on the same machine
 * can tell that it is gone. */
void db_owner(char out[128]);
/* Claims the first run of `among` (n run ids; n = 0: any of the experiment) that is queued or whose lease ran
 * out: 1 and *out filled, 0 when there is none, -1. `lease`: seconds until others may take it over unless a
 * heartbeat renews it. Every later write names the claim and fails once somebody else has taken the run over.
 */
int db_claim_next(db *d, const char *experiment, const int64_t *among, size_t n, const char *owner,
                  double lease, db_claim *out, err *e);
void db_claim_free(db_claim *c);
/* Is the run still this claim's, or was it taken over, given back or removed? */
bool db_holds(db *d, const db_claim *c);
/* Runs held by processes of this machine that no longer exist are queued again at once, without waiting for
 * their leases. *released (may be NULL): how many. */
int db_release_dead(db *d, const char *experiment, size_t *released, err *e);
int db_heartbeat(db *d, const db_claim *c, int64_t step, int64_t total_steps, double lease, err *e);

/* Where an attempt came from. NULL and negative values are "unknown" and leave what is there. */
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
    int64_t parameters;   /* how many */
    double flops_step;    /* floating point operations a training step */
    double tokens_second; /* source and target tokens a second in training */
    int64_t peak_memory;  /* bytes */
} db_provenance;
#define DB_PROVENANCE_UNKNOWN                                                                                \
    (db_provenance)                                                                                          \
    {                                                                                                        \
        .pid = -1, .git_dirty = -1, .parameters = -1, .flops_step = -1, .tokens_second = -1,                 \
        .peak_memory = -1                                                                                    \
    }
int db_attempt(db *d, const db_claim *c, const db_provenance *p, err *e);

typedef struct {
    const char *metric;
    int64_t step;
    double value; /* NaN and infinities become NULL: diverged */
} db_point;
/* Points of curves, one transaction; a point that is there already is replaced (a resumed run repeats some).
 */
int db_points(db *d, const db_claim *c, const db_point *points, size_t n, err *e);

/* Per-sentence sufficient statistics: value[i * width + j] of sentence i. */
typedef struct {
    size_t n, width;
    double *value;
} db_stats;

typedef struct {
    const char *metric;    /* "PPL", "BLEU": the column's heading */
    const char *goal;      /* "min", "max", or NULL: no better or worse */
    const char *signature; /* how it was computed, or NULL */
    double value;          /* not finite: the run diverged */
    int64_t step;
    const char *how; /* which weights: "final", "best", "average"; NULL: "final" */
    db_stats stats;  /* {0}: none */
} db_result;
int db_put_result(db *d, const db_claim *c, const db_result *r,
                  err *e); /* replaces an earlier one of that metric */
int db_put_artifact(db *d, const db_claim *c, const char *kind, const char *path,
                    err *e); /* size and hash are taken from the file */
int db_put_tag(db *d, const db_claim *c, const char *tag, const char *value, err *e);
/* A tag that somebody sets beside a run, whoever holds it; value NULL removes it. */
int db_tag_run(db *d, int64_t run, const char *tag, const char *value, err *e);
/* Results and points that somebody measures beside a done run, which no process holds; earlier ones of those metrics are replaced. */
int db_put_beside(db *d, int64_t run, const db_result *results, size_t n_results, const db_point *points, size_t n_points, err *e);
/* Ends the attempt. DB_DONE, DB_FAILED, DB_KILLED, DB_SKIPPED, or DB_QUEUED (given back, to be resumed).
 * exit_code, signal: -1 when there is none; error: words, or NULL. */
int db_finish(db *d, const db_claim *c, enum db_status s, int exit_code, int signal, const char *error,
              err *e);

/* ---- comparisons: rows against base (view `paired`; docs/statistics.md) ---- */

/* Of one row in one metric; NaN and NULL: not known. */
typedef struct {
    const char *row, *metric, *unit; /* row: a variant in force; unit: "difference" or "percent change" */
    size_t n, n_base, tests;
    double delta, low, high, p, p_adjusted;
    const char *rule;
    double variance_seeds, variance_sentences, df, seed_sd, least_detectable;
    double p_models, p_outside_base, p_permutation, beats_base, beats_base_low, beats_base_high;
    const char *verdict, *refused;
} db_comparison;
/* Replaces the comparisons of an experiment by these n. `results`: which results they were computed from (read.h). */
int db_put_comparisons(db *d, const char *experiment, const char *results, const db_comparison *list, size_t n, err *e);

/* ---- trials of a search ---- */

typedef struct {
    const char *row;
    int64_t n, rung;      /* number of the candidate, from 1; how often it was promoted */
    const char *settings; /* JSON object: what the candidate set */
    int64_t seed, steps;
    const char *metric;
    double value;          /* NaN: diverged or failed */
    double seconds, flops; /* what the trial cost, NaN: unknown */
    const char *outcome;   /* "pruned", "promoted", "chosen" or "failed" */
} db_trial;
/* Replaces the trials of an experiment by these n. */
int db_put_trials(db *d, const char *experiment, const db_trial *list, size_t n, err *e);

/* ---- text files ---- */

/* One experiment with its runs, results, curves (thinned to `points` a curve) and provenance as JSON text
 * that git can compare line by line. */
int db_export(db *d, const char *experiment, const char *path, size_t points, err *e);
/* Reads such a file. Runs that are here with the same experiment, configuration and seed are left alone when
 * they are done, running, or have the file's status already, so importing twice changes nothing. The experiment is named
 * NAME.recorded here, so that recorded runs never stand in for runs of NAME. A file that says what no run of ablate can be is
 * refused in words. *imported
 * (may be NULL): runs added or replaced. */
int db_import(db *d, const char *path, size_t *imported, err *e);
/* One run as an INI that runs it again, from the database alone; the caller frees *out. */
int db_run_ini(db *d, int64_t run, str *out, err *e);
#endif
