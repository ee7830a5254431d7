#include "network/decode/constrain.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

int task_rules_open(task_rules *r, const ab_task_plugin *task, void *self, const vocab *src, const vocab *tgt, err *e)
{
    *r = (task_rules){.task = task, .self = self, .src = src, .tgt = tgt, .constrains = task->vocabulary != NULL};
    if (!r->constrains) return 0;
    int64_t n = vocab_size(tgt);
    AUTOFREE const char **token = xmalloc((size_t)n * sizeof *token);
    char message[1024] = "";
    CLEANUP(arena_free) arena a = {0};
    for (int32_t i = 0; i < n; i++) {
        const char *t = token[i] = vocab_token(tgt, i);
        if (vocab_kind_of(tgt) != TOKENS_WORDPIECE || i < VOCAB_SPECIALS) continue;
        token[i] =
            has_prefix(t, WORDPIECE_INSIDE) ? t + strlen(WORDPIECE_INSIDE) : arena_printf(&a, VOCAB_BLANK "%s", t);
    }
    int answer = task->vocabulary(self, token, n, message, sizeof message);
    r->always = answer > 0;
    return answer < 0 ? fail(e, "%s", message) : 0;
}

/* ---- the task's constraints as the beam search's mask ---- */

typedef struct {
    const task_rules *rules;
    const pairs *p;
    const char *const *lines;
    int64_t max_extra_tokens;
} masking;

static void *mask_start(void *self, int64_t sentence)
{
    const masking *k = self;
    int64_t from = k->p->src_at[sentence], n = k->p->src_at[sentence + 1] - from - 1;
    return k->rules->task->start(k->rules->self, k->lines[sentence], k->p->src + from, n, n + k->max_extra_tokens);
}
static void *mask_advance(void *self, void *state, int32_t token)
{
    const masking *k = self;
    return k->rules->task->advance(k->rules->self, state, token);
}
static void mask_allowed(void *self, const void *state, uint8_t *mask)
{
    const masking *k = self;
    k->rules->task->allowed(k->rules->self, state, mask);
}
static void mask_release(void *self, void *state)
{
    const masking *k = self;
    k->rules->task->release(k->rules->self, state);
}

/* ---- searches ---- */

/* Decodes lines [p->n]. out [p->n]: the first of `nbest` hypotheses that the task accepts; else the first one, with
 * refused [p->n] = true. */
static int find_output(model *m, const task_rules *r, const pairs *p, const char *const *lines,
                       const beam_options *given, bool masked, char **out, bool *refused, task_routes *routes,
                       beam_stats *stats, err *e)
{
    masking k = {r, p, lines, given->max_extra_tokens};
    decode_mask mask = {&k, mask_start, mask_advance, mask_allowed, mask_release};
    beam_options o = *given;
    beam_stats part = {0};
    o.mask = masked ? &mask : NULL;
    o.unscored = true;
    o.nbest = !masked && r->constrains && r->task->accepts ? o.beam_size : 1;
    AUTOFREE hypothesis *found = xcalloc((size_t)(p->n * o.nbest) + 1, sizeof *found);
    int bad = beam_search(m, p, &o, found, &part, e);
    CLEANUP(str_free) str text = {0};
    for (int64_t i = 0; i < p->n && !bad; i++) {
        refused[i] = true;
        for (int64_t h = 0; h < o.nbest && refused[i]; h++) {
            const hypothesis *x = &found[i * o.nbest + h];
            if (!x->ids) break;
            str_clear(&text);
            vocab_decode(r->tgt, x->ids, x->n, &text);
            refused[i] = r->task->accepts && !r->task->accepts(r->self, lines[i], str_text(&text));
            if (h == 0 || !refused[i]) {
                free(out[i]);
                out[i] = xstrdup(str_text(&text));
            }
            if (!refused[i]) (*(h ? &routes->in_beam : &routes->first))++;
        }
        if (!out[i]) out[i] = xstrdup("");
    }
    if (!bad) hypotheses_free(found, p->n * o.nbest);
    beam_stats_add(stats, &part);
    return bad;
}

/* Searches once more for the refused lines, now under the constraints. */
static int search_again(model *m, const task_rules *r, const char *const *lines, int64_t n, const beam_options *o,
                        char **out, bool *refused, task_routes *routes, beam_stats *stats, err *e)
{
    size_t cap = (size_t)n + 1;
    AUTOFREE const char **line = xcalloc(cap, sizeof *line);
    char **second = xcalloc(cap, sizeof *second);
    AUTOFREE bool *still = xcalloc(cap, sizeof *still);
    task_routes found = {0};
    CLEANUP(pairs_free) pairs p = {0};
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++)
        if (refused[i]) line[k++] = lines[i];
    int bad = k ? pairs_encode(&p, line, NULL, k, r->src, r->tgt, e) : 0;
    if (k && !bad) bad = find_output(m, r, &p, line, o, true, second, still, &found, stats, e);
    routes->again += found.first;
    for (int64_t i = 0, j = 0; i < n && !bad; i++) {
        if (!refused[i]) continue;
        free(out[i]);
        out[i] = second[j];
        second[j] = NULL;
        refused[i] = still[j++];
    }
    free_texts(second, (size_t)k);
    return bad;
}

int task_decode(model *m, const task_rules *r, const pairs *p, const char *const *lines, const beam_options *o,
                char **out, beam_stats *stats, task_routes *routes, err *e)
{
    task_routes ways = {0};
    beam_stats sums = {0};
    AUTOFREE bool *refused = xcalloc((size_t)p->n + 1, sizeof *refused);
    memset(out, 0, (size_t)p->n * sizeof *out);
    int bad = find_output(m, r, p, lines, o, r->always, out, refused, &ways, &sums, e);
    if (!bad && r->constrains && !r->always) bad = search_again(m, r, lines, p->n, o, out, refused, &ways, &sums, e);
    for (int64_t i = 0; i < p->n; i++) {
        ways.refused += refused[i];
        if (!bad) continue;
        free(out[i]);
        out[i] = NULL;
    }
    sums.sentences = p->n; /* the second search has counted the refused lines again */
    if (stats) *stats = sums;
    if (routes) *routes = ways;
    return bad;
}
