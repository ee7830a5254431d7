/* python.h - plugins given as Python files (docs/python.md). Nothing links Python: only such a file opens it. */
#ifndef ABLATE_PLUGIN_PYTHON_H
#define ABLATE_PLUGIN_PYTHON_H
#include "network/plugin/plugin.h"

/* A file's description. Python writes it: `Answer` in python/ablate/_native.py has the same fields. */
typedef struct {
    const ab_plugin *plugin; /* lives until the program ends; NULL: error */
    char error[2000];
} python_answer;

/* Finds Python, $ABLATE_PYTHON or python3, and its library, once for this process and those that it starts. Starts a
 * process. 0, or -1 and e, which says what to install. */
int python_find(err *e);
/* Runs the file and describes its plugin. NULL and e, with the line of the file at fault. */
const ab_plugin *python_describe(const char *path, err *e);
#endif
