#include "text/metric/tree.h"
#include <stdlib.h>
#include <string.h>

bool slice_is(slice a, const char *text) { return a.n == strlen(text) && !memcmp(a.s, text, a.n); }
bool slice_same(slice a, slice b) { return a.n == b.n && !memcmp(a.s, b.s, a.n); }

void tree_free(tree *t)
{
    free(t->nodes);
    free(t->leaves);
    free(t->open);
    *t = (tree){0};
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static const char *skip_blanks(const char *p)
{
    while (is_blank(*p)) p++;
    return p;
}

/* Returns the text from p to the next blank or bracket. */
static slice token(const char *p)
{
    const char *end = p;
    while (*end && !is_blank(*end) && *end != '(' && *end != ')') end++;
    return (slice){p, (size_t)(end - p)};
}

static enum tree_status wrong(enum tree_status status, const char *line, const char *at, size_t *column, err *e,
                              const char *what)
{
    if (column) *column = (size_t)(at - line) + 1;
    fail(e, "column %zu: %s", (size_t)(at - line) + 1, what);
    return status;
}

static tree_node *open_node(tree *t, slice label)
{
    t->nodes = grow(t->nodes, &t->cap, t->n + 1, sizeof *t->nodes);
    t->open = grow(t->open, &t->cap_open, t->n_open + 1, sizeof *t->open);
    t->open[t->n_open++] = t->n;
    t->nodes[t->n] = (tree_node){.label = label, .first = t->n_leaves, .end = t->n_leaves};
    return &t->nodes[t->n++];
}

static void close_node(tree *t) { t->nodes[t->open[--t->n_open]].end = t->n_leaves; }

enum tree_status tree_read(tree *t, const char *line, size_t *column, err *e)
{
    enum tree_status status = TREE_GOOD;
    t->n = t->n_leaves = t->n_open = 0;
    for (const char *p = skip_blanks(line); *p; p = skip_blanks(p)) {
        if (*p == ')' && t->n_open > 0) {
            close_node(t);
            p++;
        } else if (*p == ')') {
            if (status == TREE_GOOD)
                status = wrong(TREE_UNBALANCED, line, p, column, e, "a closing bracket that no bracket opens");
            p++;
        } else if (*p != '(') {
            return wrong(TREE_BAD, line, p, column, e, "a word without its own bracket and tag");
        } else {
            slice label = token(p + 1);
            tree_node *node = open_node(t, label);
            p = skip_blanks(label.s + label.n);
            slice word = token(p);
            if (word.n == 0) continue;
            node->word = word;
            t->leaves = grow(t->leaves, &t->cap_leaves, t->n_leaves + 1, sizeof *t->leaves);
            t->leaves[t->n_leaves++] = t->n - 1;
            p = skip_blanks(word.s + word.n);
            if (*p && *p != ')')
                return wrong(
                    TREE_BAD, line, p, column, e,
                    "a bracket with more than its word; each word has one, with its tag: (NP (DT the) (NN dog))");
        }
    }
    if (t->n_open > 0 && status == TREE_GOOD)
        status = wrong(TREE_UNBALANCED, line, t->nodes[t->open[t->n_open - 1]].label.s - 1, column, e,
                       "a bracket that is never closed");
    while (t->n_open > 0) close_node(t);
    return status;
}
