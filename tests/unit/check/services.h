/* services.h - for tests of the conformance check: the services that the program gives to tasks, and lookup of results
 * by name. */
#ifndef ABLATE_TEST_SERVICES_H
#define ABLATE_TEST_SERVICES_H
#include "network/check/check.h"
#include "text/metric/bleu.h"
#include "text/metric/f1.h"
#include "test.h"

static inline int give_bleu(const char *const *hyp, const char *const *ref, int64_t n, const char *tok, int lowercase,
                            ab_bleu *out, char *words, size_t n_words)
{
    static double *stats;
    bleu_options o;
    bleu_score score;
    err e = {0};
    stats = xrealloc(stats, ((size_t)n + 1) * BLEU_STATS * sizeof *stats);
    if (bleu_options_parse(&o, tok, lowercase, NULL, &e) ||
        bleu_corpus(&o, hyp, &ref, 1, (size_t)n, &score, stats, &e)) {
        snprintf(words, n_words, "%s", e.text);
        return -1;
    }
    *out = (ab_bleu){.value = score.score, .stats = stats};
    memcpy(out->signature, score.signature, sizeof out->signature);
    return 0;
}

static inline void use_plugins(void)
{
    plugin_set_services(&(plugin_services){give_bleu, read_lines_service, free_lines_service, f1_service});
    plugin_add_folder(BUILD_DIR "/plugins");
}

static inline const check_result *result_of(const check_result *r, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (same(r[i].name, name)) return &r[i];
    return NULL;
}
#endif
