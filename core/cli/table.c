/* table.c - ablate table: prints an experiment's table, or a paper's. */
#include "lab/report/table.h"
#include "cli/options.h"
#include "lab/report/across.h"
#include "lab/report/columns.h"
#include "lab/report/store.h"

typedef struct {
    text_list metrics;
    int format, vs, stats; /* indices of the chosen words; -1: vs or stats not given */
    double sustained;      /* TFLOPS */
    const char *caption, *label, *page, *to;
    bool json, columns;
} table_command_options;

/* Prints the available columns. */
static int describe(const invocation *c, enum table_format format)
{
    CLEANUP(str_free) str out = {0};
    CLEANUP(grid_free) grid t = {0};
    if (format == TABLE_JSON) return call_usage(c, "--columns: found --format json, expected text, md, latex or csv");
    columns_describe(&t);
    grid_print(&t, format, &out);
    fputs(str_text(&out), stdout);
    return 0;
}

static int table(const invocation *c, void *options)
{
    const table_command_options *o = options;
    err e = {0};
    CLEANUP(str_free) str out = {0}, ini = {0};
    table_options t = {.metrics = o->metrics.at,
                       .n_metrics = o->metrics.n,
                       .vs_paper = o->vs == 0,
                       .vs_recorded = o->vs == 1,
                       .full = o->stats == 0,
                       .caption = o->caption,
                       .label = o->label,
                       .sustained = o->sustained * 1e12};
    enum table_format f = o->json ? TABLE_JSON : o->page ? TABLE_MD : (enum table_format)o->format;
    const char *name = c->n_words ? c->word[0] : NULL;
    if ((o->caption || o->label) && f != TABLE_LATEX)
        return call_usage(c, "--%s: only valid with --format latex", o->caption ? "caption" : "label");
    if (o->columns) return describe(c, f);
    if (c->n_words > 1 &&
        (o->vs >= 0 || o->stats >= 0 || o->page || o->sustained > 0 || o->metrics.n > 1 || f > TABLE_CSV))
        return call_usage(c,
                          "several experiments allow only one --metric, --output, and --format text, md, latex or csv");
    if (c->n_words > MOST_TASKS)
        return call_usage(c, "found %zu experiments, expected at most %d", c->n_words, MOST_TASKS);
    for (size_t i = 0; i < c->n_words; i++)
        for (size_t k = 0; k < i; k++)
            if (same(c->word[i], c->word[k]))
                return call_usage(c, "found %s twice, expected different experiments", c->word[i]);
    if (f == TABLE_TEXT) f = TABLE_TERMINAL;
    if (c->n_words > 1) {
        across_options how = {o->metrics.n ? o->metrics.at[0] : NULL, o->to, (int)f};
        return across_print(&c->p.db, c->word, c->n_words, &how, &e) ? call_failed(c, &e) : 0;
    }
    if (o->to) return call_usage(c, "--output draws several experiments; for one, use `ablate plot`");
    if (o->page && file_read(o->page, &ini, &e)) return call_failed(c, &e);
    if (o->page) t.ini = str_text(&ini);
    /* a published table and a recorded experiment need no database */
    bool no_file = !file_exists(c->p.db.path), alone = no_file && table_is_published(name);
    reader *r = alone ? NULL : (name ? reader_open_any : reader_open)(&c->p.db, &e);
    int rc = r || alone ? table_print(r, name, &t, f, &out, &e) : -1;
    reader_close(r);
    if (!rc) fputs(str_text(&out), stdout);
    if (!rc && !no_file) rc = store_comparisons(&c->p.db, name ? name : "", &e);
    return rc ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(table_command_options, field)
static const table_command_options defaults = {.vs = -1, .stats = -1};
static const option options[] = {
    {"--metric", "M", "print only this column", OPTION_LIST, AT(metrics)},
    {"--format", "text|md|latex|csv|json", "output format [text]; csv and json have full precision", OPTION_WORD,
     AT(format)},
    {"--vs", "paper|recorded", "compare with the paper's figures or with recorded runs", OPTION_WORD, AT(vs)},
    {"--stats", "full", "print all statistics (docs/statistics.md)", OPTION_WORD, AT(stats), .choices = CHOICES_OWN},
    {"--columns", NULL, "describe the columns of tables instead of printing a table", OPTION_FLAG, AT(columns)},
    {"--sustained", "TFLOPS",
     "sustained rate of your device, for the training cost by the paper's formula [the paper's rates of its four GPUs]",
     OPTION_REAL, AT(sustained), 0, 0},
    {"--caption", "TEXT", "with latex: the caption [name, seeds and statistics]", OPTION_TEXT, AT(caption)},
    {"--label", "KEY", "with latex: the label for \\ref [tab:NAME]", OPTION_TEXT, AT(label)},
    {"--page", "FILE.ini", "as Markdown, with the head comment of this INI around the table", OPTION_TEXT, AT(page)},
    {"--output -o", "FILE",
     "with several experiments: draw performance profiles, as .svg, .pdf, .png, .gp (gnuplot), .json (Vega-Lite) or "
     ".csv",
     OPTION_TEXT, AT(to)},
    OPTION_JSON(AT(json)),
    OPTION_DATABASE,
    {0}};
const command table_command = {
    .name = "table",
    .part = FOR_RESULTS,
    .does = "print an experiment's table, or the paper's table1 to table4",
    .about = "Without NAME: the experiment that was run last. If no experiment is named table1 to table4, these names "
             "print only the paper's table, without a database. With several experiments (the tasks), prints "
             "interquartile mean and probability of improvement of each row whose name is in all tasks.",
    .arguments = "[NAME]...",
    .choices = CHOICES_EXPERIMENTS,
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = table,
    .example = "ablate table quick --format latex > quick.tex"};
