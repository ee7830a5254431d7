/* open.h - parts of load.c for describe.c. */
#ifndef ABLATE_PLUGIN_OPEN_H
#define ABLATE_PLUGIN_OPEN_H
#include "network/plugin/plugin.h"

plugin *plugin_open_file(const char *full, err *e);
int plugin_open_described(err *e); /* opens those that were only described, here */
int plugin_check_param(const ab_plugin *p, const ab_option *q, const char *path, err *e);
/* Opens the file in a child process first: its constructors or damaged pages may kill the process. Then opens it here,
 * or, after plugin_describe_in, returns what the child says of it. */
plugin *plugin_open_tried(const char *path, const char *full, err *e);
#endif
