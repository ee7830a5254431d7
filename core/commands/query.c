/* query.c - ablate query: read-only SQL on the database. */
#include "results/query.h"
#include "commands/options.h"
#include "report/store.h"

typedef struct {
    int format;
    bool json;
} query_options;

static int query(const invocation *c, void *options)
{
    const query_options *o = options;
    err e = {0};
    enum query_format f = o->json ? QUERY_JSON : (enum query_format)o->format;
    int rc = store_comparisons(&c->p.db, &e) || query_print(&c->p.db, c->word[0], f, stdout, &e);
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {
    {"--format", "text|csv|json|md", "how it is printed [text]", OPTION_WORD, offsetof(query_options, format)},
    {"--json", NULL, "as --format json", OPTION_FLAG, offsetof(query_options, json)},
    OPTION_DATABASE,
    {0}};
const command query_command = {.name = "query",
                               .does = "read-only SQL on the database",
                               .arguments = "SQL",
                               .least = 1,
                               .most = 1,
                               .missing = "found no SQL",
                               .words = WORDS_NONE,
                               .options = options,
                               .size = sizeof(query_options),
                               .run = query,
                               .example = "ablate query \"SELECT row, change, PPL, BLEU FROM quick\""};
