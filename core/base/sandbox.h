/* sandbox.h - shuts a process in, with plain system calls: it may write only below given folders and reach no network.
 * Reading stays free. For code that someone else wrote: plugins are programs.
 *
 * Landlock (Linux 5.13) keeps it from creating, changing, renaming and removing files, and from 6.12 on from signals to
 * other processes; seccomp from sockets other than local ones, and from io_uring, tracing other processes and writing
 * their memory. What it has open stays open. Children inherit it, and nothing takes it back. */
#ifndef ABLATE_SANDBOX_H
#define ABLATE_SANDBOX_H
#include "base/base.h"

/* Does this kernel have it? NULL, or why not. */
const char *sandbox_missing(void);
/* Before the process starts threads. Devices: below /dev only /dev/null, or all (a GPU's). 0, or -1 and e. */
int sandbox_enter(const char *const *writable, size_t n, bool devices, err *e);
#endif
