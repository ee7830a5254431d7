/* plugin_files.h - files of plugins: shared objects, C sources and Python files. */
#ifndef ABLATE_PLUGIN_FILES_H
#define ABLATE_PLUGIN_FILES_H
#include "base/base.h"

/* Bytes of the ending that makes a value a plugin's file: .so, .c or .py; 0: none. */
size_t plugin_suffix(const char *value);
/* SHA-256 of a plugin's file; of a Python file with all its sources and the version of the program that runs it. */
int plugin_hash(const char *path, char out[65], err *e);
/* Calls f for a source, in C or Python, and for each file of its folder that it includes or imports, directly or not;
 * ends if f fails. */
typedef int (*plugin_source)(const char *folder, const char *name, void *self, err *e);
int plugin_each_source(const char *path, plugin_source f, void *self, err *e);
#endif
