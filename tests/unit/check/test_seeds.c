/* A run's seed determines dropout's masks, the order of batches and the first values, each independently of the others.
 * Dev and test examples do not enter the vocabularies. */
#include "network/check/internal.h"
#include "network/settings/config.h"
#include "services.h"
#include "text/data/batch.h"
#include "text/data/dataset.h"

/* ---- masks ---- */

static void check_masks(void)
{
    static sentences s;
    err e = {0};
    model m;
    pass p;
    check_sentences(&s);
    CHECK_INT(check_model_open(&m, &(pairing){.name = "masks"}, &(model_kind){.compute = F64, .dropout = 0.3}, &e), 0);
    CHECK_INT(pass_open(&p, &m, &s, true, 0, 0, &e), 0);
    double loss[3];
    static const uint64_t seed[] = {1, 2, 1};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(pass_run(&p, seed[i], &e), 0);
        loss[i] = pass_loss(&p);
    }
    CHECK_TEXT(e.text, "");
    CHECK_THAT(loss[0] != loss[1], "dropout with seeds 1 and 2: found the loss %.17g twice, expected two losses",
               loss[0]);
    CHECK_NEAR(loss[2], loss[0], 0);
    pass_close(&p);
    model_free(&m);
}

/* ---- first values ---- */

static double first_value(const char *seed)
{
    err e = {0};
    arena a = {0};
    settings set = {0};
    model m;
    settings_set(&set, "seed", seed, &a), settings_set(&set, "d_model", "16", &a), settings_set(&set, "d_ff", "16", &a);
    settings_set(&set, "heads", "2", &a), settings_set(&set, "layers", "1", &a);
    CHECK_INT(model_open(&m, &set, CHECK_VOCAB, CHECK_VOCAB, F64, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
    const param *p = params_find(&m.params, "enc.0.ffn.1.w");
    double y = p ? ((const double *)m.params.value)[p->at] : NAN;
    model_free(&m);
    arena_free(&a);
    return y;
}

static void check_first_values(void)
{
    double one = first_value("1"), two = first_value("2");
    CHECK_THAT(one != two, "seeds 1 and 2: found the first value %.17g twice, expected two", one);
    CHECK_NEAR(first_value("1"), one, 0);
}

/* ---- a task whose dev and test sentences have words and letters that training lacks ---- */

enum { EXAMPLES = 40 };
static int64_t count(void *self, ab_split s) { return self && s == AB_TRAIN ? EXAMPLES : 2; }
static void get(void *self, ab_split s, int64_t i, ab_example *out)
{
    static char line[EXAMPLES][32];
    static const char *const other[] = {"", "quux quux", "xyzzy xyzzy"};
    (void)self;
    if (s == AB_TRAIN) snprintf(line[i], sizeof line[i], "abc bad cab%s", i % 2 ? " dab" : "");
    out->src = out->tgt = s == AB_TRAIN ? line[i] : other[s];
}

static void check_vocabularies(void)
{
    static const char *const own[] = {"quux", "xyzzy"};
    ab_task_plugin t = {.src_vocab = AB_VOCAB_SUBWORD, .tgt_vocab = AB_VOCAB_SUBWORD, .count = count, .get = get};
    for (int kind = 1; kind < TOKENS_KINDS; kind++) {
        vocab *src = NULL, *tgt = NULL;
        err e = {0};
        int64_t size = kind == TOKENS_WORDPIECE ? 14 : vocab_cuts_words((vocab_kind)kind) ? 12 : 0;
        CHECK_INT(dataset_vocabs(&t, &t, false, (vocab_kind)kind, size, false, NULL, &src, &tgt, &e), 0);
        CHECK_TEXT(e.text, "");
        for (size_t i = 0; i < LENGTH(own) && src; i++) {
            id_list found = {0};
            int64_t known = 0;
            CHECK_INT(vocab_encode(src, own[i], &found, &e), 0);
            for (int64_t k = 0; k < found.n; k++) known += found.id[k] >= VOCAB_SPECIALS && found.id[k] != VOCAB_EOS;
            /* subwords know U+2581, which stands for a blank, from training */
            CHECK_THAT(known <= (kind == TOKENS_BPE || kind == TOKENS_UNIGRAM),
                       "%s: found %d tokens of '%s', which only dev or test has, expected none", vocab_kind_names[kind],
                       (int)known, own[i]);
            id_list_free(&found);
        }
        vocab_free(src), vocab_free(tgt);
    }
}

/* ---- the order of batches ---- */

static int32_t order_hash(const dataset *d, ab_split s, uint64_t seed)
{
    err e = {0};
    batch b = {0};
    batcher *from =
        batcher_new(&d->split[s], &(batch_options){.batch_tokens = 16, .seed = seed, .train = s == AB_TRAIN}, &e);
    CHECK_TEXT(e.text, "");
    uint32_t sum = 0;
    for (int i = 0; i < 6 && from && batcher_next(from, &b); i++)
        for (int64_t k = 0; k < b.tgt_rows; k++) sum = sum * 31 + (uint32_t)b.tgt_out[k];
    batcher_free(from);
    return (int32_t)(sum >> 1);
}

static void check_order(void)
{
    ab_task_plugin t = {.src_vocab = AB_VOCAB_WORDS, .tgt_vocab = AB_VOCAB_WORDS, .count = count, .get = get};
    vocab *src = NULL, *tgt = NULL;
    dataset d = {0};
    err e = {0};
    CHECK_INT(dataset_vocabs(&t, &t, false, TOKENS_WORDS, 0, false, NULL, &src, &tgt, &e), 0);
    CHECK_INT(dataset_build(&d, &t, &t, src, tgt, 0, &e), 0);
    CHECK_TEXT(e.text, "");
    int32_t one = order_hash(&d, AB_TRAIN, 1), two = order_hash(&d, AB_TRAIN, 2);
    CHECK_THAT(one != two, "batches with seeds 1 and 2: found the order %d twice, expected two", (int)one);
    CHECK_INT(order_hash(&d, AB_TRAIN, 1), one);
    CHECK_INT(order_hash(&d, AB_DEV, 1), order_hash(&d, AB_DEV, 2));
    dataset_free(&d);
    vocab_free(src), vocab_free(tgt);
}

int main(void)
{
    use_plugins();
    cpu_threads(1);
    check_masks();
    check_first_values();
    check_vocabularies();
    check_order();
    return test_end();
}
