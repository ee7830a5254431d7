/* corpus.h - parallel text files of a corpus, and what is known of the usual ones. */
#ifndef CORPUS_H
#define CORPUS_H
#include "ab_plugin.h"

typedef struct { /* defaults of a corpus by its folder's name */
    const char *name, *train, *dev, *test;
    const char *tok; /* BLEU's tokenisation; none for text that is tokenised already */
    int can_get;     /* `ablate data get NAME` fetches it */
} corpus_defaults;
/* Of an unknown name: train, dev, test, 13a. */
const corpus_defaults *corpus_find(const char *name);

typedef struct { /* lines of one split; all memory belongs to it until split_free */
    int64_t n;
    char **src, **tgt; /* [n] */
    char **blocks[64]; /* what read_lines gave: for free_lines */
    int n_blocks;
    int own_lines; /* 1: each line is a malloc of its own (synthetic) */
} split;

typedef struct { /* where to read, for messages too */
    const ab_host *host;
    const char *data_dir, *data; /* data: a folder's name in data_dir, or a path (with a '/') */
    const char *src, *tgt;       /* languages: the files' endings */
    int can_get;
} corpus_place;

/* Append the pairs of FOLDER/STEM.src and FOLDER/STEM.tgt for each stem of "a+b+c". 0, or -1 with words in
 * err: a file that is not there, or two files of unlike length. */
int corpus_read(split *s, const corpus_place *at, const char *key, const char *stems, char *err,
                size_t n_err);
void split_free(split *s, const ab_host *host);
#endif
