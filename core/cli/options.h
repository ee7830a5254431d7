/* options.h - the description of a command: name, arguments, options. One table generates parsing, ranges, usage,
 * --help, completion and the man page.
 *
 * A command is one file in core/cli/ (CONTRIBUTING.md, "A command"); the build collects each `const command
 * NAME_command` (commands.cmake).
 *
 * Every command also takes -h, --help, -q, --quiet, -v and --verbose. An option's value follows it, or an equals sign
 * (--layer=2); after -- there are no options. Exit codes: 0; 1: failure; 2: invalid command line, which prints the
 * usage.
 */
#ifndef ABLATE_OPTIONS_H
#define ABLATE_OPTIONS_H
#include "base/cleanup.h"
#include "lab/sweep/run.h"

/* Table rows omit unused fields. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

typedef enum {
    OPTION_FLAG,       /* bool */
    OPTION_TEXT,       /* const char * */
    OPTION_WORD,       /* int: index of the word in `value` */
    OPTION_COUNT,      /* int64_t from `least` to `most` */
    OPTION_COUNT_BARE, /* int64_t, but the value is optional: -1 without it */
    OPTION_REAL,       /* double from `least` to `most`; most 0: no upper limit */
    OPTION_LIST,       /* text_list */
    OPTION_DB,         /* the database: invocation.p.db.path */
    OPTION_PLUGINS     /* plugin folders: passed to plugin_add_path */
} option_type;

/* The words that completion offers. */
typedef enum {
    CHOICES_FILES, /* the shell's own completion */
    CHOICES_SPLITS,
    CHOICES_OWN,  /* the words of `value` ("auto|cpu|cuda") or of a command's `one_of` */
    CHOICES_KEYS, /* key= of an INI, then its values */
    CHOICES_EXPERIMENTS,
    CHOICES_RUNS,
    CHOICES_ROWS, /* rows of the INI on the command line */
    CHOICES_PLUGINS,
    CHOICES_CORPORA
} choices_kind;

typedef struct {
    const char *name;  /* all names, the documented one first: "--output -o" */
    const char *value; /* placeholder for the value: "FILE", or the allowed words: "text|md|json"; NULL: a flag */
    const char *help;  /* its effect, for --help */
    option_type type;
    size_t at; /* offset in the command's struct of options */
    double least, most;
    bool required;
    choices_kind choices; /* CHOICES_FILES means CHOICES_OWN if `value` lists words */
} option;

#define OPTION_DATABASE                                                                                                \
    {                                                                                                                  \
        "--db", "FILE", "database file [results.db, or $ABLATE_DB]", OPTION_DB, 0, 0, 0, false, CHOICES_FILES          \
    }

#define OPTION_JSON(at)                                                                                                \
    {                                                                                                                  \
        "--json", NULL, "print JSON (docs/json.md)", OPTION_FLAG, at                                                   \
    }

#define OPTION_PLUGIN_PATH                                                                                             \
    {                                                                                                                  \
        "--plugin-path", "FOLDERS", "additional plugin folders, separated by colons", OPTION_PLUGINS                   \
    }

#define OPTION_RUN(at)                                                                                                 \
    {                                                                                                                  \
        "--run --model", "RUN",                                                                                        \
            "a trained run (number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED) or a model file (.safetensors)",            \
            OPTION_TEXT, at, .choices = CHOICES_RUNS                                                                   \
    }

/* The parts of `ablate help`. */
#define COMMAND_PARTS(X)                                                                                               \
    X(TRAINING, "experiments")                                                                                         \
    X(RESULTS, "results")                                                                                              \
    X(MODELS, "trained models")                                                                                        \
    X(DATA, "data")                                                                                                    \
    X(PLUGINS, "plugins and keys")                                                                                     \
    X(SPEED, "speed")                                                                                                  \
    X(PROGRAM, "the program")
#define COMMAND_PART(part, title) FOR_##part,
typedef enum { COMMAND_PARTS(COMMAND_PART) } command_part;

typedef struct invocation invocation;
typedef struct {
    const char *name; /* one or two words: "show", "score bleu" */
    command_part part;
    const char *does;      /* one-line description; NULL: the command is not listed */
    const char *about;     /* longer description for --help; or NULL */
    const char *arguments; /* as in the usage, which gives their number: "RUN", "[NAME]", "FILE FILE..."; or NULL */
    const char *missing;   /* error message if arguments are missing; or NULL */
    choices_kind choices;  /* kind of arguments */
    const char *one_of;    /* "bash|zsh|fish": words of the first argument */
    bool verbatim;         /* no options: the command reads argv itself */
    const option *options; /* ends with {0}; NULL: no options */
    const void *defaults;  /* default values: a struct of `size` bytes */
    size_t size;
    int (*run)(const invocation *c, void *options); /* the exit code */
    const char *example;                            /* a command line, with an explanation after "    # " */
} command;

enum { MOST_OPTIONS = 64 };
struct invocation {
    const command *what;
    places p;
    int argc; /* as typed, argv[0] the command's name */
    char **argv;
    const char **word; /* [n_words] arguments that are no options */
    size_t n_words;
    int verbosity;            /* -1: quiet, 0, 1: verbose */
    bool given[MOST_OPTIONS]; /* by index in the command's table */
};

/* All commands by name, n of them: made by the build (commands.cmake). */
extern const command *const all_commands[];
extern const size_t n_commands;
extern const char program_name[]; /* "ablate" */

/* Parses argv and runs the command. Returns the exit code. */
int command_run(const command *what, int argc, char **argv, const places *p);
/* Finds the command named by argv[1] and perhaps argv[2]; *used: number of words in its name. NULL: unknown, or only
 * the first word of several commands ("score"). */
const command *command_find(int argc, char **argv, int *used);

/* Returns the replacement of a removed command (option "") or option; NULL: not removed. */
const char *old_word(const char *command, const char *option);
/* Prints "ablate NAME: words" on standard error. Returns 1. */
int call_failed(const invocation *c, const err *e);
/* Prints "ablate NAME: words" and the usage on standard error. Returns 2. */
int call_usage(const invocation *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Prints information on standard error, unless -q. */
void call_say(const invocation *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- generated from the table (help.c, all.c, man.c, completion.c) ---- */

void command_usage(const command *what, str *out); /* "usage: ablate show RUN [--json] ..." */
void command_help(const command *what, str *out);
void commands_overview(str *out);                  /* writes `ablate help` */
void group_help(const char *first, str *out);      /* writes the commands of "score" */
size_t option_name(const option *o, char out[64]); /* copies the option's first name */
/* does the word name this option? *n: length of the name, after which a value may follow */
bool option_is(const option *o, const char *word, size_t *n);
/* Copies the i-th of a value's words "a|b|c" to out; false past the last one. */
bool value_word(const char *value, int i, char out[64]);
const option *const *options_common(void); /* -h, -q, -v; ends with NULL */
#endif
