/* corpora.h - corpora that the program can download, with the checksums of their files.
 *
 * A corpus becomes one folder of plain text files (train.en, train.de, ...), each joined from pieces of the
 * public downloads. Downloads are kept in FOLDER/downloads, resumed after an interruption, and used only if
 * their sha256 matches. If $ABLATE_DATA_MIRROR is set, it replaces every "https://", and the host name is a
 * folder there. */
#ifndef ABLATE_CORPORA_H
#define ABLATE_CORPORA_H
#include "base/base.h"

typedef struct { /* one downloaded file */
    const char *url;
    int64_t bytes;
    const char *sha256; /* 64 hexadecimal digits */
} download;

typedef struct {     /* a piece of one text file; pieces with the same `out` are joined in order */
    const char *out; /* "train.en" */
    const download *from;
    const char *member; /* name inside the tar archive, of a file or a folder; NULL: the download is the file itself */
    bool gzip;          /* the piece itself is gzipped (besides a .tgz around it) */
} piece;

typedef struct { /* a file of a treebank, as expected from the converter */
    const char *out, *sha256;
    const download *articles; /* FORM_GENIA: numbers of its articles, one per line */
} tree_file;

typedef struct { /* how pieces become bracketed trees, one per line (brackets.h) */
    enum { FORM_BRACKETS, FORM_GENIA } form;
    const tree_file *file;
    int n;
} tree_form;

typedef struct {
    const char *name, *about, *licence;
    const piece *pieces;
    int n_pieces;
    const tree_form *trees; /* NULL: plain text; files that it does not name, such as a licence, are unchanged */
} corpus;

extern const corpus known_corpora[];
extern const int n_known_corpora;

/* Makes folder dir/NAME with the corpus's files; keeps existing ones. Logs what it does. -1 and e: no network, a wrong
 * checksum (with both sums), an archive without a member, sides of different length. */
int corpus_get(const corpus *c, const char *dir, err *e);
/* Numbers of the corpus's files that are in dir/NAME and of all its files. */
void corpus_state(const corpus *c, const char *dir, int *here, int *all);
int64_t corpus_download_bytes(const corpus *c); /* bytes of all its downloads */
#endif
