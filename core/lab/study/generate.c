/* generate.c - continues a prompt with a trained language model. */
#include "lab/study/generate.h"
#include "lab/study/predict.h"
#include "text/data/input.h"
#include "network/decode/sample.h"
#include "tensor/device/device.h"
#include "network/plugin/plugin.h"
#include "network/train/train.h"
#include <string.h>

/* Finds how the model's task reads a text: its window and ends; opens the task without its data. */
static int text_of(const model *m, const places *p, sample_options *how, err *e)
{
    char said[TASK_SAYS];
    CLEANUP(arena_free) arena a = {0};
    void *self = NULL;
    const plugin *x = plugin_find(AB_TASK, m->cfg.task, e);
    if (!x) return -1;
    const ab_task_plugin *task = &x->iface.task;
    ab_env env = {.data_dir = p->data_dir, .seed = 1, .no_data = 1};
    ab_vocabs asked = {.tgt = task->tgt_vocab};
    int bad = model_open_task(x, &m->set, &env, &a, &self, said, e);
    if (!bad && task->vocabs) task->vocabs(self, &asked);
    if (self) task->close(self);
    if (!bad && asked.tgt == AB_VOCAB_SYMBOLS && !asked.endless)
        bad = fail(e, "a model of task %s labels inputs; it cannot continue a text", x->desc.name);
    how->window = asked.window, how->endless = asked.endless;
    return bad;
}

/* Encodes the lines of a prompt, separated by ends. */
static int encode(const vocab *v, const char *prompt, id_list *out, err *e)
{
    for (const char *line = prompt;; line++) {
        size_t n = strcspn(line, "\n");
        AUTOFREE char *one = xstrndup(line, n);
        int64_t from = out->n;
        int bad = vocab_encode(v, one, out, e);
        for (int64_t i = from; i < out->n && !bad; i++)
            if (out->id[i] == VOCAB_UNK)
                bad = fail(e, "token %lld does not occur in the training vocabulary", (long long)i + 1);
        if (bad || !line[n]) return bad;
        id_list_add(out, VOCAB_EOS);
        line += n;
    }
}

typedef struct {
    model *m;
    const vocab *v;
    sample_options how;
    id_list text;
    int64_t printed; /* tokens printed, in whole lines */
    int64_t tokens;  /* tokens sampled */
    double seconds;
} writer;

/* Prints the text's new lines, which VOCAB_EOS ends; last: an unfinished line, too. */
static int print_lines(writer *w, bool last, err *e)
{
    CLEANUP(str_free) str out = {0};
    for (int64_t i = w->printed, n; i < w->text.n; i += n + 1) {
        for (n = 0; i + n < w->text.n && w->text.id[i + n] != VOCAB_EOS;) n++;
        if (i + n == w->text.n && !last) break;
        vocab_decode(w->v, w->text.id + i, n, &out);
        str_addc(&out, '\n');
        w->printed = i + n + 1;
    }
    if (last && !w->text.n && w->how.one_line) str_addc(&out, '\n'); /* one output line per prompt */
    fwrite(str_text(&out), 1, out.n, stdout);
    return output_flush(e);
}

static int print_ended(void *self, const id_list *text, err *e)
{
    (void)text;
    return print_lines(self, false, e);
}

/* Continues one prompt. */
static int write_on(writer *w, const char *prompt, err *e)
{
    double seconds = 0;
    w->text.n = 0, w->printed = 0;
    if (encode(w->v, prompt, &w->text, e)) return -1;
    int64_t given = w->text.n;
    if (sample_text(w->m, &w->how, &w->text, &seconds, e)) return -1;
    w->tokens += w->text.n - given, w->seconds += seconds;
    return print_lines(w, true, e);
}

/* Takes each line of standard input as a prompt and continues it to the end of a line. */
static int write_lines(writer *w, err *e)
{
    input_part in = {0};
    int rc;
    w->how.one_line = true;
    while ((rc = input_next(&in, 1, e)) == 1) {
        w->how.stream = in.first - 1;
        if (write_on(w, in.lines[0], e)) {
            fail_in(e, "standard input:%zu: ", in.first);
            rc = -1;
            break;
        }
    }
    input_end(&in);
    return rc;
}

static int write_all(const generate_options *o, model *m, const vocab *v, const places *p, bool quiet, err *e)
{
    writer w = {.m = m, .v = v};
    w.how = (sample_options){.tokens = o->tokens,
                             .temperature = o->temperature,
                             .top_k = o->top_k,
                             .seed = (uint64_t)o->seed,
                             .ended = print_ended,
                             .self = &w};
    int bad = text_of(m, p, &w.how, e);
    if (!bad && same(o->prompt, "-"))
        bad = write_lines(&w, e);
    else if (!bad && write_on(&w, o->prompt, e))
        bad = (fail_in(e, "--prompt: "), -1);
    if (!bad && !quiet && w.tokens)
        fprintf(stderr, "%lld tokens in %.2f s: %.0f tokens/s, %s\n", (long long)w.tokens, w.seconds,
                (double)w.tokens / w.seconds, dtype_name(m->compute));
    id_list_free(&w.text);
    return bad;
}

int generate_print(const generate_options *o, const places *p, bool quiet, err *e)
{
    model m = {0};
    vocab *src = NULL, *tgt = NULL;
    dtype compute;
    bool reads = same(o->prompt, "-"); /* checks standard input before another file takes its descriptor */
    AUTOFREE char *path = reads && input_check(e) ? NULL : run_model_path(o->run, p, e);
    cpu_threads((int)o->threads);
    const backend *on = path ? device_open(o->device, e) : NULL;
    int bad = !on || device_model_compute(path, on, &compute, e) || train_load(path, &m, compute, on, &src, &tgt, e);
    if (!bad) {
        bad = src ? fail(e, "this model has a source side; use `ablate predict`") : write_all(o, &m, tgt, p, quiet, e);
        model_free(&m);
        vocabs_free(src, tgt);
    }
    return bad ? -1 : 0;
}
