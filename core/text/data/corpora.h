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

typedef struct {     /* a piece of a text file; pieces with the same `out` are concatenated in order */
    const char *out; /* "train.en" */
    const download *from;
    const char *member; /* file or folder inside the tar archive; NULL: the download is the file itself */
    bool gzip;          /* the piece itself is gzipped, whether or not its archive is */
} piece;

typedef struct { /* a file of a treebank: the converter must produce a file with this sha256 */
    const char *out, *sha256;
    const download *articles; /* FORM_GENIA: a file with the numbers of its articles, one per line */
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
    const tree_form *trees; /* NULL: plain text; files that `trees` does not name, such as a licence, are only copied */
} corpus;

extern const corpus known_corpora[];
extern const int n_known_corpora;

/* Makes the folder dir/NAME with the corpus's files; keeps existing ones. Logs its steps. Returns -1 and e if there is
 * no network, a checksum differs (e has both), an archive lacks a member, or sides differ in length. */
int corpus_get(const corpus *c, const char *dir, err *e);
/* *here: number of the corpus's files that are in dir/NAME; *all: number of all its files. */
void corpus_state(const corpus *c, const char *dir, int *here, int *all);
int64_t corpus_download_bytes(const corpus *c); /* bytes of all of c's downloads */
#endif
