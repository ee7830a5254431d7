/* fetch.h - downloads and unpacks with common programs (curl or wget, tar), without a shell. */
#ifndef ABLATE_FETCH_H
#define ABLATE_FETCH_H
#include "text/data/corpora.h"

/* Downloads to the file `path`, resuming an interrupted download, and verifies the checksum. Returns 0, or -1 and e. */
int fetch_download(const download *d, const char *path, err *e);

/* Appends piece p of the downloaded file `from` to the file `to`; `scratch` names a temporary file it may use. */
int fetch_unpack(const piece *p, const char *from, const char *to, const char *scratch, err *e);
#endif
