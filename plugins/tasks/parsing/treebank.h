/* treebank.h - Penn Treebank files: their brackets, cleaned, and which files a setting means.
 *
 * The host's scorer reads trees too, but a line at a time and as they stand; here trees run over lines, are
 * cleaned, and a fault is told with its file, line and column. So the plugin has this reader of its own.
 *
 * Cleaning: the outer bracket (no label, ROOT, S1, TOP, or none) becomes TOP, which EVALB does not count;
 * function tags and indices go (NP-SBJ-1, NP=2), but not from -LRB- and the like; ADVP|PRT is ADVP; empty
 * elements (-NONE-) go with the constituents that they leave empty.
 */
#ifndef PARSING_TREEBANK_H
#define PARSING_TREEBANK_H
#include "tree.h"

enum { MOST_LABEL = 255, MOST_WORD = 4096, MOST_DEPTH = 1000 }; /* [bytes], [bytes], [brackets] */

typedef struct {
    const char *path; /* for messages */
    char *text;       /* [n + 1], NUL behind it; words are joined and cleaned in place */
    size_t n, at;
    size_t line, line_at; /* of `at`: lines from 1, where its line begins */
    int join; /* 1: a leaf's words with a blank between them become one, joined by _; 0: refused */
} treebank;

/* Replaces t by the next tree, cleaned; it has no brackets where nothing was left of it. 1; 0 at the end; -1
 * and words "path:line:column: ..." in err. */
int treebank_next(treebank *b, tree *t, char *err, size_t n_err);
/* A whole file, which must be UTF-8 without NUL. 0, or -1 and err. b->text is malloc's. */
int treebank_read(treebank *b, const char *path, char *err, size_t n_err);
/* The same from memory, which is copied; path: for messages. */
int treebank_take(treebank *b, const char *path, const char *text, size_t n, char *err, size_t n_err);

typedef struct { /* {0} is empty */
    char **at;
    size_t n, cap;
} paths;
typedef struct {          /* what an entry of a list of files may mean */
    const char *data_dir; /* where names that begin neither with / nor with . lie */
    const char *files;    /* pattern of the files in a folder */
    const char *wsj;      /* folder of the sections 00 to 24, then an entry may be 22 or 2-21; else NULL */
} places;
/* The files of "a+b+c": a file, a pattern, a folder (its files and those of its folders, by name) or a range
 * of sections. 0, or -1 and err, which begins with the key. */
int paths_find(paths *p, const places *in, const char *key, const char *list, char *err, size_t n_err);
/* The same for an entry alone, in which + is a character as any other. */
int paths_add(paths *p, const places *in, const char *key, const char *entry, char *err, size_t n_err);
void paths_free(paths *p);
#endif
