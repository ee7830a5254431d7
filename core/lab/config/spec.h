/* spec.h - an experiment: an INI file expanded into the rows of an ablation table.
 *
 * After spec_read, every row has its full settings, typed config, JSON and hash. Runs are the rows with `run` set,
 * times the seeds. spec_print writes the expansion as an INI that gives the same rows.
 *
 * Ownership: a spec owns everything in it (spec_free); plugin schemas are borrowed and must outlive it.
 */
#ifndef ABLATE_SPEC_H
#define ABLATE_SPEC_H
#include "lab/config/analysis.h"
#include "network/settings/config.h"

typedef struct {              /* a plugin, as the INI reader sees it */
    const char *kind, *name;  /* kind: one of AB_KINDS */
    const ab_option *params;  /* ends with {0}; NULL: none */
    const char *const *calls; /* names of other attention plugins that this one calls; NULL: none */
} plugin_schema;

typedef struct { /* the available plugins */
    const plugin_schema *list;
    size_t n;
    /* Opens the plugin at a path (a value with a slash or ending in .so) and returns its schema (owned by the
     * callee, valid as long as the spec), or NULL and a message. NULL: paths are not allowed. */
    const plugin_schema *(*open)(void *user, const char *kind, const char *path, err *e);
    void *user;
} plugin_schemas;

typedef struct { /* lr = tune(1e-4 .. 1e-2, 5, seeds 2, extend): a search */
    const char *key;
    double low, high, least, most; /* least, most: the key's limits */
    int64_t n, seeds;              /* n: number of candidates; seeds: runs of each candidate */
    bool whole, extend;            /* whole: integers only; extend: the search may leave the range */
    const char *text;              /* as printed in an INI */
} spec_tune;

typedef struct {           /* one row of the table: a config without its seed */
    const char *group;     /* "A" for [sweep A]; "" for base and for a variant without `group` */
    const char *name;      /* "base", "A/heads=1", "big"; unique in the experiment */
    const char *changed;   /* "heads=1 d_k=512": the row's settings; "" for base */
    const char *base;      /* name of the row to compare with; NULL: base. A row that is a base has its own name here */
    const char *size_base; /* name of base at this row's size; NULL: [scale] did not add this row */
    const char *paper_row; /* row of the published table to compare with; default: the name */
    size_t order;          /* place in the table's order; 0: base */
    bool is_base;
    bool selected;     /* by `only`; without `only` all rows are selected */
    bool run;          /* this row is trained: of equal rows only the first is, if any of these rows is selected */
    int same_as;       /* index of the earlier row with the same hash, or -1 */
    settings swept;    /* the keys this row sets itself, as in the INI */
    settings given;    /* all settings before resolution ("auto" and "same" kept) */
    settings settings; /* all settings, resolved: every core key but seed, then the parameters of the plugins
                          in use */
    settings placed;   /* the settings with absolute paths of plugins: for loading, and in json */
    config config;     /* the settings, typed; seed is 1 until the caller sets it */
    size_t n_seeds;    /* how many of the spec's seeds the row trains; 0: all. Rows differ with `base =` and `until` */
    spec_tune *tunes;  /* keys of this row that still need a search: their settings are the middle of the range */
    size_t n_tunes;
    settings searched; /* the row's searches as text, by key, whether finished or not */
    const char *json;  /* `placed` as JSON */
    char hash
        [65]; /* hash of the settings, with paths of plugins as written; equals `planned` while a search is pending */
    char planned[65]; /* hash of the settings with searches in place of their results; "": none */
} spec_row;

typedef struct {
    arena mem;
    const char *path;        /* as given to spec_read */
    const char *text;        /* the file's text */
    const char *name, *note; /* the experiment's name and note; name defaults to the file's name without .ini */
    const char *paper;       /* published table to compare with ("table3"), or "" */
    const char *seeds_text;  /* as written: "1..3" */
    int64_t *seeds;
    size_t n_seeds;     /* number of seeds; rows may use fewer */
    size_t n_row_seeds; /* seeds of a row that is not a base of others */
    int64_t base_seeds; /* the number after `base =`, or BASE_AUTO; 0: as many as other rows */
    const char **only;  /* patterns that select rows */
    size_t n_only;
    spec_row *rows; /* rows[0] is base */
    size_t n_rows;
    size_t n_runs;             /* rows with run set, each times its seeds */
    str warnings;              /* one per line; may be empty */
    analysis analysis;         /* how the experiment is set up and judged */
    settings slurm;            /* [slurm] as written; changes no result */
    const char *slurm_options; /* the [slurm] keys as sbatch options: "--partition=cpu --time=4:00:00", or "" */
    int64_t slurm_per_task;    /* runs_per_task of [slurm]; 0: not given */
} spec;

typedef struct {            /* from the command line; {0}: not given. Borrowed */
    const char *const *set; /* key=value, with the INI's list and slash grammar */
    size_t n_set;
    const char *const *only; /* row name, group or glob; replaces `only` of the file */
    size_t n_only;
    const char *seeds;                /* "1,2,3" or "1..3"; replaces `seeds` of the file; NULL: the file's */
    const struct spec_chosen *chosen; /* values found by a search or by matching, n_chosen of them */
    size_t n_chosen;
} spec_options;

/* A value that overrides the file for a row and key: chosen by a search or solved by matching. */
typedef struct spec_chosen {
    const char *row, *key, *value;
} spec_chosen;

enum { BASE_AUTO = -1 }; /* base trains sqrt(rows) times as many seeds (Dunnett 1955), rounded up */
size_t spec_base_auto(size_t seeds, size_t rows);
size_t spec_seeds(const spec *s, const spec_row *row);      /* how many seeds the row trains */
void spec_seeds_text(const spec *s, size_t rows, str *out); /* "5 seeds", "5 seeds, 20 of base"; rows: a row's seeds */

/* Returns 0, or -1 with every error found, one per line ("file:line: key: found ..., expected ...; did you
 * mean ...?"), in *errors. The spec is empty then. options may be NULL. */
int spec_read(spec *s, const char *path, const spec_options *options, const plugin_schemas *plugins, str *errors);
/* spec_read from text in memory; `path` is used in messages. */
int spec_parse(spec *s, const char *text, const char *path, const spec_options *options, const plugin_schemas *plugins,
               str *errors);
void spec_free(spec *s);
/* The plugin folders given by the file and -s (`plugin_path` of [base]), needed before spec_read,
 * which checks names of plugins. Ignores everything else and reports no errors. `out` is cleared first.
 */
void spec_plugin_path(const char *path, const spec_options *options, str *out);

/* Appends the keys that an INI sets for all rows, by present name, each followed by a blank. Reports no errors. */
void spec_names(const char *text, str *out);
/* Appends the keys of one line (n bytes) in the same form. section: the plugin of its section, or NULL. */
void spec_add_names(const char *keys, size_t n, const char *section, str *out);

/* Successive halving (search.c): number of rungs for `candidates` trials; how many of `alive` trials go on. */
enum { SEARCH_RUNGS = 3 };
size_t search_rungs(size_t candidates);
size_t search_promoted(size_t alive);

/* Prints the expansion as an INI: [base] in full, each row a [variant]. Reading it gives the same rows, names,
 * groups, hashes. */
void spec_print(const spec *s, FILE *f);

/* Appends "key = value\n", quoted if the reader would split the value. */
void spec_write_setting(str *out, const char *key, const char *value);

/* Prints the INI reference as Markdown: the grammar, the core keys, the parameters of the given plugins. */
void config_reference(FILE *f, const plugin_schemas *plugins);
#endif
