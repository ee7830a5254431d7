/* Reads bracketed lines: trees of valid ones, messages for invalid ones. */
#include "test.h"
#include "text/metric/tree.h"

/* Prints the tree, each node with its leaves: "S[0,3) NP[0,2) DT=the .." */
static char *dump(const tree *t)
{
    str out = {0};
    for (size_t i = 0; i < t->n; i++) {
        const tree_node *k = &t->nodes[i];
        str_addf(&out, "%s%.*s", i ? " " : "", (int)k->label.n, k->label.s);
        if (k->word.s)
            str_addf(&out, "=%.*s", (int)k->word.n, k->word.s);
        else
            str_addf(&out, "[%zu,%zu)", k->first, k->end);
    }
    char *text = xstrdup(str_text(&out));
    str_free(&out);
    return text;
}

static void check_reads(tree *t)
{
    static const char *const cases[][2] = {
        {"(S (NP (DT the) (NN dog)) (VP (VBZ barks)))", "S[0,3) NP[0,2) DT=the NN=dog VP[2,3) VBZ=barks"},
        {"", ""},
        {" \t ", ""},
        {"( (S (UH yes)))", "[0,1) S[0,1) UH=yes"},
        {"(A a) (B b)", "A=a B=b"},
        {"\t( S\n( A   a )(B b)\r)", "=S A=a"},
        {"(S(A a)(B b))", "S[0,2) A=a B=b"},
        {"(NP-SBJ=2 (-LRB- -LRB-) (ADJP) (. .))", "NP-SBJ=2[0,2) -LRB-=-LRB- ADJP[1,1) .=."},
        {"(S (ADJP ) (N \xc3\xa9t\xc3\xa9))", "S[0,1) ADJP[0,0) N=\xc3\xa9t\xc3\xa9"},
        {"()", "[0,0)"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        enum tree_status status = tree_read(t, cases[i][0], NULL, NULL);
        if (i == 5) { /* "( S" is a leaf without a tag, so one bracket behind it is too many */
            CHECK_INT(status, TREE_BAD);
            continue;
        }
        char *found = dump(t);
        CHECK_INT(status, TREE_GOOD);
        CHECK_TEXT(found, cases[i][1]);
        free(found);
    }
}

static void check_problems(tree *t)
{
    static const struct {
        const char *line, *words;
        enum tree_status status;
        size_t column, nodes, leaves;
    } cases[] = {
        {"(S (A a)", "never closed", TREE_UNBALANCED, 1, 2, 1},
        {"(S (X (A a)", "never closed", TREE_UNBALANCED, 4, 3, 1},
        {"(S (A a", "never closed", TREE_UNBALANCED, 4, 2, 1},
        {"(", "never closed", TREE_UNBALANCED, 1, 1, 0},
        {"(S (A a))) (B b)", "no bracket opens", TREE_UNBALANCED, 10, 3, 2},
        {")", "no bracket opens", TREE_UNBALANCED, 1, 0, 0},
        {") (S (A a)", "no bracket opens", TREE_UNBALANCED, 1, 2, 1},
        {"dog", "without its own bracket", TREE_BAD, 1, 0, 0},
        {"(S (A a) dog)", "without its own bracket", TREE_BAD, 10, 0, 0},
        {"(A a dog)", "more than its word", TREE_BAD, 6, 0, 0},
        {"(A a (B b))", "more than its word", TREE_BAD, 6, 0, 0},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        err e = {0};
        char place[32];
        size_t column = 0;
        snprintf(place, sizeof place, "column %zu: ", cases[i].column);
        CHECK_INT(tree_read(t, cases[i].line, &column, &e), cases[i].status);
        CHECK_INT(column, cases[i].column);
        CHECK_HAS(e.text, place);
        CHECK_HAS(e.text, cases[i].words);
        if (cases[i].status == TREE_BAD) continue;
        CHECK_INT(t->n, cases[i].nodes);
        CHECK_INT(t->n_leaves, cases[i].leaves);
    }
}

static void check_large(tree *t)
{
    enum { DEPTH = 10000, WORDS = 200000, LABEL = 10000 };
    str line = {0};
    for (int i = 0; i < DEPTH; i++) str_add(&line, "(X ");
    str_add(&line, "(A a)");
    for (int i = 0; i < DEPTH; i++) str_addc(&line, ')');
    CHECK_INT(tree_read(t, line.s, NULL, NULL), TREE_GOOD);
    CHECK_INT(t->n, DEPTH + 1);
    CHECK_INT(t->nodes[DEPTH - 1].end, 1);
    line.s[line.n - 1] = 0;
    CHECK_INT(tree_read(t, line.s, NULL, NULL), TREE_UNBALANCED);
    str_clear(&line);
    str_add(&line, "(S");
    for (int i = 0; i < WORDS; i++) str_add(&line, " (A a)");
    str_add(&line, ")");
    CHECK_INT(tree_read(t, line.s, NULL, NULL), TREE_GOOD);
    CHECK_INT(t->nodes[0].end, WORDS);
    str_clear(&line);
    str_addc(&line, '(');
    for (int i = 0; i < LABEL; i++) str_addc(&line, 'L');
    str_add(&line, " a)");
    CHECK_INT(tree_read(t, line.s, NULL, NULL), TREE_GOOD);
    CHECK_INT(t->nodes[0].label.n, LABEL);
    str_free(&line);
}

int main(void)
{
    tree t = {0};
    check_reads(&t);
    check_problems(&t);
    check_large(&t);
    tree_free(&t);
    return test_end();
}
