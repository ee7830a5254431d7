#include "cli/pairs.h"
#include "text/data/input.h"
#include "lab/study/predict.h"
#include "network/train/train.h"
#include "tensor/cpu/cpu.h"
#include <string.h>

enum { SMALLEST_PART = 64, LARGEST_PART = 4096 }; /* lines */

/* Cuts the lines at their tab in place. */
static int split(const input_part *in, const char **src, const char **tgt, err *e)
{
    for (size_t i = 0; i < in->n; i++) {
        char *tab = strchr(in->lines[i], '\t');
        if (!tab || strchr(tab + 1, '\t'))
            return fail(e, "standard input:%zu: found %s, expected SOURCE, a tab and TARGET", in->first + i,
                        tab ? "more than one tab" : "no tab");
        *tab = 0;
        src[i] = in->lines[i], tgt[i] = tab + 1;
    }
    return 0;
}

/* Fails if a side is longer than the model can read. */
static int check_reach(const model *m, const pairs *p, size_t first, err *e)
{
    err none = {0};
    int64_t longest = p->src_longest > p->tgt_longest ? p->src_longest : p->tgt_longest;
    if (!model_check_reach(m, longest, "", &none)) return 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t src = p->src_at[i + 1] - p->src_at[i], tgt = p->tgt_at[i + 1] - p->tgt_at[i];
        if (model_check_reach(m, src > tgt ? src : tgt, "a side of the line has that many tokens, including its end",
                              e))
            return fail_in(e, "standard input:%zu: ", first + (size_t)p->example[i]);
    }
    return 0;
}

int pairs_read(const invocation *c, const pairs_options *o,
               int (*f)(void *self, model *m, const vocab *src, const vocab *tgt, const pairs *p, size_t first, err *e),
               void *self)
{
    err e = {0};
    model m = {0};
    vocab *src = NULL, *tgt = NULL;
    input_part in = {0};
    if (!o->run) return call_usage(c, "expected either --run or --model");
    cpu_threads((int)o->threads);
    AUTOFREE char *path = input_check(&e) ? NULL : run_model_path(o->run, &c->p, &e);
    bool open = path && !train_load(path, &m, F32, &cpu_backend, &src, &tgt, &e);
    if (open && !src) fail(&e, "%s is a decoder-only model: it has no source to pair a target with", path);
    size_t most = SMALLEST_PART;
    while (!e.text[0] && input_next(&in, most, &e) == 1) {
        AUTOFREE const char **lines = xmalloc(2 * in.n * sizeof *lines);
        pairs p = {0};
        if (!input_check_text(&in, &e) && !split(&in, lines, lines + in.n, &e) &&
            !pairs_encode(&p, lines, lines + in.n, (int64_t)in.n, src, tgt, &e) && !check_reach(&m, &p, in.first, &e) &&
            !f(self, &m, src, tgt, &p, in.first, &e))
            output_flush(&e);
        pairs_free(&p);
        most = input_more(&in, most, LARGEST_PART);
    }
    input_end(&in);
    if (open) {
        model_free(&m);
        vocabs_free(src, tgt);
    }
    return e.text[0] ? call_failed(c, &e) : 0;
}
