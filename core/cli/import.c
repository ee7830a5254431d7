/* import.c - ablate import: reads recorded experiments, and runs of other trainers, into the database. */
#include "cli/options.h"
#include "lab/foreign/foreign.h"

typedef struct {
    foreign_options f;
    int result;
    bool dry_run, own_name;
} import_options;

static int import_foreign(const invocation *c, const import_options *o, err *e)
{
    foreign_options wanted = o->f;
    foreign f;
    CLEANUP(str_free) str text = {0};
    size_t runs = 0;
    double score;
    wanted.best = o->result == 1;
    if (wanted.failed_as && !parse_real(wanted.failed_as, &score))
        return fail(e, "--failed-as %s: expected a number", wanted.failed_as);
    int rc = foreign_read(c->word, c->n_words, &wanted, &f, e);
    if (!rc) foreign_describe(&f, &wanted, &text);
    if (!rc && c->verbosity >= 0) fputs(str_text(&text), stderr);
    if (!rc && !o->dry_run) {
        db *d = db_open(&c->p.db, e);
        rc = d ? foreign_store(d, &f, &wanted, &runs, e) : -1;
        db_close(d);
        if (!rc)
            call_say(c, "%s: %zu run%s imported; ablate table %s\n", wanted.name, runs, runs == 1 ? "" : "s",
                     wanted.name);
    }
    foreign_free(&f);
    return rc;
}

static int import_recorded(const invocation *c, const import_options *o, err *e)
{
    db *d = db_open(&c->p.db, e);
    int rc = d ? 0 : -1;
    for (size_t i = 0; i < c->n_words && !rc; i++) {
        size_t runs = 0;
        rc = db_import(d, c->word[i], o->own_name, &runs, e);
        if (!rc && !runs) call_say(c, "%s: nothing to add, the database has these runs\n", c->word[i]);
        if (!rc && runs) call_say(c, "%s: %zu run%s added\n", c->word[i], runs, runs == 1 ? "" : "s");
    }
    db_close(d);
    return rc;
}

static int import(const invocation *c, void *options)
{
    const import_options *o = options;
    err e = {0};
    char name[64];
    for (const option *p = c->what->options; p->type != OPTION_DB && !o->f.name; p++) {
        if (!c->given[p - c->what->options]) continue;
        option_name(p, name);
        return call_usage(c, "%s is only for files of another program: expected --as NAME", name);
    }
    if (o->f.name && o->own_name) return call_usage(c, "--continue is only for records: expected no --as");
    return (o->f.name ? import_foreign(c, o, &e) : import_recorded(c, o, &e)) ? call_failed(c, &e) : 0;
}

#define AT(member) offsetof(import_options, member)
static const option options[] = {
    {"--as", "NAME", "the files are another program's (docs/import.md): import their runs as this experiment",
     OPTION_TEXT, AT(f.name)},
    {"--row", "COLUMN", "the column that names rows [row]; several columns form the name", OPTION_LIST, AT(f.row)},
    {"--seed", "COLUMN", "the column of training seeds [seed]", OPTION_TEXT, AT(f.seed)},
    {"--step", "COLUMN", "the column of steps or epochs [step]", OPTION_TEXT, AT(f.step)},
    {"--metric", "NAME", "a metric to import: a column, or a name in the column \"metric\"; the first is judged",
     OPTION_LIST, AT(f.metrics)},
    {"--example", "COLUMN", "the column that names examples, if each score is of one example [example]", OPTION_TEXT,
     AT(f.example)},
    {"--setting", "COLUMN", "a column with a setting: one value for all runs of a row", OPTION_LIST, AT(f.settings)},
    {"--base", "ROW", "the row that others are compared with [the first]", OPTION_TEXT, AT(f.base)},
    {"--lower-is-better", "METRIC", "lower values are better [no direction: no verdict]", OPTION_LIST, AT(f.lower)},
    {"--higher-is-better", "METRIC", "higher values are better [no direction: no verdict]", OPTION_LIST, AT(f.higher)},
    {"--margin", "X", "differences up to X count as equivalent; fix X before the runs [0: no margin]", OPTION_REAL,
     AT(f.margin), 0, 0},
    {"--failed-as", "X", "score of a run that failed or lacks a value [its row gets no verdict]", OPTION_TEXT,
     AT(f.failed_as)},
    {"--result", "last|best", "if runs have steps: the evaluation that counts [last]", OPTION_WORD, AT(result)},
    {"--note", "TEXT", "a note, shown below the table", OPTION_TEXT, AT(f.note)},
    {"--dry-run", NULL, "with --as: only print how columns are read", OPTION_FLAG, AT(dry_run)},
    OPTION_DATABASE, /* those above are for other programs' files */
    {"--continue", NULL, "import a record as the experiment itself, not as NAME.recorded: `ablate run` continues it",
     OPTION_FLAG, AT(own_name)},
    {0}};
const command import_command = {
    .name = "import",
    .part = FOR_RESULTS,
    .does = "import runs of other trainers, or recorded experiments, into the database",
    .about = "With --as: CSV, TSV, JSON lines, TensorBoard event files, W&B's CSV exports, transformers' "
             "trainer_state.json or a folder of lm-eval's results. Importing again under the same name replaces what "
             "was imported. docs/import.md has the formats and limits. Without --as: files that `ablate record` wrote.",
    .arguments = "FILE...",
    .missing = "expected a file",
    .options = options,
    .size = sizeof(import_options),
    .run = import,
    .example = "ablate import results.csv --as mine --metric acc --higher-is-better acc"};
