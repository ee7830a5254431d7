/* open.h - functions shared by load.c, describe.c and mapped.c. */
#ifndef ABLATE_PLUGIN_OPEN_H
#define ABLATE_PLUGIN_OPEN_H
#include "network/plugin/plugin.h"

plugin *plugin_open_file(const char *full, err *e);
int plugin_check_param(const ab_plugin *p, const ab_option *q, const char *path, err *e);
/* Opens the file in a child process first: its constructors or damaged pages may kill the process. Then opens it here,
 * or, after plugin_describe_in, returns what the child says of it. */
plugin *plugin_open_tried(const char *path, const char *full, err *e);

/* Is an address inside the data of a loaded program or library? For what a description points at. */
size_t mapped_from(const void *p, bool writable); /* bytes from p to the end of its segment; 0: none */
void mapped_anywhere(bool yes);     /* true: every address counts as mapped, for descriptions that Python made */
bool mapped_text(const char *s);    /* ends with 0 inside its segment */
bool mapped_list(const void *list); /* a list of pointers that ends with NULL inside its segment */
#endif
