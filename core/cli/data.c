/* data.c - ablate list corpora, ablate data get: lists and downloads known corpora. */
#include "cli/results.h"
#include "text/data/corpora.h"

static void corpus_json(const corpus *x, const char *folder, str *out)
{
    int here, all;
    corpus_state(x, folder, &here, &all);
    json_line(out);
    str_addc(out, '{');
    json_key_text(out, "corpus", x->name);
    json_key_whole(out, "download_bytes", corpus_download_bytes(x));
    json_key_whole(out, "files_here", here);
    json_key_whole(out, "files", all);
    json_key_text(out, "about", x->about);
    json_key_text(out, "licence", x->licence);
    str_addc(out, '}');
}

int corpora_list(const char *folder, bool json)
{
    str list = {0};
    if (!json) printf("%-16s %10s  %-12s %s\n", "corpus", "download", "state", "description; licence");
    for (int i = 0; i < n_known_corpora; i++) {
        const corpus *x = &known_corpora[i];
        int here, all;
        char state[32];
        if (json) {
            corpus_json(x, folder, &list);
            continue;
        }
        corpus_state(x, folder, &here, &all);
        snprintf(state, sizeof state, here == all ? "here" : here ? "%d of %d" : "not here", here, all);
        printf("%-16s %7.1f MB  %-12s %s; %s\n", x->name, (double)corpus_download_bytes(x) / 1e6, state, x->about,
               x->licence);
    }
    if (json) json_print_lines(&list);
    return 0;
}

static const corpus *find(const char *name, err *e)
{
    const char *names[64];
    size_t n = 0;
    for (int i = 0; i < n_known_corpora; i++)
        if (same(known_corpora[i].name, name)) return &known_corpora[i];
    for (int i = 0; i < n_known_corpora && n < LENGTH(names); i++) names[n++] = known_corpora[i].name;
    fail(e, "unknown corpus '%s'%s; `ablate list corpora` lists the names", name, suggestion(name, names, n, "'"));
    return NULL;
}

static int get(const invocation *c, void *options)
{
    (void)options;
    int code = 0;
    for (size_t i = 0; i < c->n_words; i++) {
        err e = {0};
        if (!find(c->word[i], &e)) return call_failed(c, &e), 2;
    }
    for (size_t i = 0; i < c->n_words; i++) {
        err e = {0};
        if (corpus_get(find(c->word[i], NULL), c->p.data_dir, &e)) {
            fprintf(stderr, "ablate data get %s: %s\n", c->word[i], e.text);
            code = 1;
        }
    }
    return code;
}

const command data_get_command = {.name = "data get",
                                  .part = FOR_DATA,
                                  .does = "download corpora and verify their checksums",
                                  .arguments = "NAME...",
                                  .missing = "expected a corpus; `ablate list corpora` lists the names",
                                  .choices = CHOICES_CORPORA,
                                  .run = get,
                                  .example = "ablate data get multi30k"};
