/* build.h - internal to this folder: data shared by the steps that read and expand an INI. Everything lives in the
 * spec's arena. Errors are collected, one per line, in build.errors; a step with errors continues if possible. */
#ifndef ABLATE_CONFIG_BUILD_H
#define ABLATE_CONFIG_BUILD_H
#include "base/cleanup.h"
#include "lab/config/spec.h"

/* Limits of an INI; exceeding one is an error. Reading takes linear time. */
enum {
    MOST_BYTES = 1 << 20,     /* bytes of a file */
    MOST_ERRORS = 100,        /* errors reported per file */
    MOST_VALUES = 10000,      /* values in a list, and in `seeds` */
    MOST_ALL_VALUES = 200000, /* values in all lists */
    MOST_PATTERNS = 1000,     /* patterns in `only` and in `exclude` */
    MOST_ROWS = 20000,        /* rows of an experiment */
    MOST_RUNS = 1000000       /* rows times seeds */
};

/* Is it white space inside of a line? */
static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* ---- names.c ---- */

typedef struct {
    const char *text;
    size_t number;
} numbered_name;
typedef struct {
    numbered_name *at;
    size_t n, cap;
} name_set; /* {0} is empty */

/* Adds a text, which is borrowed. If the set has an equal text, returns false, and that text's number in *was. */
bool name_set_add(name_set *s, const char *text, size_t number, size_t *was);
void name_set_free(name_set *s);

/* ---- reader.c: text -> sections of key = value ---- */

typedef struct {
    const char *where; /* "table3.ini:12", or "command line" */
    const char *key;
    const char *value; /* without comment and outer blanks, quotes kept */
} ini_entry;
typedef struct {
    const char *where;
    const char *title; /* the words between the brackets, single blanks between them */
    const char *path;  /* the last file with this section */
    ini_entry *at;
    size_t n, cap;
} ini_section;
typedef struct {
    ini_section *at;
    size_t n, cap;
    name_set titles; /* title -> index in `at`; freed after reading */
    name_set loaded; /* identities of the files; freed after reading */
    bool includes;   /* `at` has sections of included files */
} ini_file;

/* Splits text into sections. Reports invalid lines, duplicate sections, and `include`, which only ini_load allows. */
void ini_split(const char *text, size_t n, const char *path, ini_file *out, arena *a, str *errors);
/* Reads an INI and the files that its lines `include = FILE` name, beside it. Their sections come first. If a
 * section sets a key twice, the later value counts. *text: the file's text or, with includes, one INI of all sections.
 * False: the file cannot be read (too large, zero bytes). Errors are reported. */
bool ini_load(const char *path, ini_file *out, str *text, arena *a, str *errors);
/* Is there room for one more line of errors? After MOST_ERRORS lines, one line says that more errors are omitted. */
bool room_for_error(str *errors);
/* Appends to a section; the strings are borrowed. */
void ini_add(ini_section *s, ini_entry e, arena *a);

/* ---- values.c: one entry -> checked values ---- */

typedef struct {               /* heads/d_k = 1/512, 4/128: m = 2 keys, n = 2 items */
    const char *where, *label; /* label: the key as written */
    size_t m, n, cap;
    const char **keys;   /* [m], full names ("rotary.base") */
    const char ***items; /* [n][m] canonical values; NULL: invalid */
    bool bad;            /* a value or the key is invalid */
} value_list;

typedef struct {
    const plugin_schema *schema;
    const char *path; /* path as written in the INI; NULL: the INI names the plugin without a path */
    const char *file; /* the absolute path */
} known_plugin;

typedef struct { /* one experiment being built */
    spec *s;
    arena *a; /* &s->mem */
    str *errors;
    const plugin_schemas *plugins;
    known_plugin *known;
    size_t n_known, cap_known;
    settings base;          /* all core keys but seed, and the parameters of plugins that the INI sets for all rows */
    settings defaults;      /* defaults of parameters that plugins of the rows have and [base] does not set */
    ini_entry *base_params; /* the entries that set plugin parameters for all rows (key: the full name) */
    size_t n_base_params, cap_base_params;
    const char **row_where; /* [s->n_rows]: "FILE:LINE" of each row */
    name_set row_names;
    size_t n_values;        /* values in all lists so far */
    const char *only_where; /* "FILE:LINE" of `only`, or the command line */
    size_t cap_rows;
    const spec_options *options;
    size_t cap_designs, cap_conditions; /* capacities of lists in s->analysis */
} build;

/* Returns array `old` of n elements with room for one more, in the arena. */
void *build_room(void *old, size_t *cap, size_t n, size_t size, arena *a);

/* Appends "where: key: message\n" to the errors. Returns false. */
bool complain(build *b, const char *where, const char *key, const char *fmt, ...) PRINTF_LIKE(4, 5);
bool complain_twice(build *b, const char *where, const char *key, const char *first); /* first: where it was set */
/* Splits text at `mark` outside quotes; parts are trimmed, quotes kept. */
size_t split_text(const char *text, char mark, const char ***parts, arena *a);
const char *unquote(const char *text, arena *a);
/* Checks keys and values of one entry. prefix: the plugin of a [PLUGIN] section, or NULL. */
value_list read_list(build *b, const char *prefix, const ini_entry *e);
/* The parameter of a full key, or NULL. Searches a dotted key in every known plugin of that name. */
const ab_option *key_param(const build *b, const char *key);
/* The absolute form of a path in the INI (relative to the file) or on the command line. */
const char *absolute_path(const spec *s, const char *where, const char *path, arena *a);
void absolute_folders(const spec *s, const char *where, const char *folders, str *out); /* appends them as "a:b" */
extern const char COMMAND_LINE[]; /* `where` of settings from -s */
/* The plugin that a core key's value names, or NULL. */
const known_plugin *known_of(const build *b, const char *kind, const char *value);
const plugin_schema *value_plugin(const build *b, const char *kind, const char *value);
/* Integers: "1, 2, 5..8, 1..9:2". False after a complaint. */
bool read_seeds(build *b, const char *where, const char *text);

/* ---- experiment.c: [experiment] ---- */

/* Reads the section (NULL: the file has none) and its replacements from the command line. */
void read_experiment(build *b, const ini_section *s, const spec_options *o);

/* ---- rows.c: values -> rows ---- */

typedef struct {
    setting *at;
    size_t n;
} assignment; /* one row's own settings, in order */

/* Rows of one [sweep]: its lists combined according to `combine` (NULL, "each", "grid" or "zip"). False after a
 * complaint. */
bool combine_lists(build *b, const char *where, const ini_entry *combine, const value_list *lists, size_t n_lists,
                   assignment **out, size_t *n);
/* Removes the rows that match `exclude` ("heads=32 layers=8, heads=1"). False after a complaint. */
bool exclude_rows(build *b, const ini_entry *exclude, assignment *rows, size_t *n);
/* A row's change, as the table shows it: without bookkeeping keys, unless the row changes only such keys. */
const char *change_text(build *b, const assignment *set);
/* "heads=1 d_k=512" */
const char *assignment_text(const build *b, const assignment *set);
/* Appends a row; NULL after a complaint. where: for messages. paper_row may be NULL. */
spec_row *add_row(build *b, const char *where, const char *group, const char *name, const assignment *set,
                  const char *paper_row);

/* ---- read_analysis.c: design and analysis of the experiment ---- */

/* "tune(LOW .. HIGH, N)" as canonical text. NULL after a complaint, or if the text is no search (*is_tune false). */
const char *tune_canonical(build *b, const value_list *l, const char *text, bool *is_tune);
/* Parses a canonical text. */
bool tune_read(const build *b, const char *key, const char *text, spec_tune *out);
/* The middle of a search's range, as canonical text: the row's value until the search has chosen one. */
const char *tune_middle(build *b, const spec_tune *t);
/* "until 0.5 BLEU, at most 20": fills b->s->until. False for a list of seeds, or after a complaint (*bad). */
bool read_until(build *b, const char *where, const char *text, bool *bad);
void read_match(build *b, const char *where, const char *text); /* params | flops | time, then "by KEY" */
void read_criterion(build *b, const ini_entry *at, size_t n);
/* Makes the rows of a two-level design, whose factors are the sweep's lists: all 2^k combinations, or a fraction with
 * the given resolution. */
bool factorial_rows(build *b, const ini_entry *factorial, const ini_entry *resolution, const char *group,
                    const value_list *lists, size_t n_lists, assignment **out, size_t *n);
/* Adds every row at every size of the list: "ROW @ d_model=64". */
void scale_rows(build *b, const value_list *sizes);
/* Adds a copy of each of the first `rows` rows, including base, with the settings of a condition: row "ROW @ NAME" in
 * group NAME. */
void condition_rows(build *b, const char *where, const char *name, const assignment *set, size_t rows);
spec_row *row_called(build *b, const char *name); /* NULL: none */
/* Checks rows with a base of their own and computes their changes from it. Call it after all rows are added. */
void find_bases(build *b);

/* ---- slurm.c: [slurm] ---- */

void read_slurm(build *b, const ini_entry *at, size_t n); /* fills b->s->slurm and the derived fields */
void slurm_reference(FILE *f);                            /* the keys of [slurm] as Markdown */

/* ---- finish.c: the rows' settings, config, JSON, hash; equal rows; unused plugin parameters; selection ----
 */

void finish_rows(build *b);
#endif
