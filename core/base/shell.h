/* shell.h - a line for the shell, with text on its standard input. */
#ifndef ABLATE_SHELL_H
#define ABLATE_SHELL_H
#include "base/base.h"

/* Starts `command` by /bin/sh with n bytes on its standard input; it has no other file of this process. out: gets what
 * it prints on standard output, or NULL: that goes where this process's goes. wait: until it ends (always with out).
 * Returns its wait status, 0 without wait; -1 and errno if it could not be started. */
int shell_run(const char *command, const char *in, size_t n, str *out, bool wait);
#endif
