/* corpora.h - corpora that the program knows where to get, with the checksums of their files.
 *
 * A corpus becomes one folder of plain text files (train.en, train.de, ...), each joined from pieces of the
 * public downloads. Downloads are kept in FOLDER/downloads, are resumed after a break, and count only when
 * their sha256 is right. $ABLATE_DATA_MIRROR, when set, takes the place of every "https://": the host's name
 * becomes a folder there.
 */
#ifndef ABLATE_CORPORA_H
#define ABLATE_CORPORA_H
#include "base/base.h"

typedef struct { /* one downloaded file */
    const char *url;
    int64_t bytes;
    const char *sha256; /* 64 hexadecimal digits */
} download;

typedef struct {     /* a piece of one text file; pieces of the same `out` are joined in their order */
    const char *out; /* "train.en" */
    const download *from;
    const char *
        member; /* name inside the tar archive, of a file or a folder; NULL: the download is the file itself */
    bool gzip;  /* the piece itself is gzipped (besides a .tgz around it) */
} piece;

typedef struct { /* a file of a treebank as it should come out of the converter */
    const char *out, *sha256;
    const download *articles; /* FORM_GENIA: whose trees it has, numbers, one a line */
} tree_file;

typedef struct { /* how pieces become trees in brackets, one a line (brackets.h) */
    enum { FORM_BRACKETS, FORM_GENIA } form;
    const tree_file *file;
    int n;
} tree_form;

typedef struct {
    const char *name, *about, *licence;
    const piece *pieces;
    int n_pieces;
    const tree_form *
        trees; /* NULL: text as it is; else files that it does not name, such as a licence, are as they are */
} corpus;

extern const corpus known_corpora[];
extern const int n_known_corpora;

/* Make folder dir/NAME with every file of the corpus; files that are there already are left alone. Says on
 * the log what it does. 0, or -1 and e: no network, a wrong checksum (both sums named), an archive without a
 * member, sides of unlike length. */
int corpus_get(const corpus *c, const char *dir, err *e);
/* How many of the corpus's files are in dir/NAME, and how many there should be. */
void corpus_state(const corpus *c, const char *dir, int *here, int *all);
int64_t corpus_download_bytes(const corpus *c); /* of all its downloads */
#endif
