/* shell.h - runs a shell command with text on its standard input; waits for processes. */
#ifndef ABLATE_SHELL_H
#define ABLATE_SHELL_H
#include "base/base.h"
#include <sys/types.h>

/* Starts `command` by /bin/sh with n bytes on its standard input; it inherits no other file. out: receives its standard
 * output; NULL: it shares this process's. wait: returns when it has ended (always with out). Returns its wait status, 0
 * without wait; -1 and errno if it could not be started. */
int shell_run(const char *command, const char *in, size_t n, str *out, bool wait);
/* Waits for a child's end, also when signals interrupt. Returns its wait status; -1 and errno: pid is no child. */
int process_wait(pid_t pid);
#endif
