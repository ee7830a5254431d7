/* predict.c - applies a trained run, or an ensemble, to standard input. */
#include "lab/study/predict.h"
#include "network/decode/beam.h"
#include "tensor/device/device.h"
#include "text/data/input.h"
#include "network/plugin/plugin.h"
#include "lab/results/read.h"
#include "network/train/train.h"
#include <stdlib.h>
#include <string.h>

char *run_model_path(const char *name, const places *p, err *e)
{
    bool number = !name[strspn(name, "0123456789")];
    if (!number && (has_suffix(name, ".safetensors") || file_exists(name))) return xstrdup(name);
    CLEANUP(reader_end) reader *r = reader_open(&p->db, e);
    return r ? reader_model(r, name, e) : NULL;
}

int source_check_reach(const model *m, const vocab *src, const char *option, const char *line, err *e)
{
    CLEANUP(id_list_free) id_list ids = {0};
    AUTOFREE char *why = xprintf("%s has that many tokens, including its end", option);
    return vocab_encode(src, line, &ids, e) || model_check_reach(m, ids.n + 1, why, e) ? -1 : 0;
}

enum { AS_THE_RUN, IN_FP32, IN_BF16, IN_INT8 }; /* --precision */

/* Finds the number format of products: the run's, or the requested one; with int8 weights the activations' F32. */
static int wanted_compute(const predict_options *o, const char *path, const backend *on, dtype *out, err *e)
{
    if (o->alignment && (on_device(on) || o->precision > IN_FP32))
        return fail(
            e, "--alignment reads attention weights in fp32 on the CPU: expected --device cpu and no other precision");
    if (o->alignment) return *out = F32, 0;
    if (o->precision == AS_THE_RUN) return device_model_compute(path, on, out, e);
    if (o->precision == IN_INT8 && on_device(on))
        return fail(e, "--precision int8 is only for the CPU: expected run, fp32 or bf16 on %s", o->device);
    *out = device_compute(o->precision == IN_BF16 ? PRECISION_BF16 : PRECISION_FP32, on);
    return 0;
}

/* ---- the models ---- */

enum { MOST_MEMBERS = 1 + MOST_OTHERS };
typedef struct {
    const char *name; /* the run's name, or the file */
    char *path;
    model m;
    vocab *src, *tgt;
} member;
typedef struct {
    member at[MOST_MEMBERS];
    model *others[MOST_OTHERS];
    int64_t n; /* number of open models */
} members;

static void members_close(members *all)
{
    for (int64_t i = 0; i < all->n; i++) {
        member *x = &all->at[i];
        model_free(&x->m);
        vocabs_free(x->src, x->tgt);
        free(x->path);
    }
    free(all);
}

static int same_vocab(const member *a, const member *b, const vocab *x, const vocab *y, const char *side, err *e)
{
    char one[65], two[65];
    vocab_sum(x, one), vocab_sum(y, two);
    if (same(one, two)) return 0;
    return fail(e,
                "%s and %s cannot form an ensemble: their %s vocabularies differ (sha256 %.12s with %lld tokens, %.12s "
                "with %lld); "
                "models of an ensemble must share data and vocab settings",
                a->name, b->name, side, one, (long long)vocab_size(x), two, (long long)vocab_size(y));
}

/* Returns the name of the model's task, which a loaded model may name by the plugin's file. */
static const char *task_of(const model *m)
{
    const plugin *p = plugin_find(AB_TASK, m->cfg.task, NULL);
    return p ? p->desc.name : m->cfg.task;
}

static int open_member(members *all, predict_options *o, const char *name, char *path, const backend *on, err *e)
{
    member *x = &all->at[all->n];
    const member *first = &all->at[0];
    dtype compute;
    *x = (member){.name = name, .path = path};
    if (!path || wanted_compute(o, path, on, &compute, e) ||
        train_load(path, &x->m, compute, on, &x->src, &x->tgt, e)) {
        free(path);
        return -1;
    }
    x->m.params.int8 = o->precision == IN_INT8;
    if (all->n++) all->others[o->n_others++] = &x->m;
    if (!x->src)
        return fail(e, "%s is a decoder-only model without a source; for a language model, use `ablate generate`",
                    name);
    if (all->n == 1) return 0;
    if (!same(task_of(&x->m), task_of(&first->m)))
        return fail(e, "%s and %s cannot form an ensemble: their tasks are %s and %s", first->name, name,
                    task_of(&first->m), task_of(&x->m));
    return same_vocab(first, x, first->src, x->src, "source", e) ||
                   same_vocab(first, x, first->tgt, x->tgt, "target", e)
               ? -1
               : 0;
}

static int open_members(members *all, const places *p, predict_options *o, const backend *on, err *e)
{
    size_t n = o->run.n;
    if (n > MOST_MEMBERS) return fail(e, "an ensemble of %zu models, expected at most %d", n, (int)MOST_MEMBERS);
    if (n > 1 && on_device(on))
        return fail(e, "ensembles run only on the CPU: expected --device cpu, found %s", on->name);
    o->others = all->others;
    for (size_t i = 0; i < n; i++)
        if (open_member(all, o, o->run.at[i], run_model_path(o->run.at[i], p, e), on, e)) return -1;
    return 0;
}

int predict(predict_options *o, enum predict_work work, const places *p, err *e)
{
    cpu_threads((int)o->threads);
    const backend *on = input_check(e) ? NULL : device_open(o->device, e);
    members *all = xcalloc(1, sizeof *all);
    int bad = !on || open_members(all, p, o, on, e);
    if (!bad) {
        member *x = &all->at[0];
        bool trees = work == PARSE || (work == AS_THE_MODEL && predict_is_parsing(&x->m));
        if (!trees && o->set.n) fail(e, "-s is only for tasks that format their outputs; %s does not", task_of(&x->m));
        if (trees && o->nbest) fail(e, "--nbest is not for trees");
        if (o->alignment && (trees || all->n > 1 || o->nbest > 1))
            fail(e, "--alignment is for translations of one model, without --nbest");
        if (o->blockwise && (trees || all->n > 1 || o->nbest > 1 || o->beam_size > 1))
            fail(e, "--blockwise is greedy: for translations of one model, without --beam-size and --nbest");
        bad = e->text[0] || (trees ? predict_parse(o, x->path, &x->m, x->src, x->tgt, p, e)
                                   : predict_translate(o, &x->m, x->src, x->tgt, e));
    }
    members_close(all);
    return bad ? -1 : 0;
}
