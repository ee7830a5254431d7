/* record.c - ablate record: exports an experiment without this machine's folders. */
#include "base/below.h"
#include "cli/options.h"
#include "lab/archive/artifact.h"

typedef struct {
    const char *statistics;
} record_options;

static int record(const invocation *c, void *options)
{
    const record_options *o = options;
    err e = {0};
    if (same(o->statistics, "")) return call_usage(c, "--statistics: found nothing, expected METRIC,... or none");
    AUTOFREE char *name = xprintf("%s.json.gz", c->word[0]), *folder = path_join(c->p.root, "experiments/recorded"),
                  *path = c->n_words > 1 ? xstrdup(c->word[1]) : path_below(folder, name, &e);
    CLEANUP(str_free) str left_out = {0};
    db_export_options how = {RECORD_POINTS, same(o->statistics, "none") ? "" : o->statistics, &left_out};
    int bad = !path || record_write(&c->p, c->word[0], path, &how, &e);
    if (!bad) call_say(c, "%s\n", path);
    if (!bad && left_out.n)
        call_say(c,
                 "Left out: per-sentence statistics of %s. Tables of the record show no intervals, p or verdicts in "
                 "these metrics.\n",
                 left_out.s);
    return bad ? call_failed(c, &e) : 0;
}

static const option options[] = {{"--statistics", "METRIC,...",
                                  "metrics that keep their statistics per sentence, or none [all]; tables of the "
                                  "record have intervals, p and verdicts only in these metrics",
                                  OPTION_TEXT, offsetof(record_options, statistics)},
                                 OPTION_DATABASE,
                                 {0}};
const command record_command = {.name = "record",
                                .part = FOR_RESULTS,
                                .does = "record an experiment in experiments/recorded/, for git",
                                .about = "FILE.json: another output file, compressed if it ends in .gz. Paths of this "
                                         "machine are left out of the record.",
                                .arguments = "EXPERIMENT [FILE.json]",
                                .missing = "expected an experiment; `ablate ls` lists them",
                                .choices = CHOICES_EXPERIMENTS,
                                .options = options,
                                .size = sizeof(record_options),
                                .run = record,
                                .example = "ablate record quick quick.json"};
