/* restore.c - ablate restore: shows older runs of an experiment again, beside its present ones. */
#include "cli/options.h"
#include "lab/results/db.h"

static int restore(const invocation *c, void *options)
{
    (void)options;
    err e = {0};
    size_t rows = 0;
    int rc = file_exists(c->p.db.path) ? 0 : fail(&e, "no database at %s", c->p.db.path);
    db *d = rc ? NULL : db_open(&c->p.db, &e);
    rc = d ? db_restore(d, c->word[0], &rows, &e) : -1;
    db_close(d);
    if (rc) return call_failed(c, &e);
    if (rows)
        call_say(c, "%zu older row%s shown again, as ROW~1, ROW~2 ...: `ablate table %s`\n", rows,
                 rows == 1 ? " is" : "s are", c->word[0]);
    else
        call_say(c, "%s has no older runs\n", c->word[0]);
    return 0;
}

static const option options[] = {OPTION_DATABASE, {0}};
const command restore_command = {
    .name = "restore",
    .part = FOR_RESULTS,
    .does = "show older runs of an experiment again, beside its present ones",
    .about = "When settings of a row change, its earlier runs stay in the database and its table leaves them out. This "
             "command shows them as rows ROW~1, ROW~2 ... until the experiment is run again. `ablate ls EXPERIMENT "
             "--older` lists them, `ablate rm --experiment EXPERIMENT --older` removes them.",
    .arguments = "EXPERIMENT",
    .least = 1,
    .most = 1,
    .missing = "which experiment?",
    .choices = CHOICES_EXPERIMENTS,
    .options = options,
    .run = restore,
    .example = "ablate restore quick"};
