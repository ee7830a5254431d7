/* The task parsing: the files that its settings name, and its messages about files that are missing or invalid. */
#include "parsing_task.h"

/* ---- which trees the settings select ---- */

static int64_t counted(const char *list, const char *more, ab_split split)
{
    char *text = xprintf("data=here train=%s dev=here/a.ptb test=here/a.ptb %s", list, more);
    parsing_task t = parsing_open(text, test_folder, false);
    int64_t n = t.self ? t.task->count(t.self, split) : -1;
    if (!t.self) printf("%s: %s\n", list, t.message);
    parsing_close(&t);
    free(text);
    return n;
}

static void file_lists(void)
{
    static const char tree[] = "(S (NN a))\n(S (NN b))\n(S (NN c))";
    static const char *const names[] = {"here/a.ptb", "here/b.mrg", "here/sub/c.ptb", "here/sub/d.txt"};
    for (int i = 0; i < 4; i++) write_text(names[i], tree);
    char *absolute = xprintf("%s/here/a.ptb+here/b.mrg", test_folder);
    CHECK_INT(counted("here/a.ptb", "", AB_TRAIN), 3);
    CHECK_INT(counted(absolute, "", AB_TRAIN), 6);
    CHECK_INT(counted("here/a.ptb+here/a.ptb", "", AB_TRAIN), 6);
    CHECK_INT(counted("here", "", AB_TRAIN), 12);
    CHECK_INT(counted("here", "files=*.ptb", AB_TRAIN), 6);
    CHECK_INT(counted("here/*.ptb", "", AB_TRAIN), 3);
    CHECK_INT(counted("here/sub/[cd].*", "", AB_TRAIN), 6);
    CHECK_INT(counted("here", "train_trees=5", AB_TRAIN), 5);
    CHECK_INT(counted("here", "train_trees=5", AB_DEV), 3);
    free(absolute);
    for (int s = 0; s <= 24; s++) {
        char name[64], text[512] = "";
        for (int i = 0; i <= s; i++) strcat(text, "(S (NN a))\n");
        snprintf(name, sizeof name, "wsj/%02d/wsj_%02d01.mrg", s, s);
        write_text(name, text);
    }
    char *wsj = xprintf("data=wsj wsj=%s/wsj", test_folder), *some = xprintf("%s train=0-1+24+here/a.ptb", wsj);
    parsing_task t = parsing_open(wsj, test_folder, false);
    CHECK_TEXT(t.message, "");
    if (t.self) {
        CHECK_INT(t.task->count(t.self, AB_TRAIN), 22 * 23 / 2 - 3);
        CHECK_INT(t.task->count(t.self, AB_DEV), 23);
        CHECK_INT(t.task->count(t.self, AB_TEST), 24);
    }
    parsing_close(&t);
    t = parsing_open(some, test_folder, false);
    CHECK_TEXT(t.message, "");
    if (t.self) CHECK_INT(t.task->count(t.self, AB_TRAIN), 1 + 2 + 25 + 3);
    parsing_close(&t);
    free(wsj);
    free(some);
}

/* train_trees keeps the first trees of the training split of a single file; dev and test stay complete. */
static void trees_of_one_file(void)
{
    enum { TREES = 400, KEPT = 20 };
    str text = {0};
    for (int i = 0; i < TREES; i++) str_addf(&text, "(S (NN w%d))\n", i);
    write_text("one.ptb", str_text(&text));
    str_free(&text);
    parsing_task all = parsing_open("data=one.ptb", test_folder, false),
                 some = parsing_open("data=one.ptb train_trees=20", test_folder, false);
    CHECK_HAS(all.message, "split off from 400 trees");
    CHECK_TEXT(some.message, all.message);
    if (all.self && some.self) {
        CHECK_INT(some.task->count(some.self, AB_TRAIN), KEPT);
        for (ab_split s = AB_DEV; s < AB_SPLITS; s++)
            CHECK_INT(some.task->count(some.self, s), all.task->count(all.self, s));
        ab_example a, b;
        all.task->get(all.self, AB_TRAIN, KEPT - 1, &a);
        some.task->get(some.self, AB_TRAIN, KEPT - 1, &b);
        CHECK_TEXT(b.src, a.src);
    }
    parsing_close(&all);
    parsing_close(&some);
}

/* In parsing.data, + is not a list separator. */
static void data_with_plus(void)
{
    static const char *const names[] = {"a+b/train.ptb", "a+b/dev.ptb", "a+b/test.ptb"};
    for (int i = 0; i < 3; i++) write_text(names[i], "(S (NN a))\n");
    parsing_task t = parsing_open("data=a+b", test_folder, false);
    CHECK_TEXT(t.message, "");
    if (t.self) CHECK_INT(t.task->count(t.self, AB_TEST), 1);
    parsing_close(&t);
}

/* With silver trees, training has the gold trees once, then the silver trees, then repetitions of the gold trees;
 * train_trees counts gold trees only. */
static void silver_trees(void)
{
    write_text("silver/gold.ptb", "(S (NN a))\n(S (NN b))\n(S (NN c))");
    write_text("silver/more.ptb", "(TOP (S (XX d)))\n\n(TOP (X (XX e)))\n");
    static const char set[] = "data=silver train=silver/gold.ptb dev=silver/gold.ptb test=silver/gold.ptb "
                              "silver=silver/more.ptb gold_repeat=3 train_trees=2";
    static const char *const expected[] = {"a", "b", "d", "e", "a", "b", "a", "b"};
    parsing_task t = parsing_open(set, test_folder, false);
    CHECK_TEXT(t.message, "");
    if (t.self) {
        ab_vocabs v = {0};
        int marks = 0;
        CHECK_INT(t.task->count(t.self, AB_TRAIN), LENGTH(expected));
        CHECK_INT(t.task->count(t.self, AB_DEV), 3);
        CHECK_INT(t.task->count(t.self, AB_TEST), 3);
        for (int64_t i = 0; i < (int64_t)LENGTH(expected); i++) {
            char *tgt = xprintf("(%s %s )%s", same(expected[i], "e") ? "X" : "S", expected[i],
                                same(expected[i], "e") ? "X" : "S");
            check_example(&t, AB_TRAIN, i, expected[i], tgt);
            free(tgt);
        }
        /* brackets for a label that occurs only in silver trees are in the vocabulary, too */
        t.task->vocabs(t.self, &v);
        for (int64_t i = 0; i < v.n_symbols; i++) marks += same(v.symbols[i], "(X") || same(v.symbols[i], ")X");
        CHECK_INT(marks, 2);
        CHECK_TEXT(t.task->reference_line(t.self, AB_TEST, 1, NULL), "(TOP (S (NN b)))");
        CHECK_TEXT(t.task->reference_line(t.self, AB_TEST, 1, "(X b )X"), "(TOP (X (NN b)))");
        CHECK_TEXT(t.task->reference_line(t.self, AB_TEST, 2, "b )X"), "(TOP (NN c))"); /* repaired */
    }
    parsing_close(&t);
    CHECK_INT(counted("here/a.ptb", "silver=here/b.mrg", AB_TRAIN), 6);
    CHECK_INT(counted("here/a.ptb", "silver=here/b.mrg+here/a.ptb gold_repeat=2", AB_TRAIN), 12);
    CHECK_INT(counted("here/a.ptb", "gold_repeat=2", AB_TRAIN), 6);
}

static void refused(const char *text, const char *const *says)
{
    parsing_task t = parsing_open(text, test_folder, false);
    CHECK(!t.self);
    for (; *says; says++) CHECK_HAS(t.message, *says);
    parsing_close(&t);
}

static void missing(void)
{
    refused("data=wsj", (const char *const[]){"parsing.wsj", "LDC99T42", NULL});
    refused("data=wsj wsj=/nowhere", (const char *const[]){"parsing.train", "/nowhere/02/*.mrg", "00 to 24", NULL});
    refused("data=craftt",
            (const char *const[]){"parsing.train", "craftt/train.ptb", "$ABLATE_DATA", test_folder, NULL});
    refused("data=here train=here/a.ptb++here/b.mrg", (const char *const[]){"parsing.train", "name is missing", NULL});
    refused("data=here train=here/a.ptb dev=here/a.ptb test=here/a.ptb silver=nowhere.ptb",
            (const char *const[]){"parsing.silver", "nowhere.ptb", NULL});
    refused("data=here train=here files=*.xyz", (const char *const[]){"here/*.xyz", NULL});
    write_text("here/none.ptb", "( (-NONE- *))\n");
    refused("data=here train=here/none.ptb", (const char *const[]){"no tree with a word", "none.ptb", NULL});
}

/* ---- invalid files ---- */

/* Checks that the file is refused with line:column and a message. */
static void hostile(const char *text, size_t n, const char *place, const char *says)
{
    write_bytes("hostile/train.ptb", text, n);
    char *set = xprintf("data=%s/hostile spaces=refuse", test_folder),
         *where = xprintf("%s/hostile/train.ptb:%s: ", test_folder, place);
    refused(set, (const char *const[]){where, says, NULL});
    free(set);
    free(where);
}
static void hostile_text(const char *text, const char *place, const char *says)
{
    hostile(text, strlen(text), place, says);
}

static char *repeated(const char *text, size_t times, const char *end)
{
    str s = {0};
    for (size_t i = 0; i < times; i++) str_add(&s, text);
    str_add(&s, end);
    return s.s;
}

static void hostile_files(void)
{
    hostile_text("(S (NN a))\n(S (NN b)", "2:1", "never closed");
    hostile_text("(S (NP (NN a))", "1:1", "never closed");
    hostile_text("(S (NN a))\n(NP the dog)\n(S (NN b))\n\n(S (NN c)\n(S\n (NN d))\n(S x)\n(S b (NN b))\n", "2:5",
                 "(NP (DT the) (NN dog)), or, with parsing.spaces = join, one word; lines of further bad trees (2): 5, "
                 "9; mend or delete them");
    hostile_text("(S (NN a)))\n", "1:11", "no bracket opens");
    hostile_text("\n\n  word", "3:3", "outside brackets");
    hostile_text("(S (NN a) b)", "1:11", "its own bracket and tag");
    hostile_text("(S (NN a (NN b)))", "1:10", "more than its word");
    hostile_text("(S (NN a b))", "1:8", "a blank in its word");
    hostile_text("(S\n (NP\n ))", "2:2", "nothing in it");
    hostile_text("(())", "1:2", "without a label");
    hostile_text("(S ((NN a)))", "1:4", "without a label");
    hostile_text("(S ( a))", "1:6", "without a tag");
    hostile_text("(S (/NP (NN a)))", "1:4", "begins with /");
    hostile_text("(S (\\NP (NN a)))", "1:4", "begins with \\");
    hostile_text("(S (NN a", "1:8", "ends after this word");
    hostile("(S (NN a\0b))", 12, "1:9", "NUL");
    hostile_text("(S (NN a))\n(S (NN \xc3\x28))", "2:8", "not UTF-8");
    char *deep = repeated("(S ", 10000, "a"), *label = repeated("L", 10000, " (NN a))"),
         *long_label = xprintf("(%s", label), *word = repeated("w", 1 << 20, "))"),
         *long_word = xprintf("(S (NN %s", word), *open = repeated("(S ", 999, "");
    hostile_text(deep, "1:2998", "nested more than 1000 deep");
    hostile_text(long_label, "1:1", "a label of 10000 bytes");
    hostile_text(long_word, "1:8", "a word of 1048576 bytes");
    hostile_text(open, "1:2995", "never closed");
    free(deep), free(label), free(long_label), free(word), free(long_word), free(open);
}

/* Large but valid: 999 brackets deep, a line of a megabyte, labels of 255 bytes, no line end. */
static void large_files(void)
{
    char *deep = repeated("(S ", 999, "(NN a)"), *closed = repeated(")", 999, "\n"),
         *leaves = repeated("(NN word) ", 100000, ""), *label = repeated("L", 255, "");
    char *all = xprintf("%s%s(S %s)\n(%s (NN a))", deep, closed, leaves, label);
    write_text("large/train.ptb", all);
    write_text("large/dev.ptb", "(S (NN a))");
    write_text("large/test.ptb", "(S (NN a))");
    char *set = xprintf("data=%s/large linearisation=xx", test_folder);
    parsing_task t = parsing_open(set, "/nowhere", false);
    CHECK_TEXT(t.message, "");
    ab_example x;
    ab_metric m[8];
    if (t.self) {
        CHECK_INT(t.task->count(t.self, AB_TRAIN), 3);
        t.task->get(t.self, AB_TRAIN, 0, &x);
        CHECK_INT(strlen(x.tgt), 999 * 2 + 3 + 999 * 3 - 1);
        t.task->get(t.self, AB_TRAIN, 1, &x);
        CHECK_INT(strlen(x.src), 499999);
        const char *tgt[3];
        for (int i = 0; i < 3; i++) t.task->get(t.self, AB_TRAIN, i, &x), tgt[i] = x.tgt;
        CHECK(t.task->score(t.self, AB_TRAIN, tgt, 3, m, 8, t.message, sizeof t.message) > 0);
        CHECK_NEAR(m[0].value, 100, 0);
    }
    parsing_close(&t);
    free(deep), free(closed), free(leaves), free(label), free(all), free(set);
}

int main(void)
{
    use_plugins();
    make_test_folder();
    file_lists();
    trees_of_one_file();
    data_with_plus();
    silver_trees();
    missing();
    hostile_files();
    large_files();
    remove_test_folder();
    return test_end();
}
