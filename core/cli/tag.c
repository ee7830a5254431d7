/* tag.c - ablate tag: sets tags of runs, among them their notes. */
#include "cli/options.h"
#include "lab/results/read.h"
#include <string.h>

/* Sets a tag of every seed that the name covers, or removes it if the command line has no value. */
static int tag(const invocation *c, void *options)
{
    (void)options;
    CLEANUP(arena_free) arena a = {0};
    err e = {0};
    const char *equals = strchr(c->word[1], '='), *value = equals ? equals + 1 : NULL;
    const char *name = arena_strndup(&a, c->word[1], equals ? (size_t)(equals - c->word[1]) : SIZE_MAX);
    int64_t *ids;
    size_t n = 0;
    if (!*name) fail(&e, "found no name of a tag, expected NAME=VALUE, or NAME to remove a tag");
    if (value && !is_printable(value, false))
        fail(&e, "%s: found a control character, expected text of one line", value);
    if (!is_printable(name, false)) fail(&e, "%s: found a control character, expected a name", name);
    bool wrong = e.text[0];
    reader *r = wrong ? NULL : reader_open(&c->p.db, &e);
    int rc = r ? reader_find_runs(r, c->word[0], &a, &ids, &n, &e) : -1;
    reader_close(r);
    db *d = rc ? NULL : db_open(&c->p.db, &e);
    if (!d) rc = -1;
    for (size_t i = 0; i < n && !rc; i++) rc = db_tag_run(d, ids[i], name, value, &e);
    db_close(d);
    if (!rc) call_say(c, "%s of %zu run%s\n", value ? "set" : "removed", n, n == 1 ? "" : "s");
    return wrong ? call_usage(c, "%s", e.text) : rc ? call_failed(c, &e) : 0;
}

static const option options[] = {OPTION_DATABASE, {0}};
const command tag_command = {.name = "tag",
                             .part = FOR_RESULTS,
                             .does = "set or remove a tag of a run; `ablate show` prints it",
                             .about = "NAME alone removes the tag. EXPERIMENT/ROW means every seed of the row.",
                             .arguments = "RUN NAME=VALUE | NAME",
                             .missing = "expected a run and NAME=VALUE",
                             .choices = CHOICES_RUNS,
                             .options = options,
                             .run = tag,
                             .example = "ablate tag quick/base@1 note=\"machine was busy\""};
