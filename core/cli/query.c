/* query.c - ablate query: runs read-only SQL on the database. */
#include "lab/results/query.h"
#include "cli/options.h"
#include "lab/report/store.h"
#include <string.h>
#include <unistd.h>

typedef struct {
    int format;
    bool json, list;
    int64_t limit;
} query_options;

/* Reads SQL from the command line, else (or for -) from standard input. */
static int read_sql(const invocation *c, str *sql, err *e)
{
    enum { MOST = 1 << 20 }; /* bytes */
    char part[4096];
    if (c->n_words && !same(c->word[0], "-")) return str_add(sql, c->word[0]), 0;
    if (!c->n_words && isatty(0)) return fail(e, "expected SQL; `ablate query --list` lists the views");
    for (size_t n; sql->n <= MOST && (n = fread(part, 1, sizeof part, stdin)) > 0;) str_addn(sql, part, n);
    if (sql->n > MOST) return fail(e, "standard input: found a statement of more than %d bytes", MOST);
    return ferror(stdin) ? fail(e, "standard input cannot be read") : 0;
}

static int query(const invocation *c, void *options)
{
    const query_options *o = options;
    err e = {0};
    CLEANUP(str_free) str sql = {0};
    enum query_format f = o->json ? QUERY_JSON : (enum query_format)o->format;
    if (!o->list && read_sql(c, &sql, &e)) return call_usage(c, "%s", e.text);
    bool compared = !o->list && file_exists(c->p.db.path) &&
                    (strcasestr(str_text(&sql), "paired") || strcasestr(str_text(&sql), "compar"));
    int rc = compared ? store_comparisons(&c->p.db, NULL, &e) : 0;
    if (!rc)
        rc = o->list ? query_list(&c->p.db, c->n_words ? c->word[0] : NULL, f == QUERY_JSON, stdout, &e)
                     : query_print(&c->p.db, str_text(&sql), f, (double)o->limit, stdout, &e);
    return rc ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(query_options, field)
static const option options[] = {
    {"--format", "text|csv|json|md", "output format [text]", OPTION_WORD, AT(format)},
    OPTION_JSON(AT(json)),
    {"--list", NULL, "list all views, or describe one, with columns and their meaning", OPTION_FLAG, AT(list)},
    {"--time-limit", "SECONDS", "end a statement that takes longer; 0: never [60]", OPTION_COUNT, AT(limit), 0, 1e9},
    OPTION_DATABASE,
    {0}};
const command query_command = {.name = "query",
                               .part = FOR_RESULTS,
                               .does = "run read-only SQL on the database",
                               .about = "Without SQL, or with -, the statement is read from standard input.",
                               .arguments = "[SQL | -]",
                               .options = options,
                               .defaults = &(const query_options){.limit = 60},
                               .size = sizeof(query_options),
                               .run = query,
                               .example = "ablate query \"SELECT row, change, PPL, BLEU FROM quick\""};
