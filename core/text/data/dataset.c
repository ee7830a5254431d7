/* dataset.c - encodes lines as ids, split by split. */
#include "text/data/dataset.h"
#include "base/cleanup.h"
#include "base/places.h"
#include <stdlib.h>
#include <string.h>

const char *const split_names[AB_SPLITS] = {"train", "dev", "test"};

/* Gathers lines of the train split, which the task owns; which: 1 source, 2 target, 3 both. */
static const char **train_lines(const ab_task_plugin *task, void *self, int which, int64_t *n)
{
    int64_t count = task->count(self, AB_TRAIN), sides = which == 3 ? 2 : 1;
    const char **lines = xmalloc((size_t)(count * sides + 1) * sizeof *lines);
    *n = 0;
    for (int side = 1; side <= 2; side++) {
        if (!(which & side)) continue;
        for (int64_t i = 0; i < count; i++) {
            ab_example x;
            task->get(self, AB_TRAIN, i, &x);
            lines[(*n)++] = side == 1 ? x.src : x.tgt;
        }
    }
    return lines;
}

static vocab *side_vocab(const ab_task_plugin *task, void *self, int which, const ab_vocabs *asked, vocab_kind kind,
                         int64_t size, bool lowercase, const char *cache_dir, err *e)
{
    int64_t n;
    ab_vocab wanted = which == 2 ? asked->tgt : asked->src;
    if (wanted == AB_VOCAB_SYMBOLS) return vocab_train(TOKENS_WORDS, 0, false, asked->symbols, asked->n_symbols, e);
    AUTOFREE const char **lines = train_lines(task, self, which, &n);
    bool subwords = wanted == AB_VOCAB_SUBWORD;
    return vocab_with_symbols(cache_dir,
                              subwords                   ? kind
                              : wanted == AB_VOCAB_CHARS ? TOKENS_CHAR
                                                         : TOKENS_WORDS,
                              subwords ? size : 0, lowercase, asked->symbols, asked->n_symbols, lines, n, e);
}

/* The vocabularies that the opened task asks for. */
static ab_vocabs wishes(const ab_task_plugin *task, void *self, bool shared)
{
    ab_vocabs asked = {.flags = shared ? AB_SHARED_VOCAB : 0, .src = task->src_vocab, .tgt = task->tgt_vocab};
    if (task->vocabs) task->vocabs(self, &asked);
    return asked;
}

int dataset_vocabs(const ab_task_plugin *task, void *self, bool shared, vocab_kind kind, int64_t size, bool lowercase,
                   const char *cache_dir, vocab **src, vocab **tgt, err *e)
{
    ab_vocabs asked = wishes(task, self, shared);
    *src = *tgt = NULL;
    if (task->flags & AB_DECODER_ONLY)
        return (*tgt = side_vocab(task, self, 2, &asked, kind, size, lowercase, cache_dir, e)) ? 0 : -1;
    shared = asked.flags & AB_SHARED_VOCAB;
    if (shared && asked.src != asked.tgt)
        return fail(e, "this task has subwords on one side and words on the other: they cannot share a vocabulary");
    *src = side_vocab(task, self, shared ? 3 : 1, &asked, kind, size, lowercase, cache_dir, e);
    if (!*src) return -1;
    *tgt = shared ? *src : side_vocab(task, self, 2, &asked, kind, size, lowercase, cache_dir, e);
    if (*tgt) return 0;
    vocab_free(*src);
    *src = NULL;
    return -1;
}

/* ---- one split ---- */

typedef struct { /* pairs being gathered */
    id_list src, tgt;
    bool labels;                        /* src holds the labels' inputs */
    int64_t *src_at, *tgt_at, *example; /* [n_given + 1] */
    pairs p;
} gathering;

static void gather_start(gathering *g, int64_t n_given)
{
    g->p = (pairs){.n_given = n_given};
    size_t bytes = ((size_t)n_given + 1) * sizeof(int64_t);
    g->src_at = xcalloc(1, bytes);
    g->tgt_at = xcalloc(1, bytes);
    g->example = xcalloc(1, bytes);
}

static void gather_free(gathering *g)
{
    id_list_free(&g->src);
    id_list_free(&g->tgt);
    free(g->src_at);
    free(g->tgt_at);
    free(g->example);
}

static int encode_side(const vocab *v, const char *line, id_list *out, err *e)
{
    if (vocab_encode(v, line, out, e)) return -1;
    id_list_add(out, VOCAB_EOS);
    return 0;
}

/* Adds pair i. With `filter`, pair i may be dropped (see dataset_build). */
static int gather(gathering *g, int64_t i, const char *src_line, const char *tgt_line, const vocab *src,
                  const vocab *tgt, bool filter, int64_t max_length, err *e)
{
    int64_t src_from = g->src.n, tgt_from = g->tgt.n;
    char at[PLACE];
    if (src && encode_side(src, src_line, &g->src, e))
        return fail_in(e, "%ssource line %lld: ", place_of(src_line, at), (long long)i + 1);
    if (encode_side(tgt, tgt_line, &g->tgt, e))
        return fail_in(e, "%starget line %lld: ", place_of(tgt_line, at), (long long)i + 1);
    int64_t s = g->src.n - src_from, t = g->tgt.n - tgt_from;
    bool empty = (src && s == 1) || t == 1, longer = max_length && (s > max_length || t > max_length);
    if (filter && (empty || longer)) {
        if (empty)
            g->p.n_empty++;
        else
            g->p.n_long++;
        g->src.n = src_from;
        g->tgt.n = tgt_from;
        return 0;
    }
    pairs *p = &g->p;
    g->example[p->n++] = i;
    g->src_at[p->n] = g->src.n;
    g->tgt_at[p->n] = g->tgt.n;
    if (s > p->src_longest) p->src_longest = s;
    if (t > p->tgt_longest) p->tgt_longest = t;
    return 0;
}

/* Ends example i, which consists of the last n tokens and their inputs. */
static void end_labels(gathering *g, int64_t i, int64_t n)
{
    pairs *p = &g->p;
    g->labels = true;
    g->example[p->n++] = i;
    g->tgt_at[p->n] = g->tgt.n;
    if (n > p->tgt_longest) p->tgt_longest = n;
}

/* Adds example i of a task with labels. */
static int gather_labels(gathering *g, int64_t i, const ab_example *x, const vocab *v, err *e)
{
    int64_t from = g->tgt.n;
    if (vocab_encode(v, x->src, &g->src, e)) return fail_in(e, "input line %lld: ", (long long)i + 1);
    if (vocab_encode(v, x->tgt, &g->tgt, e)) return fail_in(e, "label line %lld: ", (long long)i + 1);
    int64_t n = g->tgt.n - from;
    if (g->src.n != g->tgt.n || !n)
        return fail(e, "example %lld: %lld inputs and %lld labels, expected equal numbers above 0", (long long)i + 1,
                    (long long)(g->src.n - from), (long long)n);
    for (int64_t k = from; k < g->tgt.n; k++) {
        if (g->src.id[k] == VOCAB_UNK)
            return fail(e, "example %lld: input %lld is not in the vocabulary", (long long)i + 1,
                        (long long)(k - from) + 1);
        if (g->tgt.id[k] == VOCAB_UNK) g->tgt.id[k] = -1;
    }
    end_labels(g, i, n);
    return 0;
}

/* Adds line i as inputs with labels. Not predicted are the line's first `given` tokens and, if `endless`, its end. */
static int gather_line(gathering *g, int64_t i, const char *line, const vocab *v, const ab_vocabs *asked, err *e)
{
    int64_t from = g->tgt.n;
    if (encode_side(v, line, &g->tgt, e)) return fail_in(e, "line %lld: ", (long long)i + 1);
    if (asked->endless) g->tgt.n--;
    int64_t n = g->tgt.n - from;
    if (n <= asked->given)
        return fail(e, "line %lld has %lld tokens, of which %lld are given; expected one more at least",
                    (long long)i + 1, (long long)n, (long long)asked->given);
    if (g->p.n && asked->endless && n != g->p.tgt_longest)
        return fail(e, "line %lld has %lld tokens, expected %lld as in line 1, because no end is predicted",
                    (long long)i + 1, (long long)n, (long long)g->p.tgt_longest);
    g->src.id = grow(g->src.id, &g->src.cap, (size_t)g->tgt.n, sizeof *g->src.id);
    for (int64_t k = from; k < g->tgt.n; k++) g->src.id[k] = k == from ? VOCAB_BOS : g->tgt.id[k - 1];
    for (int64_t k = from; k < from + asked->given; k++) g->tgt.id[k] = -1;
    g->src.n = g->tgt.n;
    end_labels(g, i, n);
    return 0;
}

/* Cuts the lines' tokens into windows of one text, or of documents; ends [n_ends]: the token behind each document. In
 * training, windows are placeholders for drawn ones, so there is one text and its tail has no window. */
static int cut_windows(gathering *g, const int64_t *ends, int64_t n_ends, int64_t window, bool train, err *e)
{
    pairs *p = &g->p;
    int64_t text = g->tgt.n, n = train ? text / window : 0, at = 0;
    if (train && !n)
        return fail(e, "the text has %lld tokens (including line ends); expected at least one window of %lld",
                    (long long)text, (long long)window);
    bool one = train || !n_ends;
    int64_t *documents = one ? NULL : xcalloc((size_t)n_ends, sizeof *documents);
    if (one) ends = &text, n_ends = 1;
    for (int64_t d = 0, from = 0; d < n_ends && !train; from = ends[d++]) {
        int64_t windows = (ends[d] - from + window - 1) / window;
        if (documents) documents[d] = windows;
        n += windows;
    }
    free(g->src_at), free(g->tgt_at), free(g->example);
    gather_start(g, n);
    for (int64_t i = 0, d = 0; i < n; i++) {
        g->example[i] = i;
        at = at + window < ends[d] ? at + window : ends[d];
        g->tgt_at[i + 1] = at;
        if (at == ends[d]) d++;
    }
    *p = (pairs){.n = n,
                 .n_given = n,
                 .tgt_longest = text < window ? text : window,
                 .text = text,
                 .window = window,
                 .n_documents = documents ? n_ends : 0,
                 .documents = documents};
    return 0;
}

/* Moves everything into one block. */
static void gather_end(gathering *g, pairs *out)
{
    pairs *p = &g->p;
    size_t ats = ((size_t)p->n + 1) * sizeof(int64_t), ids = (size_t)(g->src.n + g->tgt.n) * sizeof(int32_t);
    char *block = xmalloc(3 * ats + ids);
    int64_t *src_at = (int64_t *)block, *tgt_at = src_at + p->n + 1, *example = tgt_at + p->n + 1;
    int32_t *src = (int32_t *)(example + p->n + 1), *tgt = src + g->src.n;
    memcpy(src_at, g->src_at, ats);
    memcpy(tgt_at, g->tgt_at, ats);
    memcpy(example, g->example, ats);
    if (g->src.n) memcpy(src, g->src.id, (size_t)g->src.n * sizeof *src);
    if (g->tgt.n) memcpy(tgt, g->tgt.id, (size_t)g->tgt.n * sizeof *tgt);
    *out = *p;
    out->block = block;
    out->src_at = src_at, out->tgt_at = tgt_at, out->example = example;
    out->src = src, out->tgt = tgt, out->in = g->labels ? src : NULL;
}

/* Sets *out [n_documents] to the token behind each document, from the documents' line numbers. The caller frees it. */
static int document_ends(const ab_vocabs *asked, ab_split split, const int64_t *line_ends, int64_t n, int64_t **out,
                         err *e)
{
    int64_t lines = 0, many = asked->n_documents[split];
    for (int64_t d = 0; d < many; d++) lines += asked->documents[split][d];
    if (many && lines != n)
        return fail(e, "its documents have %lld lines, expected %lld", (long long)lines, (long long)n);
    *out = xcalloc((size_t)many + 1, sizeof **out);
    for (int64_t d = 0, line = 0; d < many; d++) (*out)[d] = line_ends[line += asked->documents[split][d]];
    return 0;
}

static int build_split(pairs *p, const ab_task_plugin *task, void *self, ab_split split, const vocab *src,
                       const vocab *tgt, int64_t max_length, err *e)
{
    CLEANUP(gather_free) gathering g = {0};
    ab_vocabs asked = task->flags & AB_DECODER_ONLY ? wishes(task, self, false) : (ab_vocabs){0};
    int64_t n = task->count(self, split), window = asked.window;
    int rc = 0;
    gather_start(&g, n);
    for (int64_t i = 0; i < n && !rc; i++) {
        ab_example x;
        task->get(self, split, i, &x);
        if (!src && x.src)
            rc = gather_labels(&g, i, &x, tgt, e);
        else if (!window && (asked.given || asked.endless))
            rc = gather_line(&g, i, x.tgt, tgt, &asked, e);
        else
            rc = gather(&g, i, x.src, x.tgt, src, tgt, split == AB_TRAIN && !window, max_length, e);
    }
    AUTOFREE int64_t *ends = NULL;
    if (!rc && window && !(rc = document_ends(&asked, split, g.tgt_at, n, &ends, e)))
        rc = cut_windows(&g, ends, asked.n_documents[split], window, split == AB_TRAIN, e);
    if (rc)
        fail_in(e, "%s split, ", split_names[split]);
    else
        gather_end(&g, p);
    return rc;
}

int dataset_build(dataset *d, const ab_task_plugin *task, void *self, const vocab *src, const vocab *tgt,
                  int64_t max_length, err *e)
{
    *d = (dataset){0};
    for (int s = 0; s < AB_SPLITS; s++)
        if (build_split(&d->split[s], task, self, (ab_split)s, src, tgt, max_length, e)) goto failed;
    const pairs *p = &d->split[AB_TRAIN];
    if (p->n_empty || p->n_long)
        log_line(LOG_INFO, "train: %lld of %lld pairs kept (%lld empty, %lld longer than %lld tokens)", (long long)p->n,
                 (long long)p->n_given, (long long)p->n_empty, (long long)p->n_long, (long long)max_length);
    if (p->n) return 0;
    fail(e, "none of %lld training pairs is left: %lld are empty, %lld are longer than max_length = %lld tokens",
         (long long)p->n_given, (long long)p->n_empty, (long long)p->n_long, (long long)max_length);
failed:
    dataset_free(d);
    return -1;
}

int dataset_renew(pairs *p, const ab_task_plugin *task, void *self, const vocab *v, int64_t epoch, err *e)
{
    CLEANUP(gather_free) gathering g = {0};
    int bad = e->text[0] != 0;
    gather_start(&g, p->n);
    for (int64_t k = 0; k < p->n && !bad; k++) {
        ab_example x;
        task->get_epoch(self, p->example[k], epoch, &x);
        if (!x.src || !p->in) return fail(e, "get_epoch: expected a task whose examples have src");
        bad = gather_labels(&g, p->example[k], &x, v, e);
        if (!bad && g.tgt.n != p->tgt_at[k + 1])
            bad = fail(e, "example %lld has %lld words, expected %lld as from get", (long long)p->example[k] + 1,
                       (long long)(g.tgt.n - p->tgt_at[k]), (long long)(p->tgt_at[k + 1] - p->tgt_at[k]));
    }
    size_t bytes = (size_t)g.tgt.n * sizeof(int32_t);
    if (!bad) memcpy((int32_t *)p->in, g.src.id, bytes), memcpy((int32_t *)p->tgt, g.tgt.id, bytes);
    if (bad) fail_in(e, "epoch %lld, ", (long long)epoch + 1);
    return bad ? -1 : 0;
}

void dataset_free(dataset *d)
{
    for (int s = 0; s < AB_SPLITS; s++) pairs_free(&d->split[s]);
}

int pairs_encode(pairs *p, const char *const *src_lines, const char *const *tgt_lines, int64_t n, const vocab *src,
                 const vocab *tgt, err *e)
{
    *p = (pairs){0};
    CLEANUP(gather_free) gathering g = {0};
    int rc = 0;
    gather_start(&g, n);
    for (int64_t i = 0; i < n && !rc; i++)
        rc = gather(&g, i, src_lines[i], tgt_lines ? tgt_lines[i] : "", src, tgt, false, 0, e);
    if (!rc) gather_end(&g, p);
    return rc;
}

void pairs_free(pairs *p)
{
    free(p->block);
    free(p->documents);
    *p = (pairs){0};
}
