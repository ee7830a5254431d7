/* attention.c - ablate attention: what each head looks at, for one sentence, as a page of heat maps (the
 * paper's figures 3 to 5, for any sentence and any attention that ends in a softmax over keys). */
#include "cpu/cpu.h"
#include "decode/beam.h"
#include "plugin/plugin.h"
#include "run.h"
#include "train/train.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *run, *model, *text, *target, *out;
    int64_t layer, head; /* -1: all; layers count from 1, heads too */
} attention_options;

static const char *const usage =
    "usage: ablate attention --run RUN | --model FILE.safetensors --text LINE -o FILE.html\n"
    "                        [--target LINE] [--layer N] [--head N] [--plugin-path FOLDERS] [--db FILE]\n"
    "Without --target the model's own translation is looked at.\n";

static int take(attention_options *o, places *p, const char *name, const char *value, err *e)
{
    struct {
        const char *name, **at;
    } texts[] = {{"--run", &o->run},       {"--model", &o->model}, {"--text", &o->text},
                 {"--target", &o->target}, {"-o", &o->out},        {"--db", &p->db.path}};
    if (!value) return fail(e, "%s wants a value", name);
    if (same(name, "--plugin-path")) return plugin_add_path(value), 0;
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (same(name, texts[i].name)) {
            *texts[i].at = value;
            return 0;
        }
    int64_t *at = same(name, "--layer") ? &o->layer : same(name, "--head") ? &o->head : NULL;
    if (!at) return fail(e, "unknown option %s", name);
    return parse_int(value, at) && *at > 0 ? 0 : fail(e, "%s %s: expected a number from 1", name, value);
}

static void html_text(str *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '<')
            str_add(out, "&lt;");
        else if (*s == '>')
            str_add(out, "&gt;");
        else if (*s == '&')
            str_add(out, "&amp;");
        else if (*s == '"')
            str_add(out, "&quot;");
        else
            str_addc(out, *s);
    }
}

typedef struct {
    const vocab *v;
    const int32_t *ids;
    int64_t n;
} side;

static void token(str *out, const side *s, int64_t i) { html_text(out, vocab_token(s->v, s->ids[i])); }

/* One head: a row a query, a column a key; the darker the more weight. w: [queries][stride]. */
static void heat_map(str *out, const float *w, int64_t stride, const side *q, const side *k)
{
    str_add(out, "<table><tr><td></td>");
    for (int64_t j = 0; j < k->n; j++) {
        str_add(out, "<th class=k><span>");
        token(out, k, j);
        str_add(out, "</span></th>");
    }
    str_add(out, "</tr>\n");
    for (int64_t i = 0; i < q->n; i++) {
        str_add(out, "<tr><th>");
        token(out, q, i);
        str_add(out, "</th>");
        for (int64_t j = 0; j < k->n; j++) {
            float x = w[i * stride + j];
            str_addf(out, "<td style=\"background:rgba(20,60,140,%.3f)\" title=\"%.3f\"></td>", (double)x,
                     (double)x);
        }
        str_add(out, "</tr>\n");
    }
    str_add(out, "</table>\n");
}

static int add_place(str *out, const ab_ctx *c, const attention_options *o, const char *title,
                     const char *stack, const char *part, int64_t layers, const side *q, const side *k)
{
    int shown = 0;
    for (int64_t l = 0; l < layers; l++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%lld.%s.weights", stack, (long long)l, part);
        ab_t x = tape_find(c, name);
        if (!x.id || (o->layer > 0 && o->layer != l + 1)) continue;
        const node *v = &c->v[x.id];
        str_addf(out, "<h2>%s, layer %lld</h2>\n<div class=row>\n", title, (long long)l + 1);
        for (int64_t h = 0; h < v->dim[1]; h++) {
            if (o->head > 0 && o->head != h + 1) continue;
            str_addf(out, "<figure><figcaption>head %lld</figcaption>\n", (long long)h + 1);
            heat_map(out, (const float *)v->data + h * v->dim[2] * v->dim[3], v->dim[3], q, k);
            str_add(out, "</figure>\n");
            shown++;
        }
        str_add(out, "</div>\n");
    }
    return shown;
}

static const char *const style =
    "<style>body{font:14px "
    "sans-serif;margin:2em}.row{display:flex;flex-wrap:wrap;gap:1.5em}figure{margin:0}table{border-collapse:"
    "collapse}td{width:1.1em;height:1.1em;border:1px solid "
    "#eee}th{font-weight:normal;text-align:right;padding:0 .4em}.k{height:7em;"
    "vertical-align:bottom;padding:0}.k span{writing-mode:vertical-rl;transform:rotate(180deg)}</style>\n";

static int write_page(model *m, const attention_options *o, const char *target, const pairs *p,
                      const vocab *src, const vocab *tgt, err *e)
{
    batch b;
    int64_t longest = p->src_longest > p->tgt_longest ? p->src_longest : p->tgt_longest;
    batcher *all = batcher_new(p, &(batch_options){.batch_tokens = longest}, e);
    if (!all || !batcher_next(all, &b)) return fail(e, "the sentence is empty");
    m->keep_weights = true;
    model_shape shape = {1, b.src_rows, b.tgt_rows, b.src_longest, b.tgt_longest};
    ab_ctx *c = model_loss_tape(m, &shape, false, e);
    int bad = !c || (tape_plan(c, NULL, NULL) && fail(e, "%s", c->error.text));
    if (!bad) {
        model_batch view = {.shape = shape,
                            .src_ids = b.src_ids,
                            .src_pos = b.src_pos,
                            .src_offset = b.src_offset,
                            .tgt_in = b.tgt_in,
                            .tgt_out = b.tgt_out,
                            .tgt_pos = b.tgt_pos,
                            .tgt_offset = b.tgt_offset};
        model_loss_inputs(c, &view, 1);
        bad = tape_run(c, &(run_options){.from = PHASE_CONST}) ? fail(e, "%s", c->error.text) : 0;
    }
    str page = {0};
    if (!bad) {
        side s = {src, b.src_ids, b.src_rows}, t = {tgt, b.tgt_in, b.tgt_rows};
        str_addf(&page, "<!doctype html><meta charset=utf-8><title>attention</title>%s<p>", style);
        html_text(&page, o->text);
        str_add(&page, "<br>");
        html_text(&page, target);
        str_add(&page, "</p>\n<p>A row is a query, a column a key; point at a cell for its weight. Decoder "
                       "rows: the token read.</p>\n");
        int shown =
            add_place(&page, c, o, "encoder self-attention", "enc", "self", m->cfg.layers_encoder, &s, &s) +
            add_place(&page, c, o, "decoder self-attention", "dec", "self", m->cfg.layers_decoder, &t, &t) +
            add_place(&page, c, o, "attention to the source", "dec", "cross", m->cfg.layers_decoder, &t, &s);
        if (!shown)
            bad =
                fail(e, "nothing to show: no such layer or head, or an attention without weights over keys");
    }
    if (!bad) bad = file_write(o->out, page.s, page.n, e);
    str_free(&page);
    tape_free(c);
    batcher_free(all);
    return bad;
}

static int look(const attention_options *o, const char *path, err *e)
{
    model m = {0};
    vocab *src, *tgt;
    if (train_load(path, &m, F32, &cpu_backend, &src, &tgt, e)) return -1;
    beam_options b = beam_options_of(&m.cfg);
    char **out = NULL;
    pairs p = {0};
    const char *target = o->target;
    int bad = target ? 0 : decode_lines(&m, src, tgt, &o->text, 1, &b, &out, NULL, NULL, e);
    if (!bad && !target) target = out[0];
    if (!bad) bad = pairs_encode(&p, &o->text, &target, 1, src, tgt, e);
    if (!bad) bad = write_page(&m, o, target, &p, src, tgt, e);
    pairs_free(&p);
    if (out) decoded_free(out, 1);
    model_free(&m);
    if (tgt != src) vocab_free(tgt);
    vocab_free(src);
    return bad;
}

int attention_command(int argc, char **argv, const places *given)
{
    places p = *given;
    attention_options o = {.layer = -1, .head = -1};
    err e = {0};
    for (int i = 1; i < argc && !e.text[0]; i += 2)
        take(&o, &p, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &e);
    if (!e.text[0] && (!o.text || !o.out || !o.model == !o.run))
        fail(&e, "a model (--run or --model), --text and -o are wanted");
    if (e.text[0]) {
        fprintf(stderr, "ablate attention: %s\n%s", e.text, usage);
        return 2;
    }
    char *path = o.model ? xstrdup(o.model) : run_model_path(o.run, &p, &e);
    int bad = !path || look(&o, path, &e);
    free(path);
    if (bad) fprintf(stderr, "ablate attention: %s\n", e.text);
    return bad ? 1 : 0;
}
