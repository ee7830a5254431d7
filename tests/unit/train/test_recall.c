/* The generators of the task recall: the lines of each generator are read back and must be of the kind that its name
 * promises. */
#include "opened_task.h"

enum { MOST = 256, EXAMPLES = 300 };

typedef void examine(int64_t n, const int32_t *in, const int32_t *label);

static void each(const char *settings_text, examine *look)
{
    opened o;
    char message[256] = "";
    char *text = xprintf("%s train_examples=%d test_examples=%d", settings_text, EXAMPLES, EXAMPLES);
    CHECK_INT(open_with(&o, "recall", text, message, sizeof message), 0);
    CHECK_TEXT(message, "");
    free(text);
    for (int s = 0; s < AB_SPLITS && o.self; s++)
        for (int64_t i = 0; i < o.t->count(o.self, (ab_split)s); i++) {
            int32_t in[MOST], label[MOST];
            ab_example x;
            o.t->get(o.self, (ab_split)s, i, &x);
            int64_t n = numbers(x.src, in);
            CHECK_INT(numbers(x.tgt, label), n);
            look(n, in, label);
        }
    close_opened(&o);
}

static int labels(int64_t n, const int32_t *label)
{
    int k = 0;
    for (int64_t i = 0; i < n; i++) k += label[i] >= 0;
    return k;
}

static void mqar(int64_t n, const int32_t *in, const int32_t *label)
{
    enum { PAIRS = 4, VOCAB = 40 };
    CHECK_INT(n, 32);
    CHECK_INT(labels(n, label), PAIRS);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < PAIRS && i >= 2 * PAIRS && label[i] < 0; k++)
            CHECK_THAT(in[i] != in[2 * k], "filler at %d is the key %d", (int)i, in[i]);
        if (label[i] < 0) continue;
        CHECK_THAT(i >= 2 * PAIRS && i % 2 == 0, "a query at %d", (int)i);
        int64_t k = 0;
        while (k < PAIRS && in[2 * k] != in[i]) k++;
        CHECK_THAT(k < PAIRS && in[2 * k + 1] == label[i], "query %d at %d is labelled %d", in[i], (int)i, label[i]);
        CHECK(in[i] > 0 && in[i] < VOCAB / 2 && label[i] >= VOCAB / 2 && label[i] < VOCAB);
    }
}

static int first_place, all_places;
static void first_places(int64_t n, const int32_t *in, const int32_t *label)
{
    (void)n, (void)in;
    first_place += label[2] >= 0;
    all_places++;
}

static void induction(int64_t n, const int32_t *in, const int32_t *label)
{
    int64_t at = 0;
    while (in[at] != 15) at++;
    CHECK_INT(labels(n, label), 1);
    CHECK_INT(in[n - 1], 15);
    CHECK(at < n - 2);
    CHECK_INT(label[n - 1], in[at + 1]);
}

static void copy(int64_t n, const int32_t *in, const int32_t *label) /* blank 14, go 15 */
{
    int64_t answer = 0, go = 0;
    while (in[go] != 15) go++;
    while (label[answer] < 0) answer++;
    CHECK_INT(answer, go + 1);
    for (int64_t i = 0; i < go; i++)
        if (in[i] != 14) CHECK_INT(label[answer++], in[i]);
    CHECK_INT(answer, n);
}

static void noisy(int64_t n, const int32_t *in, const int32_t *label) /* keys 0 .. 7, values 8 .. 15, noise 16 .. 23 */
{
    int32_t value[8];
    memset(value, -1, sizeof value);
    CHECK(labels(n, label) >= 1 && label[n - 2] >= 0);
    for (int64_t i = 0; i < n; i += 2) {
        CHECK_INT(label[i + 1], -1);
        if (in[i] >= 16) {
            CHECK(in[i + 1] >= 16);
            continue;
        }
        CHECK(in[i] < 8 && in[i + 1] >= 8 && in[i + 1] < 16);
        CHECK_INT(label[i], value[in[i]]);
        value[in[i]] = in[i + 1];
    }
}

/* The sequence ends in a key and a value, and the value is labelled; the same key and value must also occur earlier. */
static void fuzzy(int64_t n, const int32_t *in, const int32_t *label) /* keys 0 .. 6, values 7 .. 14, padding 15 */
{
    int64_t first = n - 1, key, length, v;
    CHECK(label[n - 1] >= 7 && label[n - 1] < 15);
    while (in[first] >= 7) first--; /* the key's last symbol */
    v = n - first;
    for (key = first; key && in[key - 1] < 7;) key--;
    length = first - key + 1;
    CHECK(length >= 1 && length <= 3 && v <= 3);
    for (int64_t j = 0; j < v; j++)
        CHECK(label[first + j] >= 7 && (j + 1 == v || label[first + j] == in[first + j + 1]));
    bool found = false;
    for (int64_t i = 0; i < key && !found; i++)
        found = !memcmp(in + i, in + key, (size_t)length * sizeof *in) &&
                !memcmp(in + i + length, label + first, (size_t)v * sizeof *in);
    CHECK_THAT(found, "the key of %d symbols and its value of %d were not shown before", (int)length, (int)v);
}

static int32_t fact[16];
/* keys 0 .. 14, values 15 .. 29, query 30 */
static void memorisation(int64_t n, const int32_t *in, const int32_t *label)
{
    for (int64_t i = 0; i + 1 < n; i += 2) {
        CHECK_INT(label[i], -1);
        CHECK_INT(in[i + 1], 30);
        CHECK(label[i + 1] >= 15 && label[i + 1] < 30);
        if (fact[in[i]]) CHECK_INT(label[i + 1], fact[in[i]]);
        fact[in[i]] = label[i + 1];
    }
}

static void test_refused(void)
{
    static const char *const wrong[][2] = {
        {"kind=mqar length=15 pairs=4 vocab=40", "expected length >= 4 pairs"},
        {"kind=selective_copy length=32 copies=16 vocab=16", "expected length > 2 copies"},
        {"kind=fuzzy length=20 motif=3 vocab=16", "expected length >= 8 motif"},
        {"kind=noisy length=31 vocab=32", "expected an even length >= 4"}};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        opened o;
        char message[256] = "";
        CHECK_INT(open_with(&o, "recall", wrong[i][0], message, sizeof message), -1);
        CHECK_HAS(message, wrong[i][1]);
        close_opened(&o);
    }
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    each("kind=mqar vocab=40 length=32 pairs=4", mqar);
    each("kind=mqar vocab=40 length=32 pairs=4 random_filler=true", mqar);
    /* 16 positions with weights 1/i^0.99: the first has 0.2924 */
    each("kind=mqar vocab=40 length=34 pairs=1", first_places);
    CHECK_NEAR((double)first_place / all_places, 0.2924, 4 * sqrt(0.2924 * 0.7076 / (3 * EXAMPLES)));
    each("kind=induction vocab=16 length=24", induction);
    each("kind=selective_copy vocab=16 length=40 copies=6", copy);
    each("kind=compression vocab=16 length=21", copy);
    each("kind=noisy vocab=24 noise_vocab=8 length=32 noise=0.3", noisy);
    each("kind=fuzzy vocab=16 length=40 motif=3", fuzzy);
    each("kind=memorisation vocab=31 length=12", memorisation);
    test_refused();
    return test_end();
}
