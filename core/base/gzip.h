/* gzip.h - gzip files (RFC 1952), by zlib. */
#ifndef ABLATE_GZIP_H
#define ABLATE_GZIP_H
#include "base/base.h"

/* Reads a regular file and unpacks it if it is gzip; a file named X.gz must be gzip. Refuses content of more than
 * `most` bytes, and content over 64 MB that is over a hundred times the file's size. */
int gzip_read(const char *path, size_t most, str *out, err *e);
/* Appends a gzip file's content to the open file `to`, part by part. */
int gzip_unpack(const char *path, int to, err *e);
/* Writes a file, packed if its name ends in .gz. Equal bytes give equal files: no time is stored. */
int gzip_write(const char *path, const void *data, size_t n, err *e);
#endif
