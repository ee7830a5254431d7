/* patch.c - activation patching. Runs a sentence through a model with one sublayer's output at one token from another
 * sentence, and measures the change in the target's loss. (Meng et al. 2022, Locating and Editing Factual Associations
 * in GPT, section 2; Wang et al. 2023, Interpretability in the Wild, section 3.) In fp32 on the CPU. */
#include "lab/study/patch.h"
#include "lab/study/predict.h"
#include "lab/report/heat.h"
#include "network/decode/beam.h"
#include "network/train/train.h"
#include "tensor/cpu/cpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sentence as a batch. */
typedef struct {
    id_list src, tgt;                /* both with their ends; tgt: the predicted tokens */
    int32_t *tgt_in, *tgt_out, *pos; /* pos: 0, 1, ... for both sides */
    int32_t src_offset[2], tgt_offset[2];
    int64_t first; /* the first row whose loss counts */
} sentence;

typedef struct {
    const char *name; /* "dec.0.ffn" */
    ab_t with, where, out;
    int64_t rows, width;
    float *other;   /* the output in the other run [rows][width] */
    double *effect; /* [rows]: loss with this row patched, minus the loss without patch */
} patch_place;

typedef struct {
    model m;
    vocab *src, *tgt;
    ab_ctx *c;
    patch_place *at;
    size_t n;
    arena memory;
} patching;

/* ---- the sentences ---- */

static void sentence_free(sentence *s)
{
    id_list_free(&s->src), id_list_free(&s->tgt);
    free(s->tgt_in);
}

/* If the model has a source, text is the source. Else target follows text, or text is the target (target NULL). */
static int sentence_make(const patching *x, const char *text, const char *target, sentence *s, err *e)
{
    if (x->src) {
        if (vocab_encode(x->src, text, &s->src, e) || vocab_encode(x->tgt, target, &s->tgt, e)) return -1;
        id_list_add(&s->src, VOCAB_EOS), id_list_add(&s->tgt, VOCAB_EOS);
    } else {
        if (vocab_encode(x->tgt, text, &s->tgt, e)) return -1;
        s->first = target ? s->tgt.n : 0;
        if (target && vocab_encode(x->tgt, target, &s->tgt, e)) return -1;
    }
    if (s->tgt.n <= s->first) return fail(e, "the target is empty");
    size_t n = (size_t)s->tgt.n, longest = n > (size_t)s->src.n ? n : (size_t)s->src.n;
    if (model_check_reach(&x->m, (int64_t)longest, "a side of the sentence has that many tokens", e)) return -1;
    s->tgt_in = xmalloc((2 * n + longest) * sizeof *s->tgt_in);
    s->tgt_out = s->tgt_in + n, s->pos = s->tgt_out + n;
    for (size_t i = 0; i < n; i++) {
        s->tgt_in[i] = i ? s->tgt.id[i - 1] : VOCAB_BOS;
        s->tgt_out[i] = (int64_t)i < s->first ? -1 : s->tgt.id[i];
    }
    for (size_t i = 0; i < longest; i++) s->pos[i] = (int32_t)i;
    s->src_offset[1] = (int32_t)s->src.n, s->tgt_offset[1] = (int32_t)s->tgt.n;
    return 0;
}

static model_batch view_of(const sentence *s)
{
    return (model_batch){.shape = {1, s->src.n, s->tgt.n, s->src.n, s->tgt.n},
                         .src_ids = s->src.id,
                         .src_pos = s->pos,
                         .src_offset = s->src_offset,
                         .tgt_in = s->tgt_in,
                         .tgt_out = s->tgt_out,
                         .tgt_pos = s->pos,
                         .tgt_offset = s->tgt_offset};
}

/* ---- runs ---- */

/* Returns the mean loss of the target's tokens [nats]; NAN and e. */
static double loss_of(patching *x, const sentence *s, err *e)
{
    ab_t losses = tape_find(x->c, "losses");
    size_t n = (size_t)s->tgt.n * 2;
    AUTOFREE float *each = xmalloc(n * sizeof *each);
    double sum = 0;
    int bad = tape_run(x->c, &(run_options){.from = PHASE_CONST}) ? fail(e, "%s", x->c->error.text)
                                                                  : tape_read(x->c, losses, each, n * sizeof *each, e);
    for (size_t i = (size_t)s->first; !bad && i < n / 2; i++) sum += (double)each[2 * i + 1];
    return bad ? NAN : sum / (double)(s->tgt.n - s->first);
}

static int find_places(patching *x, const char *at, err *e)
{
    ab_ctx *c = x->c;
    size_t cap = 0, length = strlen(at);
    for (int32_t i = 1; i < c->n; i++) {
        const char *name = c->v[i].name;
        if (!name || !has_suffix(name, PATCH)) continue;
        patch_place p = {.name = arena_printf(&x->memory, "%.*s", (int)(strlen(name) - strlen(PATCH)), name)};
        p.with = (ab_t){i};
        p.where = tape_find(c, arena_printf(&x->memory, "%s" PATCHED_ROWS, p.name));
        p.out = tape_find(c, arena_printf(&x->memory, "%s" KEPT_OUTPUT, p.name));
        p.rows = c->v[i].dim[2], p.width = c->v[i].dim[3];
        AUTOFREE float *none = xcalloc((size_t)p.rows, sizeof *none);
        tape_write(c, p.where, none, (size_t)p.rows * sizeof *none);
        if (strncmp(p.name, at, length) || (p.name[length] && p.name[length] != '.')) continue;
        x->at = grow(x->at, &cap, x->n + 1, sizeof *x->at);
        x->at[x->n++] = p;
    }
    if (x->n) return 0;
    return fail(e, "--at %s: found no such place, expected enc, dec, a layer such as dec.0 or a sublayer: dec.0.ffn",
                at);
}

/* Traces the tape for sentences as long as this one. */
static int open_tape(patching *x, const sentence *s, err *e)
{
    model_batch b = view_of(s);
    x->m.patches = x->m.keep_outputs = true;
    x->c = model_loss_tape(&x->m, &b.shape, false, e);
    if (!x->c) return -1;
    return tape_plan(x->c, NULL, NULL) ? fail(e, "%s", x->c->error.text) : 0;
}

static int keep_other(patching *x, err *e)
{
    int bad = 0;
    for (size_t i = 0; i < x->n && !bad; i++) {
        patch_place *p = &x->at[i];
        size_t bytes = (size_t)(p->rows * p->width) * sizeof *p->other;
        p->other = arena_alloc(&x->memory, bytes + 1);
        p->effect = arena_alloc(&x->memory, (size_t)p->rows * sizeof *p->effect);
        bad = tape_read(x->c, p->out, p->other, bytes, e);
    }
    return bad;
}

static int patch_all(patching *x, const sentence *to, double loss, err *e)
{
    for (size_t i = 0; i < x->n; i++) {
        patch_place *p = &x->at[i];
        AUTOFREE float *marks = xcalloc((size_t)p->rows, sizeof *marks);
        size_t bytes = (size_t)p->rows * sizeof *marks;
        tape_write(x->c, p->with, p->other, bytes * (size_t)p->width);
        for (int64_t r = 0; r < p->rows; r++) {
            marks[r] = 1;
            tape_write(x->c, p->where, marks, bytes);
            p->effect[r] = loss_of(x, to, e) - loss;
            marks[r] = 0;
        }
        tape_write(x->c, p->where, marks, bytes);
    }
    return e->text[0] ? -1 : 0;
}

/* ---- output ---- */

/* Returns the tokens of the rows of a patched stack: the source's, or the decoder's inputs. */
static const char **tokens_of(patching *x, const sentence *s, bool decoder)
{
    int64_t n = decoder ? s->tgt.n : s->src.n;
    const char **out = arena_alloc(&x->memory, (size_t)n * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        out[i] = decoder ? vocab_token(x->tgt, s->tgt_in[i]) : vocab_token(x->src, s->src.id[i]);
    return out;
}

static int show(patching *x, const patch_options *o, const sentence *to, bool decoder, err *e)
{
    const char **tokens = tokens_of(x, to, decoder), **names = arena_alloc(&x->memory, x->n * sizeof *names);
    size_t columns = (size_t)(decoder ? to->tgt.n : to->src.n);
    double *all = arena_alloc(&x->memory, x->n * columns * sizeof *all);
    printf("place");
    for (size_t k = 0; k < columns; k++) printf("\t%s", tokens[k]);
    for (size_t i = 0; i < x->n; i++) {
        names[i] = x->at[i].name;
        printf("\n%s", names[i]);
        for (size_t k = 0; k < columns; k++) printf("\t%+.4f", all[i * columns + k] = x->at[i].effect[k]);
    }
    printf("\n");
    if (!o->out) return 0;
    drawing *d = heat_draw(&(heat){.title = "change of the loss [nats per token]",
                                   .description = "change of the loss by patched place and token",
                                   .row_key = "place",
                                   .column_key = "token",
                                   .rows = names,
                                   .columns = tokens,
                                   .n_rows = x->n,
                                   .n_columns = columns,
                                   .value = all,
                                   .decimals = 3,
                                   .marked = SIZE_MAX},
                           140 + 64 * (double)columns);
    int bad = drawing_write(d, o->out, e);
    drawing_free(d);
    return bad;
}

static int same_length(const sentence *a, const sentence *b, err *e)
{
    if (a->src.n == b->src.n && a->tgt.n == b->tgt.n) return 0;
    bool source = a->src.n != b->src.n;
    return fail(e, "--from has %lld tokens and --to %lld, expected equally many",
                (long long)(source ? a->src.n - 1 : a->tgt.n), (long long)(source ? b->src.n - 1 : b->tgt.n));
}

static int patch_pair(patching *x, const patch_options *o, const char *target, err *e)
{
    const char *at = o->at ? o->at : x->src ? "enc" : "dec";
    sentence from = {0}, to = {0};
    double other = NAN, loss = NAN;
    model_batch a, b;
    int bad = sentence_make(x, o->from, target, &from, e) || sentence_make(x, o->to, target, &to, e) ||
              same_length(&from, &to, e) || open_tape(x, &to, e) || find_places(x, at, e);
    if (!bad) {
        a = view_of(&from), b = view_of(&to);
        model_loss_inputs(x->c, &a, 1);
        other = loss_of(x, &from, e);
        bad = e->text[0] || keep_other(x, e);
    }
    if (!bad) {
        model_loss_inputs(x->c, &b, 1);
        loss = loss_of(x, &to, e);
        bad = e->text[0] || patch_all(x, &to, loss, e);
    }
    if (!bad) printf("loss\t%.4f\tfrom\t%.4f\n", loss, other);
    if (!bad) bad = show(x, o, &to, has_prefix(at, "dec"), e);
    sentence_free(&from), sentence_free(&to);
    return bad;
}

int patch_print(const patch_options *o, const char *run, const places *p, bool quiet, err *e)
{
    patching x = {0};
    AUTOFREE char *path = run_model_path(run, p, e);
    char **decoded = NULL;
    cpu_threads((int)o->threads);
    bool open = path && !train_load(path, &x.m, F32, &cpu_backend, &x.src, &x.tgt, e);
    int bad = !open;
    const char *target = o->target;
    if (!bad && !target && x.src) {
        beam_options b = beam_options_of(&x.m.cfg);
        bad = source_check_reach(&x.m, x.src, "--to", o->to, e) ||
              decode_lines(&x.m, x.src, x.tgt, &o->to, 1, &b, &decoded, NULL, NULL, e);
        if (!bad) target = decoded[0];
        if (!bad && !quiet) fprintf(stderr, "target: %s\n", target);
    }
    if (!bad) bad = patch_pair(&x, o, target, e);
    if (decoded) decoded_free(decoded, 1);
    tape_free(x.c);
    free(x.at);
    arena_free(&x.memory);
    if (open) {
        model_free(&x.m);
        vocabs_free(x.src, x.tgt);
    }
    return bad ? -1 : 0;
}
