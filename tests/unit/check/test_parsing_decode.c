/* Constrained decoding of the task parsing: with any model, every output is a tree over the sentence's words. */
#include "tensor/cpu/cpu.h"
#include "network/decode/constrain.h"
#include "text/metric/tree.h"
#include "parsing_task.h"

static const char *const forms[] = {"labels", "xx", "words", "in_order"};

static const char treebank[] = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))\n(TOP (S (NP (NNP "
                               "Ann)) (VP (VBZ sees) (NP (DT a) (JJ red) (NN cat))) (. .)))\n"
                               "(TOP (SBAR (WHNP (WP who)) (S (VP (VBZ sleeps) (ADVP (RB now))))))\n(TOP (NP "
                               "(NP (NN salt)) (CC and) (NP (NN pepper))))\n"
                               "(TOP (FRAG (UH hello) (, ,) (NP (-LRB- -LRB-) (NN world) (-RRB- -RRB-))))\n";

typedef struct {
    parsing_task t;
    vocab *src, *tgt;
    task_rules rules;
} opened;

static opened open_form(int form, vocab_kind kind, const char *more)
{
    char *set = xprintf("data=%s/toy linearisation=%s %s", test_folder, forms[form], more);
    opened o = {.t = parsing_open(set, "/nowhere", false)};
    err e = {0};
    CHECK_TEXT(o.t.message, "");
    CHECK_INT(dataset_vocabs(o.t.task, o.t.self, false, kind,
                             kind == TOKENS_WORDS       ? 0
                             : kind == TOKENS_WORDPIECE ? 120
                                                        : 70,
                             false, NULL, &o.src, &o.tgt, &e),
              0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(task_rules_open(&o.rules, o.t.task, o.t.self, o.src, o.tgt, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK(o.rules.constrains);
    free(set);
    return o;
}

static void close_form(opened *o)
{
    if (o->tgt != o->src) vocab_free(o->tgt);
    vocab_free(o->src);
    parsing_close(&o->t);
}

/* Makes a sentence of 1 to `most` words, known and unknown ones. */
static char *random_sentence(rng *r, int most)
{
    static const char *const words[] = {"the",     "dog",           "Ann",   "sees", "barks",    ".",
                                        "unheard", "\xe2\x82\xac+", "-LRB-", "a",    "x\xc3\xa9"};
    str s = {0};
    int n = 1 + (int)rng_below(r, (uint64_t)most);
    for (int i = 0; i < n; i++) str_addf(&s, "%s%s", i ? " " : "", words[rng_below(r, LENGTH(words))]);
    return s.s;
}

/* Finds the longest runs in a printed tree: brackets that open without a word between, constituents over the same
 * words. */
static void longest_runs(const char *printed, int64_t *opening, int64_t *unary)
{
    tree t = {0};
    int64_t run = 0;
    *opening = *unary = 0;
    CHECK_INT(tree_read(&t, printed, NULL, NULL), TREE_GOOD);
    for (size_t i = 1; i < t.n; i++) { /* without TOP */
        if (t.nodes[i].word.s) {
            run = 0;
            continue;
        }
        bool closed = t.nodes[i - 1].end <= t.nodes[i].first && i > 1;
        run = closed ? 1 : run + 1;
        if (run > *opening) *opening = run;
        int64_t same = 1;
        for (size_t k = i; k > 1 && !t.nodes[k - 1].word.s && t.nodes[k - 1].first == t.nodes[i].first &&
                           t.nodes[k - 1].end == t.nodes[i].end;
             k--)
            same++;
        if (same > *unary) *unary = same;
    }
    tree_free(&t);
}

/* ---- random walks over allowed tokens ---- */

static void walk(const opened *o, int f, rng *r, int64_t extra, int64_t unary_cap, int64_t open_cap)
{
    const ab_task_plugin *task = o->t.task;
    char *src = random_sentence(r, 9);
    id_list in = {0}, out = {0};
    err e = {0};
    size_t v = (size_t)vocab_size(o->tgt);
    uint8_t *mask = xmalloc(v);
    CHECK_INT(vocab_encode(o->src, src, &in, &e), 0);
    int64_t most = in.n + extra, opens, unary;
    void *state = task->start(o->t.self, src, in.id, in.n, most);
    for (bool over = false; !over;) {
        int32_t choices[512], n = 0;
        memset(mask, 7, v);
        task->allowed(o->t.self, state, mask);
        for (size_t i = 0; i < v && n < 512; i++) {
            CHECK(mask[i] <= 1);
            if (mask[i]) choices[n++] = (int32_t)i;
        }
        CHECK(n > 0);
        CHECK(out.n <= most);
        if (!n || out.n > most) break;
        int32_t id = choices[rng_below(r, (uint64_t)n)];
        if ((over = id == VOCAB_EOS)) break;
        out.id = grow(out.id, &out.cap, (size_t)out.n + 1, sizeof *out.id);
        out.id[out.n++] = id;
        void *next = task->advance(o->t.self, state, id);
        task->release(o->t.self, state);
        state = next;
    }
    task->release(o->t.self, state);
    str text = {0};
    vocab_decode(o->tgt, out.id, out.n, &text);
    CHECK_INT(task->accepts(o->t.self, src, str_text(&text)), 1);
    longest_runs(task->format_output(o->t.self, src, str_text(&text)), &opens, &unary);
    if (!same(forms[f], "in_order")) CHECK(opens <= open_cap);
    CHECK(unary <= unary_cap);
    id_list_free(&in);
    id_list_free(&out);
    str_free(&text);
    free(mask);
    free(src);
}

static void walks(void)
{
    static const struct {
        const char *set;
        int64_t extra, unary_cap, open_cap;
    } cases[] = {{"", 30, 4, 10},
                 {"unary_cap=1", 40, 1, 10},
                 {"unary_cap=2 open_cap=3", 12, 2, 3},
                 {"unary_cap=3", 2, 3, 10},
                 {"open_cap=1", 20, 4, 1}};
    static const vocab_kind kinds[] = {TOKENS_BPE, TOKENS_WORDS, TOKENS_WORDPIECE};
    rng r = rng_seed(5, 1);
    for (int f = 0; f < (int)LENGTH(forms); f++)
        for (size_t k = 0; k < LENGTH(cases); k++)
            for (size_t v = 0; v < LENGTH(kinds); v++) {
                opened o = open_form(f, kinds[v], cases[k].set);
                for (int i = 0; i < 150; i++) walk(&o, f, &r, cases[k].extra, cases[k].unary_cap, cases[k].open_cap);
                close_form(&o);
            }
}

/* ---- constrained search with random models ---- */

static void random_model(model *m, const opened *o, int f, double spread, const char *seed)
{
    settings set = {0};
    arena a = {0};
    err e = {0};
    const char *const plain[][2] = {{"layers", "1"},
                                    {"d_model", "16"},
                                    {"d_ff", "24"},
                                    {"heads", "2"},
                                    {"seed", seed},
                                    {"position", "rotary"},
                                    {"share_embeddings", f >= 2 ? "all" : "target"}};
    for (size_t i = 0; i < LENGTH(plain); i++) settings_set(&set, plain[i][0], plain[i][1], &a);
    if (model_open(m, &set, vocab_size(o->src), vocab_size(o->tgt), F32, &cpu_backend, &e)) {
        printf("%s\n", e.text);
        exit(1);
    }
    for (size_t i = 0; i < m->params.total; i++) ((float *)m->params.value)[i] *= (float)spread;
    m->params.version++;
    arena_free(&a);
}

static void search(int f, const char *more, int64_t beam, int64_t extra, double spread, task_routes *routes)
{
    enum { N = 24 };
    opened o = open_form(f, TOKENS_BPE, more);
    model m;
    pairs p;
    err e = {0};
    char *lines[N], *out[N];
    rng r = rng_seed((uint64_t)beam, (uint64_t)f);
    for (int i = 0; i < N; i++) lines[i] = i == 3 ? xstrdup("") : random_sentence(&r, i == 5 ? 60 : 12);
    random_model(&m, &o, f, spread, "3");
    CHECK_INT(pairs_encode(&p, (const char *const *)lines, NULL, N, o.src, o.tgt, &e), 0);
    beam_options b = {.beam_size = beam, .length_penalty = 0.6, .max_extra_tokens = extra, .batch = 7, .nbest = 1};
    CHECK_INT(task_decode(&m, &o.rules, &p, (const char *const *)lines, &b, out, NULL, routes, &e), 0);
    CHECK_TEXT(e.text, "");
    for (int i = 0; i < N; i++) CHECK_INT(o.t.task->accepts(o.t.self, lines[i], out[i]), 1);
    CHECK_INT(routes->refused, 0);
    CHECK_INT(routes->first + routes->in_beam + routes->again, N);
    for (int i = 0; i < N; i++) free(lines[i]), free(out[i]);
    pairs_free(&p);
    model_free(&m);
    close_form(&o);
}

static void searches(void)
{
    task_routes routes;
    for (int f = 0; f < (int)LENGTH(forms); f++)
        for (int64_t beam = 1; beam <= 4; beam += 3)
            for (int spread = 1; spread <= 9; spread += 4) {
                search(f, "", beam, 40, spread, &routes);
                CHECK_INT(routes.first, 24);
                search(f, "unary_cap=2", beam, 2, spread, &routes);
                search(f, "constrained=false", beam, 40, spread, &routes);
                CHECK(routes.again > 0); /* a random model produces no tree without constraints */
            }
}

/* ---- trees that the constraints allow ---- */

/* The corpora's trees pass, except words outside of any constituent (22 in GUM) and runs longer than the caps (extra of
 * GENIA: five or more constituents over the same words). */
static void gold_trees(const char *data, const char *train, const char *form, int64_t exceptions)
{
    char *set = xprintf("data=%s train=%s linearisation=%s", data, train, form);
    parsing_task t = parsing_open(set, test_data(), false);
    err e = {0};
    vocab *src = NULL, *tgt = NULL;
    task_rules rules;
    id_list ids = {0}, in = {0};
    int64_t n = 0, refused = 0;
    CHECK_INT(dataset_vocabs(t.task, t.self, false, TOKENS_WORDS, 0, false, NULL, &src, &tgt, &e), 0);
    CHECK_INT(task_rules_open(&rules, t.task, t.self, src, tgt, &e), 0);
    CHECK_TEXT(e.text, "");
    uint8_t *mask = xmalloc((size_t)vocab_size(tgt));
    for (int s = 0; s < AB_SPLITS; s++)
        for (int64_t i = 0; i < t.task->count(t.self, (ab_split)s); i++, n++) {
            ab_example x;
            bool ok = true;
            t.task->get(t.self, (ab_split)s, i, &x);
            ids.n = in.n = 0;
            CHECK_INT(vocab_encode(tgt, x.tgt, &ids, &e), 0);
            CHECK_INT(vocab_encode(src, x.src, &in, &e), 0);
            void *state = t.task->start(t.self, x.src, in.id, in.n, ids.n);
            for (int64_t k = 0; k <= ids.n && ok; k++) {
                int32_t id = k < ids.n ? ids.id[k] : VOCAB_EOS;
                t.task->allowed(t.self, state, mask);
                ok = mask[id] || id == VOCAB_UNK; /* a label that is missing in training */
                void *next = k < ids.n ? t.task->advance(t.self, state, id) : NULL;
                t.task->release(t.self, state);
                state = next;
                if (id == VOCAB_UNK) break;
            }
            if (state) t.task->release(t.self, state);
            refused += !ok;
        }
    printf("%s as %s: the constraints exclude %lld of %lld trees\n", train, form, (long long)refused, (long long)n);
    CHECK_INT(refused, exceptions);
    free(mask);
    id_list_free(&ids);
    id_list_free(&in);
    if (src != tgt) vocab_free(src);
    vocab_free(tgt);
    parsing_close(&t);
    free(set);
}

int main(void)
{
    use_plugins();
    cpu_threads(1);
    make_test_folder();
    write_text("toy/train.ptb", treebank);
    write_text("toy/dev.ptb", treebank);
    write_text("toy/test.ptb", treebank);
    walks();
    searches();
    remove_test_folder();
    static const struct {
        const char *data, *train, *form;
        int64_t exceptions;
    } gold[] = {{"craft", "craft/train.ptb", "xx", 0},
                {"genia", "genia/train.ptb+genia/extra.ptb", "in_order", 1},
                {"gum", "gum/train.ptb", "xx", 22},
                {"craft", "craft/train.ptb", "in_order", 0},
                {"genia", "genia/train.ptb+genia/extra.ptb", "xx", 1},
                {"gum", "gum/train.ptb", "in_order", 22}};
    if (!test_data()) printf("skipped: trees of craft, genia, gum (no $ABLATE_DATA)\n");
    for (size_t i = 0; i < LENGTH(gold) && test_data(); i++)
        if (!TEST_SANITIZED || test_drawn(i, 3))
            gold_trees(gold[i].data, gold[i].train, gold[i].form, gold[i].exceptions);
    return test_end();
}
