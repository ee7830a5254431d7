/* corpus.h - parallel text files of a corpus, and defaults for well-known corpora. */
#ifndef CORPUS_H
#define CORPUS_H
#include "ab_plugin.h"

typedef struct { /* defaults of a corpus by its folder's name */
    const char *name, *train, *dev, *test;
    const char *tok; /* BLEU's tokenisation; none for tokenised text */
    int can_get;     /* `ablate data get NAME` fetches it */
} corpus_defaults;
/* For an unknown name: train, dev, test, 13a. */
const corpus_defaults *corpus_find(const char *name);

typedef struct { /* lines of one split; owns all memory until split_free */
    int64_t n;
    char **src, **tgt; /* [n] */
    char **blocks[64]; /* from read_lines, for free_lines */
    int n_blocks;
    int own_lines; /* 1: each line is malloc'd separately (synthetic) */
} split;

typedef struct { /* where to read; also for messages */
    const ab_host *host;
    const char *data_dir, *data; /* data: a folder's name in data_dir, or a path (with a '/') */
    const char *src, *tgt;       /* languages: the files' extensions */
    int can_get;
} corpus_place;

/* Appends the pairs of FOLDER/STEM.src and FOLDER/STEM.tgt for each stem of "a+b+c". Returns 0, or -1 with a message
 * in err: a missing file, or two files of different length. */
int corpus_read(split *s, const corpus_place *at, const char *key, const char *stems, char *err, size_t n_err);
void split_free(split *s, const ab_host *host);
#endif
