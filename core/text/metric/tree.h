/* tree.h - reads one line of bracketed trees for a scorer, without renaming or removing anything.
 *
 * (S (NP (DT the) (NN dog)) (VP (VBZ barks))): a bracket around one word is a leaf, labelled with its tag; other
 * brackets are constituents. Several trees on a line are a forest. Labels and words are slices of the line and live as
 * long as it does. Reading does not recurse, so only memory limits the depth. */
#ifndef ABLATE_METRIC_TREE_H
#define ABLATE_METRIC_TREE_H
#include "base/base.h"

typedef struct {
    const char *s;
    size_t n;
} slice;
bool slice_is(slice a, const char *text);
bool slice_same(slice a, slice b);

typedef struct {
    slice label;       /* "NP-SBJ"; empty for the root in "( (S ...))" */
    slice word;        /* the word of a leaf; for other nodes s is NULL */
    size_t first, end; /* covers leaves [first, end); a leaf covers itself */
} tree_node;

typedef struct {
    tree_node *nodes; /* in the order of their opening brackets */
    size_t n, cap;
    size_t *leaves; /* indices of the leaves in nodes, from left to right */
    size_t n_leaves, cap_leaves;
    size_t *open; /* working memory of the reader */
    size_t n_open, cap_open;
} tree; /* {0} is empty; its arrays are owned */

enum tree_status {
    TREE_GOOD,
    TREE_UNBALANCED, /* read by adding missing closing brackets at the end, or by ignoring surplus ones */
    TREE_BAD         /* not a tree: the nodes must not be used */
};
/* Replaces t by the trees of the line; an empty line has no nodes. Unless the line is good, *column (from 1) and e
 * describe the error; either may be NULL. */
enum tree_status tree_read(tree *t, const char *line, size_t *column, err *e);
void tree_free(tree *t);
#endif
