#include "network/train/teacher.h"
#include "network/train/tapes.h"
#include <stdlib.h>
#include <string.h>

struct teacher {
    model m;
    vocab *src, *tgt;
    tapes tapes;
};

static bool same_vocab(const vocab *a, const vocab *b)
{
    char one[65], two[65];
    if (!a || !b) return !a && !b;
    vocab_sum(a, one), vocab_sum(b, two);
    return same(one, two);
}

teacher *teacher_open(const char *path, const model *student, const vocab *src, const vocab *tgt, char *said,
                      size_t most, err *e)
{
    char sum[65] = "";
    teacher *t = xcalloc(1, sizeof *t);
    if (sha256_file(path, sum, e) || train_load(path, &t->m, student->compute, student->backend, &t->src, &t->tgt, e)) {
        fail_in(e, "teacher = %s: ", path);
        free(t);
        return NULL;
    }
    t->m.wide_logits = true;
    t->tapes.m = &t->m;
    if (!same_vocab(t->src, src) || !same_vocab(t->tgt, tgt)) {
        fail(e, "teacher = %s: has another vocabulary (%lld tokens, this run has %lld); expected the same tokens", path,
             (long long)vocab_size(t->tgt), (long long)vocab_size(tgt));
        teacher_close(t);
        return NULL;
    }
    snprintf(said, most, "%s, sha256 %.12s", path, sum);
    return t;
}

void teacher_close(teacher *t)
{
    if (!t) return;
    tapes_close(&t->tapes);
    model_free(&t->m);
    vocabs_free(t->src, t->tgt);
    free(t);
}

int teacher_teach(teacher *t, const batch *b, ab_ctx *student, err *e)
{
    if (!t) return fail(e, "the head asks for the logits of a teacher, but there is none");
    ab_ctx *c = tapes_get(&t->tapes, b, e);
    if (!c) return -1;
    model_batch view = train_view(b);
    model_loss_inputs(c, &view, 1);
    if (tape_run(c, &(run_options){.from = PHASE_CONST})) return fail(e, "teacher: %s", c->error.text);
    const node *from = &c->v[tape_find(c, "logits").id], *to = &student->v[tape_find(student, TEACHER).id];
    if (!to->data) return 0; /* nothing reads the teacher's logits, so none are computed */
    if (from->type != to->type || node_count(from) != node_count(to))
        return fail(e, "teacher: %lld logits of type %s, expected %lld of type %s", (long long)node_count(from),
                    dtype_name(from->type), (long long)node_count(to), dtype_name(to->type));
    backend_move(t->m.backend, to->data, from->data, (size_t)node_count(to) * dtype_size(to->type));
    return 0;
}
