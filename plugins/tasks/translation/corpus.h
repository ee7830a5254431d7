/* corpus.h - parallel text files of a corpus, and defaults for well-known corpora. */
#ifndef CORPUS_H
#define CORPUS_H
#include "ab_plugin.h"
#include "tasks/path.h"

typedef struct { /* a well-known corpus's defaults, found by its folder's name */
    const char *name, *train, *dev, *test;
    const char *tok; /* BLEU's tokenisation; none for tokenised text */
    int can_get;     /* `ablate data get NAME` can fetch the corpus */
} corpus_defaults;
/* Defaults for an unknown name: train, dev, test, 13a. */
const corpus_defaults *corpus_find(const char *name);

typedef struct { /* lines of one split; owns all memory until split_free */
    int64_t n;
    char **src, **tgt; /* [n] */
    char **blocks[64]; /* blocks from read_lines, to be freed with free_lines */
    int n_blocks;
    int own_lines; /* 1: each line is allocated separately (synthetic) */
} split;

typedef struct { /* where to read files; also for messages */
    const ab_host *host;
    const char *data_dir, *data; /* data: a folder's name in data_dir, or a path (with a '/') */
    const char *src, *tgt;       /* languages, which are the files' suffixes */
    int can_get;
} corpus_place;

/* Appends the pairs of FOLDER/STEM.src and FOLDER/STEM.tgt for each stem of "a+b+c". Returns 0, or -1 with a message
 * in err: a missing file, or two files of different length. */
int corpus_read(split *s, const corpus_place *at, const char *key, const char *stems, char *err, size_t n_err);
/* Does FOLDER/STEM.src and .tgt, or FOLDER/STEM.tsv, or one of these with .gz exist? */
int corpus_has(const corpus_place *at, const char *stem);
/* Appends the pairs of two files, line by line. */
int corpus_read_files(split *s, const corpus_place *at, const char *src, const char *tgt, char *err, size_t n_err);
/* Appends the pairs of a file with two tab-separated columns, or with the columns that its first line names as source
 * and target (table.c). */
int corpus_read_table(split *s, const corpus_place *at, const char *path, char *err, size_t n_err);
/* Moves a twentieth of the pairs (at most about 2,000) to each of dev and test that is not NULL, by a hash of the
 * source line, so equal sources stay together. For messages: name, of the corpus; source, the suffix of its files, NULL
 * if it is no folder. note: describes the split. */
int corpus_split_off(split *train, split *dev, split *test, const char *name, const char *source, char *note,
                     size_t n_note, char *err, size_t n_err);
void corpus_grow(split *s, int64_t more); /* makes room for more pairs */
/* Reads a file's lines; s owns them. Returns 0, or -1 and err. */
int corpus_lines(split *s, const corpus_place *at, const char *path, char ***lines, int64_t *n, char *err,
                 size_t n_err);
void split_free(split *s, const ab_host *host);
#endif
