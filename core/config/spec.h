/* spec.h - an experiment: an INI file expanded into the rows of an ablation table.
 *
 * Read it with spec_read; then every row has its full settings, its typed config, its JSON and its hash. Runs
 * are the rows with `run` set, times the seeds. spec_print writes the expansion as an INI that reads back to
 * the same rows.
 *
 * Ownership: a spec owns everything in it (spec_free); plugin schemas are borrowed and must outlive it.
 */
#ifndef ABLATE_SPEC_H
#define ABLATE_SPEC_H
#include "config/config.h"

typedef struct {             /* what the INI needs to know of a plugin */
    const char *kind, *name; /* kind: of AB_KINDS */
    const ab_param *params;  /* ends with {0}; NULL: none */
} plugin_schema;

typedef struct { /* the plugins that may be named */
    const plugin_schema *list;
    size_t n;
    /* A value that holds a slash or ends in .so is a path: opens it and returns its schema (owned by the
     * callee, alive as long as the spec), or NULL and words. May be NULL: then paths are refused. */
    const plugin_schema *(*open)(void *user, const char *kind, const char *path, err *e);
    void *user;
} plugin_schemas;

typedef struct { /* lr = tune(1e-4 .. 1e-2, 5): a search */
    const char *key;
    double low, high;
    int64_t n;  /* candidates */
    bool whole; /* integers */
    const char *text; /* as printed in an INI */
} spec_tune;

typedef struct {           /* one row of the table: a config without its seed */
    const char *group;     /* "A" for [sweep A]; "" for base and for a variant without `group` */
    const char *name;      /* "base", "A/heads=1", "big"; unique in the experiment */
    const char *changed;   /* "heads=1 d_k=512": what the row sets; "" for base */
    const char *paper_row; /* row of the published table that this one is shown beside; default: the name */
    size_t order;          /* 0 is base; the order of the table */
    bool is_base;
    bool selected;     /* chosen by `only`; everything is without it */
    bool run;          /* to be trained: the first of equal rows, if any of them is selected */
    int same_as;       /* index of the earlier row with the same hash, or -1 */
    settings swept;    /* the keys this row sets itself, as in the INI */
    settings given;    /* all settings before resolution ("auto" and "same" kept) */
    settings settings; /* all settings, resolved: every core key but seed, then the parameters of the plugins
                          in use */
    settings placed;   /* the same with absolute paths of plugins: for loading, and in json */
    config config;     /* the settings, typed; seed is 1 until the caller sets it */
    size_t n_seeds;    /* so many of the spec's seeds, 0: all; set by whoever adds seeds where rows are undecided */
    spec_tune *tunes;  /* keys of this row that are still to be searched: their settings are the middle of the range */
    size_t n_tunes;
    const char *json;  /* `placed` as JSON */
    char hash[65];     /* of the settings: paths of plugins as they are written */
} spec_row;

typedef struct {
    arena mem;
    const char *path; /* as given to spec_read */
    const char *text; /* the file's text */
    size_t n_text;
    const char *name, *note; /* of the experiment; name defaults to the file's name without .ini */
    const char *paper;       /* published table it stands beside ("table3"), or "" */
    const char *seeds_text;  /* as written: "1..3" */
    int64_t *seeds;
    size_t n_seeds;
    const char **only; /* patterns that chose rows */
    size_t n_only;
    spec_row *rows; /* rows[0] is base */
    size_t n_rows;
    size_t n_runs; /* rows with run set x seeds */
    str warnings;  /* a line each; may be empty */
    /* How the experiment is set up and judged (analysis.c; docs/ini.md). */
    struct {
        const char *metric;
        double effect;
        int64_t most; /* 0: seeds are a list */
    } until;          /* seeds = until EFFECT METRIC, at most N */
    struct {
        bool given;
        const char *metric; /* "": the table's */
        double margin, level; /* margin 0: none */
        int64_t seeds;
    } criterion;
    settings slurm;            /* [slurm] as written; changes no result */
    const char *slurm_options; /* the same for sbatch: "--partition=cpu --time=4:00:00", "" where there is none */
    int64_t slurm_per_task;    /* its runs_per_task; 0: not given */
    const char *match, *match_key; /* "params", "flops" or "time", and the key that is solved for; "": none */
    const char *analysis;          /* all of this as JSON for the database; NULL: none of it */
} spec;

typedef struct {            /* from the command line; {0} is none. Borrowed */
    const char *const *set; /* key=value, with the INI's list and slash grammar */
    size_t n_set;
    const char *const *only; /* row name, group or glob; replaces `only` of the file */
    size_t n_only;
    const char *seeds; /* "1,2,3" or "1..3"; replaces `seeds` of the file; NULL: the file's */
    const struct spec_chosen *chosen; /* values found by a search or by matching, n_chosen of them */
    size_t n_chosen;
} spec_options;

/* The value that a row has for a key, whatever the file says: what a search chose, or what matching solved for. */
typedef struct spec_chosen {
    const char *row, *key, *value;
} spec_chosen;

/* Returns 0, or -1 with every error found, a line each ("file:line: key: found ..., expected ...; did you
 * mean ...?"), in *errors. The spec is empty then. options may be NULL. */
int spec_read(spec *s, const char *path, const spec_options *options, const plugin_schemas *plugins,
              str *errors);
/* The same from text in memory; `path` is what messages name. */
int spec_parse(spec *s, const char *text, const char *path, const spec_options *options,
               const plugin_schemas *plugins, str *errors);
void spec_free(spec *s);
/* Where the file and -s say that further plugins lie (`plugin_path` of [base]): to be known before spec_read,
 * which checks names of plugins. Nothing else is looked at, and no error is reported. `out` is cleared first.
 */
void spec_plugin_path(const char *path, const spec_options *options, str *out);

/* The expansion as an INI: [base] in full, each row a [variant]. Reading it gives the same rows, names,
 * groups, hashes. */
void spec_print(const spec *s, FILE *f);

/* "key = value\n", quoted where the reader would take the value apart. */
void spec_put_setting(str *out, const char *key, const char *value);

/* The INI reference as Markdown: the grammar, the core's keys, the parameters of the plugins given. */
void config_reference(FILE *f, const plugin_schemas *plugins);
#endif
