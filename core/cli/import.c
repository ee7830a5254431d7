/* import.c - ablate import: recorded experiments into the database. */
#include "cli/options.h"
#include "lab/results/db.h"

static int import(const invocation *c, void *options)
{
    (void)options;
    err e = {0};
    db *d = db_open(&c->p.db, &e);
    int rc = d ? 0 : -1;
    for (size_t i = 0; i < c->n_words && !rc; i++) {
        size_t runs = 0;
        rc = db_import(d, c->word[i], &runs, &e);
        if (!rc && !runs) call_say(c, "%s: nothing to add, the database has these runs\n", c->word[i]);
        if (!rc && runs) call_say(c, "%s: %zu run%s added\n", c->word[i], runs, runs == 1 ? "" : "s");
    }
    db_close(d);
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {OPTION_DATABASE, {0}};
const command import_command = {.name = "import",
                                .part = FOR_RESULTS,
                                .does = "import recorded experiments into the database",
                                .arguments = "FILE.json...",
                                .least = 1,
                                .most = -1,
                                .missing = "expected a file",
                                .options = options,
                                .run = import,
                                .example = "ablate import experiments/recorded/table3-multi30k.json"};
