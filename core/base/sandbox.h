/* sandbox.h - confines a process by plain system calls: it may write only below given folders and reach no network,
 * no other process, no device and no terminal. Reading stays allowed. For code by others: plugins are programs.
 *
 * Landlock (Linux 5.13) keeps it from creating, changing, renaming and removing files; seccomp refuses, by number, what
 * Landlock does not cover: modes, owners, times and attributes of files, sockets, terminals, signals, tracing, limits
 * and priorities of others, System V memory, mounts, modules. Open files stay open. Children inherit the sandbox, and
 * nothing lifts it. */
#ifndef ABLATE_SANDBOX_H
#define ABLATE_SANDBOX_H
#include "base/base.h"

enum {
    SANDBOX_GPU = 1,  /* allows writing to /dev/nvidia* */
    SANDBOX_ALONE = 2 /* forbids new processes and changed limits */
};

/* Returns NULL if this kernel can confine a process, else the reason why it cannot. */
const char *sandbox_missing(void);
/* Confines this process; call before it starts threads. 0, or -1 and e. */
int sandbox_enter(const char *const *writable, size_t n, int flags, err *e);
/* Writes one line for the user: what this kernel cannot refuse. */
const char *sandbox_words(char out[256]);
#endif
