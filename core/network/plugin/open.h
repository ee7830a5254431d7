/* open.h - functions shared by load.c, describe.c and mapped.c. */
#ifndef ABLATE_PLUGIN_OPEN_H
#define ABLATE_PLUGIN_OPEN_H
#include "network/plugin/plugin.h"

plugin *plugin_open_file(const char *full, err *e);
int plugin_check_param(const ab_plugin *p, const ab_option *q, const char *path, err *e);
/* Opens the file in a child process first, because constructors or damaged pages may kill the process. Then opens it
 * here, or, after plugin_describe_in, returns the child's description. */
plugin *plugin_open_tried(const char *path, const char *full, err *e);

/* Does an address, such as a description's pointer, lie inside the data of a loaded program or library? */
size_t mapped_from(const void *p, bool writable); /* bytes from p to the end of its segment; 0: p is in no segment */
void mapped_anywhere(bool yes);     /* true: from now on every address counts as mapped, for descriptions from Python */
bool mapped_text(const char *s);    /* does the text end with 0 inside its segment? */
bool mapped_list(const void *list); /* does the list of pointers end with NULL inside its segment? */
#endif
