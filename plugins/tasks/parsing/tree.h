/* tree.h - a constituency tree as its brackets from left to right.
 *
 * No function recurses, because treebanks nest deeply and files may be malformed; only memory limits the depth. Texts
 * are slices of a file's or a line's memory and live as long as it does.
 */
#ifndef PARSING_TREE_H
#define PARSING_TREE_H
#include <stddef.h>
#include <stdint.h>

typedef struct { /* {0} is empty; s is NUL-terminated after the first addition */
    char *s;
    size_t n, cap;
} buffer;
void buffer_add(buffer *b, const char *s, size_t n);
void buffer_text(buffer *b, const char *s);
void buffer_clear(buffer *b);
void buffer_free(buffer *b);
/* Reallocates p for n elements of `size` bytes. Ends the program with a message when out of memory. */
void *resized(void *p, size_t n, size_t size);
/* Makes room for n + 1 elements. *cap: the current capacity, in elements. */
void *grown(void *p, size_t n, size_t *cap, size_t size);

typedef struct {
    const char *s;
    size_t n;
} slice;
int slice_is(slice a, const char *text);
slice slice_of(const char *text);
/* Returns the line's next word at or after *at (blanks separate words), or an empty slice; moves *at past the word. */
slice next_word(const char **at);

enum { OPEN, LEAF, CLOSE };
typedef struct {
    int kind;
    slice label; /* OPEN: the constituent's label; LEAF: the tag; CLOSE: unused */
    slice word;  /* LEAF only */
} bracket;
typedef struct { /* {0} is empty; brackets balance */
    bracket *at;
    size_t n, cap;
} tree;
void tree_add(tree *t, int kind, slice label, slice word);
void tree_free(tree *t);
/* Removes constituents without leaves. */
void tree_prune(tree *t);
/* Appends (TOP (S (NP (DT the) ...))), or tree_words: the words separated by blanks. */
void tree_write(const tree *t, buffer *out);
void tree_words(const tree *t, buffer *out);
#endif
