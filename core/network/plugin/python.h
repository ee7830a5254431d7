/* python.h - plugins given as Python files (docs/python.md). Python's library is opened only for such a file. */
#ifndef ABLATE_PLUGIN_PYTHON_H
#define ABLATE_PLUGIN_PYTHON_H
#include "network/plugin/plugin.h"

/* A file's description, written by Python: `Answer` in python/ablate/_native.py has the same fields. */
typedef struct {
    const ab_plugin *plugin; /* lives until the program ends; NULL: `error` is set */
    char error[2000];
} python_answer;

/* Finds Python ($ABLATE_PYTHON or python3) and its library, once for this process and its children. Starts a process to
 * find it. Returns 0, or -1 and e, which says what to install. */
int python_find(err *e);
/* Runs the file and describes its plugin. Returns NULL and e, with the faulty line, on failure. */
const ab_plugin *python_describe(const char *path, err *e);
/* Gives a message about the plugin at `path` Python's names for functions and constants if it is a Python file. */
void python_reword(const char *path, char *message, size_t size);
/* Gives Python's objects other addresses in this process, and other hashes unless Python has started. number: from 1;
 * all processes that do not call this have equal hashes, so that a resumed run does not depend on them. */
void python_differ(int number);
#endif
