#include "network/train/weights.h"
#include "network/train/train.h"
#include <stdio.h>

ab_ctx *weights_tape(model *m, const batch *b, err *e)
{
    model_batch view = train_view(b);
    view.shape.src_rows = b->src_rows, view.shape.tgt_rows = b->tgt_rows; /* the batch's rows without padding rows */
    m->keep_weights = true;
    ab_ctx *c = model_loss_tape(m, &view.shape, false, e);
    m->keep_weights = false;
    if (!c) return NULL;
    int bad = tape_plan(c, NULL, NULL);
    if (!bad) {
        model_loss_inputs(c, &view, 1);
        run_options all = {.from = PHASE_CONST};
        bad = m->keep_influence ? tape_run_phase(c, &all, PHASE_CONST) || tape_run_phase(c, &all, PHASE_SETUP)
                                : tape_run(c, &all);
    }
    if (!bad) return c;
    fail(e, "%s", c->error.text);
    tape_free(c);
    return NULL;
}

bool weights_find(const ab_ctx *c, const char *stack, const char *part, int64_t layer, weights *out)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%lld.%s.weights", stack, (long long)layer, part);
    ab_t x = tape_find(c, name);
    if (!x.id) return false;
    const node *v = &c->v[x.id];
    *out = (weights){(size_t)v->dim[1], (size_t)v->dim[2], (size_t)v->dim[3], v->data};
    return true;
}
