/* read.h - reads the results database into plain structures in the caller's arena.
 *
 * A reader is a read-only connection; it can be open at the same time as the writing one, in any process.
 * Numbers that are missing or not finite in the database are NaN here.
 */
#ifndef ABLATE_RESULTS_READ_H
#define ABLATE_RESULTS_READ_H
#include "lab/results/db.h"
#include "lab/results/published.h"

typedef struct reader reader;
/* Opens for reading; db_open migrates an older version. Without a database: NULL and a message; none is created. */
reader *reader_open(const db_options *o, err *e);
/* Opens for reading; if there is no database, only the recorded experiments are read. */
reader *reader_open_any(const db_options *o, err *e);
void reader_close(reader *r);                                   /* r may be NULL */
static inline void reader_end(reader **r) { reader_close(*r); } /* for CLEANUP */
/* Returns a number that changes when another process writes to the database; -1 and a message. */
int64_t reader_version(reader *r, err *e);

typedef struct {
    const char *key, *value;
} read_pair;

typedef struct {
    const char *metric, *how;
    const char *direction, *signature, *unit, *aggregation; /* as in db_result; NULL: unknown */
    double value;                                           /* NaN: diverged */
    int64_t step;
    const char *counts; /* sentences of each document, in order (text/metric/documents.h); NULL: unknown */
    db_stats stats;     /* {0} unless requested and present; summed by document if all runs name the same ones */
    size_t documents;   /* number of documents; 0: stats are by sentence */
    bool bare;          /* without statistics in the database */
    bool left_out;      /* the run's record left out this metric's statistics (DB_STATISTICS) */
} read_result;

typedef struct {
    int64_t id, seed;
    enum db_status status;
    bool recorded;     /* imported from a file, not trained here */
    bool late;         /* frozen after its row had a result (DB_LATE) */
    bool foreign;      /* recorded, and trained by another program (DB_IMPORTED) */
    bool model_of_run; /* it evaluated the model that another run trained */
    int64_t attempts, generation;
    int64_t step, total_steps;              /* -1 unknown */
    double queued_at, started_at, ended_at; /* seconds since 1970, NaN unknown */
    const char *owner;                      /* the process that runs it now, or NULL */
    /* fields of the last attempt: */
    const char *error; /* or NULL */
    /* "dev.ref HASH,test.ref HASH": files that its outputs were scored against; NULL: unknown */
    const char *references;
    const char *log_path, *host, *device, *git_commit;
    const char *check_failed;   /* the first failed check of one of its plugins, or NULL */
    const char *plugins_json;   /* as in db_provenance, or NULL */
    const char *plugins_loaded; /* plugins of the last `ablate run`, if from other files (DB_LOADED), or NULL */
    int64_t exit_code, signal;  /* -1: none */
    double parameters, flops_step, tokens_second, peak_memory; /* NaN unknown */
    double core_seconds;                                       /* processor time over all attempts; NaN unknown */
    double seconds;     /* duration over all attempts by a monotonic clock; older runs: from start to end */
    double future_seen; /* largest change of earlier losses by later tokens; NaN unknown */
    size_t n_results;
    const read_result *results;
} read_run;

const read_result *read_result_of(const read_run *run, const char *metric); /* NULL: none */
/* Returns the words after a run's status: " (recorded)", " (imported)" or "". */
const char *read_origin(const read_run *run);

/* One row of an experiment's table. */
typedef struct {
    const char *group, *name;
    const char *change;         /* "heads=1 d_k=512", or "" */
    const char *same_as;        /* the row that these runs belong to, or NULL */
    const char *paper_row;      /* or NULL */
    const char *not_applicable; /* why the row has no runs, or NULL */
    const char *config_json, *config_hash;
    bool is_base;
    bool exploratory; /* added when the experiment already had a result */
    size_t place;     /* number in the order of freezing, from 1, counting rows that the table leaves out; 0: base */
    size_t n_runs;
    const read_run *runs;   /* by seed */
    const char *data_check; /* dangers of the first done run's data: "3 of 9 test pairs also occur as ..."; or NULL */
    /* With READ_STATS, for settings searched by dev perplexity: log(perplexity / the chosen candidate's) of each
     * candidate in its last rung, averaged over trial_seeds; INFINITY: it failed. n_candidates 0: not searched. */
    size_t n_candidates, trial_seeds;
    const double *behind;
} read_row;

typedef struct {
    const char *name, *note, *headline, *paper_table; /* all but name may be NULL */
    const char *view;                                 /* name of the experiment's view in SQL */
    const char *analysis;                             /* JSON as in db_experiment_spec, or NULL */
    double created_at;
    bool has_recorded; /* the experiment has recorded runs (DB_RECORDED) */
    size_t older;      /* number of older runs, which the rows leave out (db.h) */
    size_t n_rows;
    const read_row *rows; /* in the table's order */
    size_t n_metrics;
    const char *const *metrics; /* metrics of any run, in order of first appearance */
} read_experiment;

/* BRIEF: a run's state, error and results' values; VALUES: everything but the per-sentence statistics. */
enum read_depth { READ_BRIEF, READ_VALUES, READ_STATS };
/* Returns an experiment's name without the suffix of recorded ones. */
const char *read_plain_name(const char *name, arena *a);
/* Reads the experiment of that name, else the recorded one (NAME.recorded); NULL: the one frozen last. Returns 0; 1 if
 * there is none of that name (no message); -1. */
int reader_experiment(reader *r, const char *name, enum read_depth depth, arena *a, read_experiment *out, err *e);

/* An experiment whose stored comparisons do not match its present results, and a text that identifies these results. */
typedef struct {
    const char *experiment, *results;
} read_stale;
/* experiment NULL: all experiments; "": the one frozen last. */
int reader_stale(reader *r, const char *experiment, arena *a, read_stale **out, size_t *n, err *e);
/* Lists the experiment's rows whose stored verdict is against another base than now, with the old base's hash. */
int reader_old_verdicts(reader *r, const char *experiment, arena *a, read_pair **out, size_t *n, err *e);

/* Reads the trials of an experiment's rows, in order. */
int reader_trials(reader *r, const char *experiment, arena *a, db_trial **out, size_t *n, err *e);

typedef struct {
    const char *name, *note, *paper_table; /* all but name may be NULL */
    double created_at;
    int64_t rows, runs, queued, running, done, failed, killed, skipped;
} read_listed;
/* Lists the experiments, oldest first. */
int reader_list(reader *r, arena *a, read_listed **out, size_t *n, err *e);
/* Fails with "found no experiment ...", the nearest name, or how to create one (name NULL). Returns -1. */
int reader_no_experiment(reader *r, const char *name, err *e);

/* Lists the recorded experiments (db_options.recorded). Functions here read these if the database lacks the name. */
int reader_recorded_names(reader *r, arena *a, const char *const **out, size_t *n, err *e);

/* Older runs (db.h) of an experiment of exactly this name, and the settings that differ from the row's present ones. */
typedef struct {
    int64_t run, seed;
    const char *row, *settings; /* settings may be NULL */
    enum db_status status;
    double ended_at;
} read_older;
int reader_older(reader *r, const char *experiment, arena *a, read_older **out, size_t *n, err *e);
/* All present and former rows of an experiment of exactly this name, base and present rows first. swept: the keys that
 * a row sets itself, each between blanks. ini, argv (JSON): as frozen last; NULL: there is no such experiment. */
typedef struct {
    const char *name, *hash, *json, *swept;
    bool archived, done;
} read_stored;
int reader_stored(reader *r, const char *experiment, arena *a, read_stored **out, size_t *n, const char **ini,
                  const char **argv, err *e);
int reader_older_count(reader *r, const char *experiment, size_t *n, err *e);
/* Lists the ids of all runs of an experiment of exactly this name, in its table or not; older: only older runs. */
int reader_all_runs(reader *r, const char *experiment, bool older, arena *a, int64_t **ids, size_t *n, err *e);

/* Runs held by Slurm jobs, by task ("17_3"), grouped by job. */
typedef struct {
    int64_t run;
    const char *experiment, *task;
} read_away;
int reader_away(reader *r, arena *a, read_away **out, size_t *n, err *e);

typedef struct {
    int64_t step;
    double value;
    double t; /* time of recording in seconds since 1970; NaN unknown */
} read_point;
typedef struct {
    const char *metric;
    size_t n;
    const read_point *points; /* by step */
} read_curve;
typedef struct {
    const char *experiment, *row;
    read_run run;
    const char *config_json;
    size_t n_attempts;
    size_t n_fields; /* number of pairs: known provenance of the last attempt */
    const read_pair *fields;
    size_t n_artifacts;
    const read_pair *artifacts; /* kind, path */
    size_t n_tags;
    const read_pair *tags;
} read_detail;
int reader_run(reader *r, int64_t run, arena *a, read_detail *out, err *e);
/* May this recorded path be opened? A stranger's database could name any file, so only regular files in a folder of the
 * run may. Returns 0 also if there is no such file; -1 and a message. */
int read_run_file(const read_detail *d, const char *path, err *e);
/* Appends a run's outputs for a split (ending "hyp") or their references ("ref"), a line each, from its files. */
int read_outputs(const read_detail *d, const char *split, const char *ending, str *out, err *e);
/* Reads the points of `metric`, or of every metric if it is NULL. */
int reader_curves(reader *r, int64_t run, const char *metric, arena *a, read_curve **out, size_t *n, err *e);
/* Finds a run by id, experiment/row or experiment/row@seed (default: the first seed); the row alone suffices if only
 * one experiment has it. Returns its id, or -1. */
int64_t reader_find_run(reader *r, const char *text, err *e);
/* Returns the path of a run's model, by the name of the run or of a file (run_file_name); the caller frees. NULL and e:
 * no such run, or it has no model. */
char *reader_model(reader *r, const char *name, err *e);
/* Finds all runs of that name: EXPERIMENT/ROW names every seed of the row. ids: n of them, by seed, in the arena. */
int reader_find_runs(reader *r, const char *text, arena *a, int64_t **ids, size_t *n, err *e);
/* Appends an INI that trains the run again, from the database alone. */
int reader_run_ini(reader *r, int64_t run, str *out, err *e);
#endif
