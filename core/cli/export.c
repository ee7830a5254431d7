/* export.c - ablate export: an experiment in the file formats of other programs. */
#include "lab/export/export.h"
#include "cli/options.h"

typedef struct {
    const char *out;
    int format; /* enum export_format */
} export_options;

static int export(const invocation *c, void *options)
{
    const export_options *o = options;
    err e = {0};
    size_t files = 0;
    reader *r = reader_open_any(&c->p.db, &e);
    int rc =
        r ? export_write(r, c->n_words ? c->word[0] : NULL, (enum export_format)o->format, o->out, &files, &e) : -1;
    if (!rc) call_say(c, "%s: %zu file%s\n", o->out, files, files == 1 ? "" : "s");
    reader_close(r);
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {{"--output -o", "FOLDER", "output folder; created if missing", OPTION_TEXT,
                                  offsetof(export_options, out), .required = true},
                                 {"--format", "parquet|csv|tensorboard|wandb",
                                  "parquet and csv: tables of runs, results and curves; tensorboard: event files; "
                                  "wandb: runs for `wandb sync` [parquet]",
                                  OPTION_WORD, offsetof(export_options, format)},
                                 OPTION_DATABASE,
                                 {0}};
const command export_command = {.name = "export",
                                .part = FOR_RESULTS,
                                .does = "export an experiment as Parquet, CSV, TensorBoard event files or W&B runs",
                                .arguments = "[NAME]",
                                .most = 1,
                                .words = WORDS_EXPERIMENTS,
                                .options = options,
                                .size = sizeof(export_options),
                                .run = export,
                                .example = "ablate export quick -o quick-parquet"};
