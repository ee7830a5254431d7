/* sandbox.h - shuts a process in, with plain system calls: it may write only below given folders and reach no network,
 * no other process, no device and no terminal. Reading stays free. For code that someone else wrote: plugins are
 * programs.
 *
 * Landlock (Linux 5.13) keeps it from creating, changing, renaming and removing files; seccomp refuses, by number, what
 * Landlock does not cover: modes, owners, times and attributes of files, sockets, terminals, signals, tracing, limits
 * and priorities of others, System V memory, mounts, modules. What it has open stays open. Children inherit it, and
 * nothing lifts it. */
#ifndef ABLATE_SANDBOX_H
#define ABLATE_SANDBOX_H
#include "base/base.h"

enum {
    SANDBOX_GPU = 1,  /* the files /dev/nvidia* may be written */
    SANDBOX_ALONE = 2 /* it starts no process and keeps its limits */
};

/* Does this kernel have it? NULL, or why not. */
const char *sandbox_missing(void);
/* Before the process starts threads. 0, or -1 and e. */
int sandbox_enter(const char *const *writable, size_t n, int flags, err *e);
/* One line for the user: what this kernel cannot refuse. */
const char *sandbox_words(void);
#endif
