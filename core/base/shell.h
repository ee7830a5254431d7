/* shell.h - runs a shell command with text on its standard input; waits for processes. */
#ifndef ABLATE_SHELL_H
#define ABLATE_SHELL_H
#include "base/base.h"
#include <sys/types.h>

/* Starts `command` by /bin/sh with the n bytes `in` as standard input; it inherits no file beyond 0, 1 and 2. out:
 * receives its standard output; NULL: the output goes where this process's goes. wait: returns when the command has
 * ended (always with out). Returns the wait status (0 without wait), or -1 and errno if nothing could be started. */
int shell_run(const char *command, const char *in, size_t n, str *out, bool wait);
/* Waits for a child's end, also when signals interrupt. Returns its wait status; -1 and errno: pid is no child. */
int process_wait(pid_t pid);
#endif
