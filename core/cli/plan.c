/* plan.c - ablate plan: computes seeds, hours and power before training. */
#include "lab/report/plan.h"
#include "cli/options.h"
#include "network/plugin/plugin.h"
#include <math.h>

typedef struct {
    const char *detect, *like;
    double sd;
} plan_options;

/* The planned experiment: an INI's, or one of the database. */
typedef struct {
    const char *name, *metric; /* metric: suggested if no run has one */
    size_t rows, bases;        /* rows with a base to compare with; their bases */
    size_t seeds, of_base;     /* seeds of a row, seeds of base; 0: unknown */
} plan_subject;

/* Reads "0.5 BLEU" or "0.5". */
static int read_effect(const char *text, double *effect, char metric[64], err *e)
{
    char number[32] = "";
    *metric = 0;
    if (sscanf(text, "%31s %63s", number, metric) < 1 || !parse_real(number, effect) || !(*effect > 0))
        return fail(e, "--detect %s: expected a difference above 0 and a metric, such as \"0.5 BLEU\"", text);
    return 0;
}

static int print_plan(const invocation *c, const plan_options *o, const plan_subject *s, double effect,
                      const char *metric, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(str_free) str out = {0};
    gathered g = {0};
    plan_task t = {.experiment = s->name,
                   .rows = s->rows,
                   .bases = s->bases ? s->bases : 1,
                   .seeds = s->seeds,
                   .of_base = s->of_base,
                   .effect = effect,
                   .metric = *metric ? metric : NULL,
                   .sd = o->sd > 0 ? o->sd : NAN};
    const char *like = o->like ? o->like : s->name;
    table_options table = {.trials = 1};
    err none = {0};
    CLEANUP(reader_end) reader *r = reader_open_any(&c->p.db, o->like ? e : &none);
    int found = r ? gather(r, like, &table, false, &a, &g, e) : 1;
    int bad = found < 0 ||
              (found && o->like && fail(e, "found no experiment \"%s\"; `ablate ls` lists the experiments", like));
    if (!found) t.runs = &g;
    if (!bad) bad = plan_print(&t, &out, e);
    if (!bad) fputs(str_text(&out), stdout);
    return bad ? 1 : 0;
}

/* Without --detect: prints the complete command, from the experiment's results in the database. */
static void print_what_to_add(const invocation *c, const plan_subject *s)
{
    CLEANUP(arena_free) arena a = {0};
    gathered g = {0};
    err none = {0};
    table_options table = {.trials = 1};
    CLEANUP(reader_end) reader *r = reader_open(&c->p.db, &none);
    bool found = r && !gather(r, s->name, &table, false, &a, &g, &none), seeds = false;
    const char *metric = found && g.headline >= 0 ? g.metrics[g.headline] : NULL;
    for (size_t i = 0; i < g.x.n_rows && metric; i++) seeds = seeds || g.rows[i].of[g.headline].n > 1;
    if (!metric) metric = s->metric;
    fprintf(
        stderr,
        "ablate plan: add the smallest difference that matters to you%s:\n\n    ablate plan %s --detect \"1 %s\"%s\n\n",
        seeds ? "" : ", and the standard deviation over seeds, since no row of this experiment has two runs",
        c->word[0], metric, seeds ? "" : " --sd 0.5");
    if (!seeds) fputs("or --like EXPERIMENT: the standard deviation of that experiment instead of --sd\n", stderr);
}

static const char *usual_metric(const char *task)
{
    return same(task, "translation") ? "BLEU" : same(task, "parsing") ? "F1" : "PPL";
}

/* Counts the rows of an experiment of the database: trained, imported or recorded. */
static int look_up(const invocation *c, plan_subject *s, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    gathered g = {0};
    table_options table = {.trials = 1};
    CLEANUP(reader_end) reader *r = reader_open_any(&c->p.db, e);
    int found = r ? gather(r, s->name, &table, false, &a, &g, e) : -1;
    for (size_t i = 0; !found && i < g.x.n_rows; i++) {
        if (g.x.rows[i].same_as) continue;
        s->rows += g.rows[i].base != i, s->bases += g.rows[i].base == i;
    }
    return found > 0 ? fail(e, "%s: found no such INI file, and no such experiment; `ablate ls` lists the experiments",
                            s->name)
                     : found;
}

static int plan_for(const invocation *c, const plan_options *o, const plan_subject *s, err *e)
{
    double effect;
    char metric[64];
    if (o->detect && read_effect(o->detect, &effect, metric, e)) return call_usage(c, "%s", e->text);
    if (o->detect) return print_plan(c, o, s, effect, metric, e);
    print_what_to_add(c, s);
    return 2;
}

/* Does the row have a base to compare with? The base of a condition has none. */
static bool compared(const spec_row *r) { return r->run && !r->is_base && !same(r->base, r->name); }

static int plan(const invocation *c, void *options)
{
    const plan_options *o = options;
    err e = {0};
    CLEANUP(str_free) str errors = {0}, folders = {0};
    CLEANUP(spec_free) spec s = {0};
    if (!file_exists(c->word[0])) {
        plan_subject named = {.name = c->word[0], .metric = "PPL"};
        int code = look_up(c, &named, &e) ? 1 : plan_for(c, o, &named, &e);
        return code == 1 && e.text[0] ? call_failed(c, &e) : code;
    }
    spec_plugin_path(c->word[0], &(spec_options){0}, &folders);
    plugin_add_path(str_text(&folders));
    if (spec_read(&s, c->word[0], NULL, run_schemas(), &errors)) {
        fprintf(stderr, "%s", str_text(&errors));
        return 2;
    }
    plan_subject subject = {.name = s.name,
                            .metric = usual_metric(s.rows[0].config.task),
                            .seeds = s.n_row_seeds,
                            .of_base = spec_seeds(&s, &s.rows[0])};
    for (size_t i = 0; i < s.n_rows; i++)
        subject.rows += compared(&s.rows[i]), subject.bases += s.rows[i].run && !compared(&s.rows[i]);
    int code = plan_for(c, o, &subject, &e);
    return code == 1 && e.text[0] ? call_failed(c, &e) : code;
}

static const option options[] = {
    {"--detect", "\"EFFECT METRIC\"", "required: the difference to detect, such as \"0.5 BLEU\"; for PPL in percent",
     OPTION_TEXT, offsetof(plan_options, detect)},
    {"--like", "EXPERIMENT", "take standard deviations and times from this experiment's runs [the spec's own]",
     OPTION_TEXT, offsetof(plan_options, like), .choices = CHOICES_EXPERIMENTS},
    {"--sd", "X", "standard deviation over seeds [estimated from runs]", OPTION_REAL, offsetof(plan_options, sd), 0, 0},
    OPTION_DATABASE,
    {0}};
const command plan_command = {.name = "plan",
                              .part = FOR_TRAINING,
                              .does = "plan seeds and hours, and the power to detect a difference, before training",
                              .about = "docs/statistics.md has the formulas. Standard deviation, sentence variance and "
                                       "times come from runs in the database.",
                              .arguments = "SPEC.ini|EXPERIMENT",
                              .missing = "expected an INI file or an experiment",
                              .options = options,
                              .size = sizeof(plan_options),
                              .run = plan,
                              .example = "ablate plan experiments/quick.ini --detect \"2 BLEU\" --sd 1.5"};
