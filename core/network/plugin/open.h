/* open.h - parts of load.c for describe.c. */
#ifndef ABLATE_PLUGIN_OPEN_H
#define ABLATE_PLUGIN_OPEN_H
#include "network/plugin/plugin.h"

enum { TRIED = 117 }; /* exit status of the child that opens a plugin first: no constructor's exit(0) looks like it */
/* Words for a child that did not end with TRIED or TRIED + 1. */
int plugin_child_ended(const char *path, int status, err *e);
plugin *plugin_open_file(const char *full, err *e);
int plugin_check_param(const ab_plugin *p, const ab_option *q, const char *path, err *e);
/* Opens the file in a child in the sandbox of plugin_describe_in, and returns what the child says of it. */
plugin *plugin_describe(const char *path, const char *full, err *e);
bool plugin_describes(void);
int plugin_open_described(err *e); /* opens those that were only described, here */
#endif
