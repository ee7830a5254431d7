/* tree.h - one line of bracketed trees, as a scorer reads them: nothing renamed, nothing removed.
 *
 * (S (NP (DT the) (NN dog)) (VP (VBZ barks))): a bracket around one word is a leaf, with its tag for a label;
 * the others are constituents. Several trees on a line are one forest. Labels and words are slices of the
 * line and live as long as it does. Reading takes no recursion, so depth is bounded by memory alone.
 */
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
    slice label;       /* "NP-SBJ"; of no length in "( (S ...))" */
    slice word;        /* s is NULL unless it is a leaf */
    size_t first, end; /* leaves [first, end) lie under it; a leaf covers itself */
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
    TREE_UNBALANCED, /* the tree is what it would be with brackets added at the end, or surplus ones left out
                      */
    TREE_BAD         /* not a tree: the nodes are of no use */
};
/* Replaces t by what the line holds; an empty line holds no node. Unless the line is good, *column (from 1)
 * and e (with that column) say what is wrong where; either may be NULL. */
enum tree_status tree_read(tree *t, const char *line, size_t *column, err *e);
void tree_free(tree *t);
#endif
