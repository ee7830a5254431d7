/* file.h - gives a fuzz target's bytes a path, for functions that read files. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Writes the bytes to a file in memory and returns its path, valid until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t n)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, n, 0) != (ssize_t)n) abort();
    return path;
}

/* Aborts unless `holds`; libFuzzer reports that as a failure. */
static inline void must(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    abort();
}
#endif
