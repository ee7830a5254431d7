/* fetch.h - downloads and unpacking by the programs that every machine has (curl or wget, tar, gzip), without
 * a shell. */
#ifndef ABLATE_FETCH_H
#define ABLATE_FETCH_H
#include "data/corpora.h"

/* The download as a file with the right checksum: `path`. A broken download goes on where it stopped. 0, or
 * -1 and e. */
int fetch_download(const download *d, const char *path, err *e);

/* Append piece p of the downloaded file `from` to the file `to`; `scratch` is a file's name that may be used
 * meanwhile. */
int fetch_unpack(const piece *p, const char *from, const char *to, const char *scratch, err *e);
#endif
