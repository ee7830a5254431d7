/* The task parsing: trees become sequences, and the sequences give the same trees. If $ABLATE_DATA is set, this is
 * tested with the trees of CRAFT, GENIA and GUM, for a random half of the pairs of a linearisation and a split: under
 * sanitizers for a sixth, before a release for all. */
#include "text/data/dataset.h"
#include "text/metric/tree.h"
#include "parsing_task.h"

static const char *const forms[] = {"labels", "xx", "words", "in_order"};

/* ---- sequences of small files ---- */

static void sequences(void)
{
    static const char trees[] =
        "( (S (NP-SBJ-1 (DT the) (NN dog))\n   (VP=2 (VBZ barks) (NP (-NONE- *T*-1))) (. .)) )\n\n"
        "(ROOT (ADVP|PRT (RB up)))(NP (-LRB- -LRB-) (NN|NNS x))\n"
        "( (X (NP (-NONE- *)) (-NONE-|X *)))   (TOP (S (NP a)))(S1 (-LRB- (NN \xe2\x96\x81y\xe2\x96\x81)))";
    static const char *const expected[][5] = {
        {"the dog barks .", "S NP DT NN /NP VP VBZ /VP . /S", "S NP XX XX /NP VP XX /VP XX /S",
         "(S (NP the dog )NP (VP barks )VP . )S", "the (NP dog )NP (S barks (VP )VP . )S"},
        {"up", "ADVP RB /ADVP", "ADVP XX /ADVP", "(ADVP up )ADVP", "up (ADVP )ADVP"},
        {"-LRB- x", "NP -LRB- NN /NP", "NP XX XX /NP", "(NP -LRB- x )NP", "-LRB- (NP x )NP"},
        {"a", "S \\NP /S", "S XX /S", "(S a )S", "a (S )S"},
        {"_y_", "-LRB- NN /-LRB-", "-LRB- XX /-LRB-", "(-LRB- _y_ )-LRB-", "_y_ (-LRB- )-LRB-"},
    };
    write_text("small/train.ptb", trees);
    write_text("small/dev.ptb", trees);
    write_text("small/test.ptb", "(S (NN a))\r\n(S (NN b))\r\n");
    for (int f = 0; f < (int)LENGTH(forms); f++) {
        char *text = xprintf("data=%s/small linearisation=%s", test_folder, forms[f]);
        parsing_task t = parsing_open(text, "/nowhere", false);
        CHECK_TEXT(t.message, "trees of empty elements (-NONE-) alone, left out: 2");
        if (t.self) CHECK_INT(t.task->count(t.self, AB_TRAIN), LENGTH(expected));
        /* the last tree has a constituent named -LRB-, so a tag of that name gets a backslash */
        for (int i = 0; i < (int)LENGTH(expected); i++)
            check_example(&t, AB_TRAIN, i, expected[i][0], f == 0 && i == 2 ? "NP \\-LRB- NN /NP" : expected[i][f + 1]);
        check_example(&t, AB_TEST, 1, "b", f == 0 ? "S NN /S" : f == 1 ? "S XX /S" : f == 2 ? "(S b )S" : "b (S )S");
        parsing_close(&t);
        free(text);
    }
}

/* ---- outputs that are not trees ---- */

static void repairs(void)
{
    static const struct {
        const char *form, *typed, *output, *tree;
        int good;
    } cases[] = {
        {"words", "the dog barks .", "(S (NP the dog )NP (VP barks )VP . )S",
         "(TOP (S (NP (XX the) (XX dog)) (VP (XX barks)) (XX .)))", 1},
        {"words", "the dog barks .", "(S (NP the dog", "(TOP (S (NP (XX the) (XX dog) (XX barks) (XX .))))", 0},
        {"words", "the dog", "(S (NP the dog )S )S", "(TOP (S (NP (XX the) (XX dog))))", 0},
        {"words", "the dog", "(S (NP the cat )NP )S", "(TOP (S (NP (XX the) (XX dog))))", 0},
        {"words", "the dog", "(S (NP the \xe2\x81\x87 )NP )S", "(TOP (S (NP (XX the) (XX dog))))", 1},
        {"words", "the dog", "(S the dog dog dog )S", "(TOP (S (XX the) (XX dog)))", 0},
        {"words", "the dog", "(S (NP )NP the dog )S", "(TOP (S (XX the) (XX dog)))", 0},
        {"words", "the dog", "(S the )S", "(TOP (S (XX the)) (XX dog))", 0},
        {"words", "the dog", ")S )NP ( )", "(TOP (XX the) (XX dog))", 0},
        {"words", "the dog", "", "(TOP (XX the) (XX dog))", 0},
        {"words", "", "(S a )S", "", 0},
        {"words", "the_DT dog_NN", "(NP the dog )NP", "(TOP (NP (DT the) (NN dog)))", 1},
        {"words", "the_x dog_NN", "(NP the_x dog_NN )NP", "(TOP (NP (XX the_x) (XX dog_NN)))", 1},
        {"words",
         "a (b) \xe2\x96\x81"
         "c",
         "(S a -LRB-b-RRB- _c )S", "(TOP (S (XX a) (XX -LRB-b-RRB-) (XX _c)))", 1},
        {"labels", "the dog", "NP DT NN /NP", "(TOP (NP (DT the) (NN dog)))", 1},
        {"labels", "the dog", "NP DT NN NN /S", "(TOP (NP (DT the) (NN dog)))", 0},
        {"labels", "the_X dog_Y", "NP DT \\NP /NP", "(TOP (NP (X the) (Y dog)))", 1},
        {"labels", "the dog", "NP DT \xe2\x81\x87 /NP", "(TOP (NP (DT the)) (XX dog))", 0},
        {"xx", "the dog", "S XX NP XX /NP /S", "(TOP (S (XX the) (NP (XX dog))))", 1},
        {"xx", "the dog", "S XX NP YY /NP /S", "(TOP (S (XX the) (NP (YY dog))))", 0},
        {"in_order", "the dog barks .", "the (NP dog )NP (S barks (VP )VP . )S",
         "(TOP (S (NP (XX the) (XX dog)) (VP (XX barks)) (XX .)))", 1},
        {"in_order", "the dog", "the (NP )NP (S dog )S", "(TOP (S (NP (XX the)) (XX dog)))", 1},
        {"in_order", "the dog", "the (DT )DT (X )X dog (NN )NN", "(TOP (X (DT (XX the))) (NN (XX dog)))", 1},
        {"in_order", "the dog barks", "the (NP dog )NP barks (VP )VP", "(TOP (NP (XX the) (XX dog)) (VP (XX barks)))",
         1},
        {"in_order", "the dog barks", "the (S dog (NP )NP", "(TOP (S (XX the) (NP (XX dog)) (XX barks)))", 0},
        {"in_order", "the dog", "(S the (NP dog )NP )S", "(TOP (S (NP (XX the) (XX dog))))", 0},
        {"in_order", "the dog", "the (S (NP dog )NP )S", "(TOP (S (XX the) (NP (XX dog))))", 0},
        {"in_order", "the dog", "the (NP dog )S", "(TOP (NP (XX the) (XX dog)))", 0},
        {"in_order", "the dog", "the (NP cat )NP", "(TOP (NP (XX the) (XX dog)))", 0},
        {"in_order", "the dog", "the dog dog (NP )NP (S )S", "(TOP (XX the) (XX dog))", 0},
        {"in_order", "the dog", "(S (NP", "(TOP (S (NP (XX the) (XX dog))))", 0},
        {"in_order", "the dog", ")S )NP ( )", "(TOP (XX the) (XX dog))", 0},
        {"in_order", "the dog", "", "(TOP (XX the) (XX dog))", 0},
        {"in_order", "the_DT dog_NN", "the (NP dog )NP", "(TOP (NP (DT the) (NN dog)))", 1},
    };
    static const char *const tokens[] = {"<pad>", "<unk>", "<s>", "</s>", "S", "/S", "NP", "/NP", "XX", "DT"};
    char err[256];
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *set = xprintf("linearisation=%s", cases[i].form);
        parsing_task t = parsing_open(set, "/nowhere", true);
        CHECK_INT(t.task->count(t.self, AB_TRAIN), 0);
        if (!same(cases[i].form, "words") && !same(cases[i].form, "in_order"))
            CHECK_INT(t.task->vocabulary(t.self, tokens, LENGTH(tokens), err, sizeof err), 1);
        char *src = xstrdup(t.task->encode_input(t.self, cases[i].typed));
        CHECK_INT(t.task->accepts(t.self, src, cases[i].output), cases[i].good);
        CHECK_TEXT(t.task->format_output(t.self, cases[i].typed, cases[i].output), cases[i].tree);
        free(src);
        parsing_close(&t);
        free(set);
    }
}

/* F1 counts a repaired output, strict F1 does not. */
static void scores(void)
{
    char *set = xprintf("data=%s/small linearisation=words", test_folder);
    parsing_task t = parsing_open(set, "/nowhere", false);
    const char *hyp[] = {"(S (NP the dog )NP (VP barks )VP . )S", "(ADVP up )ADVP", "(NP -LRB- x", "(NP a )NP",
                         "(S _y_ )S"};
    ab_metric m[8];
    CHECK_INT(t.task->score(t.self, AB_TRAIN, hyp, 5, m, 8, t.message, sizeof t.message), 4);
    /* gold has 3 + 1 + 1 + 1 + 1 brackets, and so has the output; S NP VP ADVP NP are matched; the last output's label
     * is deleted, as in EVALB */
    CHECK_TEXT(m[0].name, "F1");
    CHECK_NEAR(m[0].value, 100.0 * 2 * 5 / (7 + 7), 1e-9);
    CHECK_TEXT(m[1].name, "F1_strict");
    CHECK_NEAR(m[1].value, 100.0 * 2 * 4 / (7 + 6), 1e-9);
    CHECK_NEAR(m[2].value, 60, 1e-9);
    CHECK_NEAR(m[3].value, 80, 1e-9);
    CHECK_INT(t.task->score(t.self, AB_TRAIN, hyp, 4, m, 8, t.message, sizeof t.message), -1);
    CHECK_HAS(t.message, "4 lines to score, expected 5");
    parsing_close(&t);
    free(set);
}

/* Trees in a folder named gum count as a parser's output, not as gold. */
static void parsed_gold(void)
{
    static const struct {
        const char *set;
        bool dev, test;
    } cases[] = {
        {"data=gum", true, true},
        {"data=argument", false, false},
        {"data=argument test=gum/test.ptb", false, true},
        {"data=gum dev=argument/dev.ptb", false, true},
        {"data=argument dev=argument/dev.ptb+gum/dev.ptb", true, false},
        {"data=argument dev=g[tu]m/*.ptb", true, false},
    };
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"train", "dev", "test"};
        char gum[64], other[64];
        snprintf(gum, sizeof gum, "gum/%s.ptb", names[i]);
        snprintf(other, sizeof other, "argument/%s.ptb", names[i]);
        write_text(gum, "(S (NN a))\n");
        write_text(other, "(S (NN a))\n");
    }
    for (size_t i = 0; i < LENGTH(cases); i++) {
        parsing_task t = parsing_open(cases[i].set, test_folder, false);
        const char *hyp[] = {"(S a )S", "(S a )S", "(S a )S"};
        CHECK_TEXT(t.message, "");
        for (int s = AB_DEV; s <= AB_TEST && t.self; s++) {
            ab_metric m[4];
            int64_t n = t.task->count(t.self, (ab_split)s);
            CHECK_INT(t.task->score(t.self, (ab_split)s, hyp, n, m, 4, t.message, sizeof t.message), 4);
            bool noted = strstr(m[0].signature, "|gold:a parser's output") != NULL;
            if (noted != (s == AB_DEV ? cases[i].dev : cases[i].test)) printf("%s: %s\n", cases[i].set, m[0].signature);
            CHECK_INT(noted, s == AB_DEV ? cases[i].dev : cases[i].test);
        }
        parsing_close(&t);
    }
}

/* ---- every tree of the corpora ---- */

/* A line's tree by the rules for parsing's treebanks, read by the scorer's reader: typed has word_TAG, gold has
 * brackets. */
static void expected_tree(const tree *t, str *typed, str *gold)
{
    size_t *open = xcalloc(t->n + 1, sizeof *open), depth = 0;
    str_clear(typed);
    str_clear(gold);
    for (size_t i = 0; i < t->n; i++) {
        const tree_node *x = &t->nodes[i];
        size_t kept = 0;
        for (size_t k = x->first; k < x->end; k++) kept += !slice_is(t->nodes[t->leaves[k]].label, "-NONE-");
        for (; depth && t->nodes[open[depth - 1]].end <= x->first && open[depth - 1] + 1 <= i &&
               t->nodes[open[depth - 1]].end < x->end;
             depth--)
            str_addc(gold, ')');
        if (!kept) continue;
        int n = (int)x->label.n;
        if (x->word.s) {
            str_addf(gold, " (%.*s %.*s)", n, x->label.s, (int)x->word.n, x->word.s);
            str_addf(typed, "%s%.*s_%.*s", typed->n ? " " : "", (int)x->word.n, x->word.s, n, x->label.s);
            continue;
        }
        if (n && *x->label.s != '-')
            for (int k = 1; k < n; k++)
                if (strchr("-=|", x->label.s[k])) n = k;
        if (i)
            str_addf(gold, " (%.*s", n, x->label.s);
        else
            str_add(gold, "(TOP");
        open[depth++] = i;
    }
    while (depth--) str_addc(gold, ')');
    free(open);
}

static void corpus_file(const char *data, const char *name, int f, int64_t exceptions)
{
    char *set = xprintf("data=%s train=%s/%s.ptb dev=%s/%s.ptb test=%s/%s.ptb train_trees=0 linearisation=%s", data,
                        data, name, data, name, data, name, forms[f]);
    char *path = xprintf("%s/%s/%s.ptb", test_data(), data, name);
    parsing_task t = parsing_open(set, test_data(), false);
    CHECK_TEXT(t.message, "");
    str text = {0}, typed = {0}, gold = {0};
    char **lines = NULL;
    size_t n = 0;
    err e = {0};
    tree x = {0};
    int64_t other = 0;
    CHECK_INT(file_lines(path, &text, &lines, &n, &e), 0);
    if (t.self) CHECK_INT(t.task->count(t.self, AB_DEV), n);
    for (size_t i = 0; i < n && t.self; i++) {
        ab_example ex;
        t.task->get(t.self, AB_DEV, (int64_t)i, &ex);
        if (tree_read(&x, lines[i], NULL, NULL) != TREE_GOOD) {
            if (f == 0) printf("exception: %s:%zu: a leaf with a blank in its word, joined by _\n", path, i + 1);
            other++;
            continue;
        }
        expected_tree(&x, &typed, &gold);
        CHECK_INT(t.task->accepts(t.self, ex.src, ex.tgt), 1);
        CHECK_TEXT(t.task->format_output(t.self, str_text(&typed), ex.tgt), str_text(&gold));
        /* the form `labels` takes tags from typed text */
        if (f == 0 && same(t.task->encode_input(t.self, ex.src), ex.src))
            CHECK_TEXT(t.task->format_output(t.self, ex.src, ex.tgt), str_text(&gold));
    }
    CHECK_INT(other, exceptions);
    printf("%s as %s: %zu trees\n", path, forms[f], n);
    parsing_close(&t);
    tree_free(&x);
    str_free(&text);
    str_free(&typed);
    str_free(&gold);
    free(lines);
    free(set);
    free(path);
}

/* With a vocabulary of subwords every sequence of GUM comes back, each bracket as one token. Characters that training
 * lacks become unknown; the sequence is still valid for its sentence. */
static void through_vocabulary(void)
{
    parsing_task t = parsing_open("data=gum linearisation=words", test_data(), false);
    err e = {0};
    vocab *src = NULL, *tgt = NULL;
    id_list ids = {0};
    str back = {0};
    int64_t unknown = 0, n = 0;
    CHECK_INT(dataset_vocabs(t.task, t.self, false, TOKENS_BPE, 4000, false, NULL, &src, &tgt, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK(src && src == tgt);
    for (int s = 0; s < AB_SPLITS && tgt; s++)
        for (int64_t i = 0; i < t.task->count(t.self, (ab_split)s); i++, n++) {
            ab_example x;
            t.task->get(t.self, (ab_split)s, i, &x);
            ids.n = 0;
            str_clear(&back);
            CHECK_INT(vocab_encode(tgt, x.tgt, &ids, &e), 0);
            vocab_decode(tgt, ids.id, ids.n, &back);
            CHECK_INT(t.task->accepts(t.self, x.src, str_text(&back)), 1);
            int64_t opened = 0, tokens = 0;
            for (const char *at = x.tgt; (at = strchr(at, '(')); at++) opened++;
            for (int64_t k = 0; k < ids.n; k++) tokens += has_prefix(vocab_token(tgt, ids.id[k]), "\xe2\x96\x81(");
            CHECK_INT(tokens, opened);
            if (s != AB_TRAIN && strstr(str_text(&back), VOCAB_UNK_TEXT))
                unknown++;
            else
                CHECK_TEXT(str_text(&back), x.tgt);
        }
    printf("gum through a vocabulary of 4000 subwords: %lld trees, %lld with an unknown character\n", (long long)n,
           (long long)unknown);
    CHECK(unknown < 50);
    vocab_free(tgt);
    id_list_free(&ids);
    str_free(&back);
    parsing_close(&t);
}

int main(void)
{
    use_plugins();
    make_test_folder();
    sequences();
    repairs();
    scores();
    parsed_gold();
    remove_test_folder();
    static const char *const splits[] = {"train", "dev", "test"};
    if (!test_data()) printf("skipped: trees of craft, genia, gum (no $ABLATE_DATA)\n");
    for (int f = 0; f < (int)LENGTH(forms) && test_data(); f++)
        for (int k = 0; k < 3; k++) {
            if (!test_drawn((size_t)(3 * f + k), TEST_SANITIZED ? 6 : 2)) continue;
            corpus_file("craft", splits[k], f, k == 0 ? 4 : 0);
            corpus_file("genia", splits[k], f, 0);
            corpus_file("gum", splits[k], f, 0);
            if (k == 0) corpus_file("genia", "extra", f, 0);
        }
    if (test_data()) through_vocabulary();
    return test_end();
}
