/* list.h - the printers behind `ablate list`; each returns the exit code. */
#ifndef ABLATE_COMMANDS_LIST_H
#define ABLATE_COMMANDS_LIST_H
#include "cli/options.h"

/* kind: NULL (all), KIND, KIND/NAME or a plugin's file. (plugins.c) */
int plugins_list(const invocation *c, const char *kind, bool json);
int corpora_list(const char *folder, bool json); /* data.c */
#endif
