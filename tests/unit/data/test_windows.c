/* Decoder-only data: a text in windows, drawn at random in training and consecutive elsewhere; inputs with labels;
 * lines whose first tokens are given or whose end is not predicted. */
#include "text/data/batch.h"
#include "test.h"

typedef struct {
    const char *const *src, *const *tgt;
    int64_t n, window, given, endless;
    ab_vocab kind;
    const int64_t *documents; /* [n_documents]: lines of each document, for train and dev */
    int64_t n_documents;
} world;

static const char *const symbols[] = {"a", "b", "c", "d"};

static int64_t count(void *self, ab_split s) { return s == AB_TEST ? 0 : ((world *)self)->n; }
static void get(void *self, ab_split s, int64_t i, ab_example *out)
{
    (void)s;
    world *w = self;
    *out = (ab_example){w->src ? w->src[i] : NULL, w->tgt[i]};
}
static void vocabs(void *self, ab_vocabs *v)
{
    world *w = self;
    v->tgt = w->kind, v->window = w->window;
    v->given = w->given, v->endless = w->endless;
    for (ab_split s = AB_TRAIN; s < AB_TEST; s++) v->documents[s] = w->documents, v->n_documents[s] = w->n_documents;
    if (w->kind == AB_VOCAB_SYMBOLS) v->symbols = symbols, v->n_symbols = LENGTH(symbols);
}
static const ab_task_plugin iface = {.flags = AB_DECODER_ONLY, .count = count, .get = get, .vocabs = vocabs};

static int build(world *w, dataset *d, vocab **v, err *e)
{
    vocab *src;
    CHECK_INT(dataset_vocabs(&iface, w, false, TOKENS_BPE, 100, false, NULL, &src, v, e), 0);
    CHECK(!src);
    return dataset_build(d, &iface, w, NULL, *v, 0, e);
}

/* A token of the text as one character; VOCAB_EOS is a line end. */
static char read_as(const vocab *v, int32_t id)
{
    return id == VOCAB_EOS ? '\n' : id == VOCAB_BOS ? '^' : vocab_token(v, id)[0];
}

static void test_windows(void)
{
    static const char *const lines[] = {"one two", "", "three"}; /* "one two\n\nthree\n": 15 tokens */
    static const char text[] = "^one two\n\nthree\n";
    enum { TEXT = 15, WINDOW = 4, EACH = 3 };
    world w = {.tgt = lines, .n = 3, .window = WINDOW, .kind = AB_VOCAB_CHARS};
    dataset d;
    vocab *v;
    err e = {0};
    CHECK_INT(build(&w, &d, &v, &e), 0);
    CHECK_INT(vocab_size(v), VOCAB_SPECIALS + 8); /* characters: o n e blank t w h r */
    const pairs *dev = &d.split[AB_DEV], *train = &d.split[AB_TRAIN];
    CHECK_INT(dev->n, 4);
    CHECK_INT(dev->text, TEXT);
    CHECK_INT(train->n, 3);
    CHECK_INT(d.split[AB_TEST].n, 0);

    batcher *all = batcher_new(dev, &(batch_options){.batch_tokens = 100}, &e);
    batch b;
    CHECK(batcher_next(all, &b));
    CHECK_INT(b.tgt_rows, TEXT);
    CHECK_INT(b.predicted, TEXT);
    CHECK_INT(b.src_rows, 0);
    for (int64_t i = 0; i < b.n_sentences; i++)
        for (int32_t r = b.tgt_offset[i]; r < b.tgt_offset[i + 1]; r++) {
            int64_t at = b.example[i] * WINDOW + b.tgt_pos[r];
            CHECK_INT(read_as(v, b.tgt_in[r]), text[at]);
            CHECK_INT(read_as(v, b.tgt_out[r]), text[at + 1]);
        }
    batcher_free(all);

    batch_options o = {.batch_tokens = EACH * WINDOW + 1, .seed = 3, .train = true};
    batcher *x = batcher_new(train, &o, &e), *y = batcher_new(train, &o, &e);
    bool seen[TEXT + 1] = {false};
    for (int k = 0; k < 200; k++) {
        batch c;
        CHECK(batcher_next(x, &b));
        CHECK_INT(b.n_sentences, EACH);
        CHECK_INT(b.tgt_rows, EACH * WINDOW);
        if (k == 50) { /* a resumed run draws equal windows */
            CHECK_INT(batcher_seek(y, (batch_state){b.epoch, b.index}, &e), 0);
            CHECK(batcher_next(y, &c));
            CHECK(!memcmp(b.tgt_out, c.tgt_out, (size_t)b.tgt_rows * sizeof *b.tgt_out));
        }
        for (int64_t i = 0; i < EACH; i++) { /* each window occurs in the text */
            char found[WINDOW + 2] = {read_as(v, b.tgt_in[i * WINDOW])};
            for (int j = 0; j < WINDOW; j++) found[j + 1] = read_as(v, b.tgt_out[i * WINDOW + j]);
            const char *at = strstr(text, found);
            CHECK_THAT(at != NULL, "a window \"%s\" is not in the text", found);
            if (at) seen[at - text] = true;
        }
    }
    for (int k = 0; k <= TEXT - WINDOW; k++) CHECK_THAT(seen[k], "no window of 600 began at token %d", k);
    batcher_free(x);
    batcher_free(y);
    dataset_free(&d);
    vocab_free(v);

    w.window = 16;
    CHECK_INT(build(&w, &d, &v, &e), -1);
    CHECK_TEXT(e.text, "train split, the text has 15 tokens (including line ends); expected at least one window of 16");
    vocab_free(v);
}

/* In dev, windows end where their document ends; train is one text. */
static void test_documents(void)
{
    static const char *const lines[] = {"one two", "", "three"}; /* 8, 1 and 6 tokens with EOS */
    static const int64_t documents[] = {2, 1}, too_many[] = {2, 2}, ends[] = {0, 4, 8, 9, 13, 15};
    world w = {.tgt = lines, .n = 3, .window = 4, .kind = AB_VOCAB_CHARS, .documents = documents, .n_documents = 2};
    dataset d;
    vocab *v;
    err e = {0};
    CHECK_INT(build(&w, &d, &v, &e), 0);
    const pairs *dev = &d.split[AB_DEV];
    CHECK_INT(dev->n, 5);
    for (size_t i = 0; i < LENGTH(ends); i++) CHECK_INT(dev->tgt_at[i], ends[i]);
    CHECK_INT(dev->n_documents, 2);
    CHECK_INT(dev->documents[0], 3);
    CHECK_INT(dev->documents[1], 2);
    CHECK_INT(d.split[AB_TRAIN].n, 3);
    CHECK_INT(d.split[AB_TRAIN].n_documents, 0);
    dataset_free(&d);
    vocab_free(v);
    w.documents = too_many;
    CHECK_INT(build(&w, &d, &v, &e), -1);
    CHECK_TEXT(e.text, "train split, its documents have 4 lines, expected 3");
    vocab_free(v);
}

static void test_labels(void)
{
    static const char *const src[] = {"a b c", "d d a b"}, *const tgt[] = {"_ _ d", "a _ _ c"};
    world w = {.src = src, .tgt = tgt, .n = 2, .kind = AB_VOCAB_SYMBOLS};
    dataset d;
    vocab *v;
    err e = {0};
    batch b;
    CHECK_INT(build(&w, &d, &v, &e), 0);
    CHECK_INT(vocab_size(v), VOCAB_SPECIALS + 4);
    CHECK_TEXT(vocab_token(v, VOCAB_SPECIALS + 3), "d");
    batcher *all = batcher_new(&d.split[AB_DEV], &(batch_options){.batch_tokens = 10, .round = 8}, &e);
    CHECK(batcher_next(all, &b));
    CHECK_INT(b.tgt_rows, 7);
    CHECK_INT(b.tgt_cap, 8);
    CHECK_INT(b.predicted, 3);
    static const int32_t in[] = {7, 7, 4, 5, 4, 5, 6, VOCAB_PAD},
                         out[] = {4, -1, -1, 6, -1, -1, 7, -1}; /* the longer line is the batch's first */
    for (int i = 0; i < 8; i++) {
        CHECK_INT(b.tgt_in[i], in[i]);
        CHECK_INT(b.tgt_out[i], out[i]);
    }
    batcher_free(all);
    dataset_free(&d);
    vocab_free(v);

    static const char *const short_labels[] = {"_ d", "a _ _ c"}, *const unknown[] = {"a x c", "d d a b"};
    w.tgt = short_labels;
    CHECK_INT(build(&w, &d, &v, &e), -1);
    CHECK_TEXT(e.text, "train split, example 1: 3 inputs and 2 labels, expected equal numbers above 0");
    vocab_free(v);
    e = (err){0};
    w.tgt = tgt, w.src = unknown;
    CHECK_INT(build(&w, &d, &v, &e), -1);
    CHECK_TEXT(e.text, "train split, example 1: input 2 is not in the vocabulary");
    vocab_free(v);
}

/* Expects these decoder inputs and outputs for the first batch of two lines of equal length, the second of which comes
 * first. */
static void expect_batch(world *w, int64_t rows, int64_t predicted, const int32_t *in, const int32_t *out)
{
    dataset d;
    vocab *v;
    err e = {0};
    batch b;
    CHECK_INT(build(w, &d, &v, &e), 0);
    batcher *all = batcher_new(&d.split[AB_DEV], &(batch_options){.batch_tokens = 16}, &e);
    CHECK(batcher_next(all, &b));
    CHECK_INT(b.n_sentences, 2);
    CHECK_INT(b.tgt_rows, rows);
    CHECK_INT(b.predicted, predicted);
    for (int64_t i = 0; i < rows; i++) {
        CHECK_INT(b.tgt_in[i], in[i]);
        CHECK_INT(b.tgt_out[i], out[i]);
        CHECK_INT(b.tgt_pos[i], i % (rows / 2));
    }
    batcher_free(all);
    dataset_free(&d);
    vocab_free(v);
}

static void test_lines(void)
{
    enum { BOS = VOCAB_BOS, EOS = VOCAB_EOS, A = VOCAB_SPECIALS, B, C, D };
    static const char *const lines[] = {"a b c", "d d a"}, *const unequal[] = {"a b c", "d d"};
    world w = {.tgt = lines, .n = 2, .kind = AB_VOCAB_SYMBOLS};
    expect_batch(&w, 8, 8, (int32_t[]){BOS, D, D, A, BOS, A, B, C}, (int32_t[]){D, D, A, EOS, A, B, C, EOS});
    w.given = 1;
    expect_batch(&w, 8, 6, (int32_t[]){BOS, D, D, A, BOS, A, B, C}, (int32_t[]){-1, D, A, EOS, -1, B, C, EOS});
    w.endless = 1;
    expect_batch(&w, 6, 4, (int32_t[]){BOS, D, D, BOS, A, B}, (int32_t[]){-1, D, A, -1, B, C});
    w.given = 0;
    expect_batch(&w, 6, 6, (int32_t[]){BOS, D, D, BOS, A, B}, (int32_t[]){D, D, A, A, B, C});
    dataset d;
    vocab *v;
    err e = {0};
    w.tgt = unequal;
    CHECK_INT(build(&w, &d, &v, &e), -1);
    CHECK_TEXT(e.text, "train split, line 2 has 2 tokens, expected 3 as in line 1, because no end is predicted");
    vocab_free(v);
    e = (err){0};
    w.tgt = lines, w.given = 3;
    CHECK_INT(build(&w, &d, &v, &e), -1);
    CHECK_TEXT(e.text, "train split, line 1 has 3 tokens, of which 3 are given; expected one more at least");
    vocab_free(v);
}

int main(void)
{
    test_windows();
    test_documents();
    test_labels();
    test_lines();
    return test_end();
}
