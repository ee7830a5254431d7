/* treebank.h - reads and cleans Penn Treebank files, and resolves settings to files.
 *
 * The host's scorer reads trees too, but one per line and unchanged. This reader allows trees over several lines,
 * cleans them, and reports errors with file, line and column.
 *
 * Cleaning: the outer bracket (no label, ROOT, S1, TOP, or none) becomes TOP, which EVALB does not count;
 * function tags and indices are removed (NP-SBJ-1, NP=2), except in -LRB- and the like; ADVP|PRT becomes ADVP; empty
 * elements (-NONE-) are removed, and so are the constituents left empty.
 */
#ifndef PARSING_TREEBANK_H
#define PARSING_TREEBANK_H
#include "tree.h"

enum { MOST_LABEL = 255, MOST_WORD = 4096, MOST_DEPTH = 1000 }; /* [bytes], [bytes], [brackets] */

typedef struct {
    const char *path; /* for messages */
    char *text;       /* [n + 1], NUL-terminated; words are joined and cleaned in place */
    size_t n, at;
    size_t line, line_at; /* position of `at`: its line, counted from 1, and that line's first byte */
    int join;             /* 1: a leaf's words are joined by _; 0: several words are refused */
} treebank;

/* Replaces t by the next cleaned tree, without brackets if nothing is left of it. Returns 1; 0 at the end; -1 with
 * "path:line:column: ..." in err. */
int treebank_next(treebank *b, tree *t, char *err, size_t n_err);
/* Moves from a bad tree, or from blanks before it, to the next line that begins with a bracket, or to the end. Returns
 * the bad tree's line. */
size_t treebank_skip(treebank *b);
/* Opens a file, which must be UTF-8 without NUL. Returns 0, or -1 and err. b->text is malloc'd. */
int treebank_read(treebank *b, const char *path, char *err, size_t n_err);
/* Opens a copy of text in memory; path is for messages. */
int treebank_take(treebank *b, const char *path, const char *text, size_t n, char *err, size_t n_err);

typedef struct { /* {0} is empty */
    char **at;
    size_t n, cap;
} paths;
typedef struct {          /* how entries of a list of files become files */
    const char *data_dir; /* folder of names that do not begin with / or . */
    const char *files;    /* pattern of file names in a folder */
    const char *wsj;      /* folder of sections 00 to 24, for entries such as 22 or 2-21; NULL: no such folder */
} places;
/* Finds the files of "a+b+c": each a file, a pattern, a folder (its files and those of its subfolders, by name) or a
 * range of sections. Returns 0, or -1 and err, which begins with the key. */
int paths_find(paths *p, const places *in, const char *key, const char *list, char *err, size_t n_err);
/* Finds the files of a single entry, in which + has no special meaning. */
int paths_add(paths *p, const places *in, const char *key, const char *entry, char *err, size_t n_err);
void paths_free(paths *p);
#endif
