/* plugin_files.h - files of plugins: shared objects, C sources and Python files. */
#ifndef ABLATE_PLUGIN_FILES_H
#define ABLATE_PLUGIN_FILES_H
#include "base/base.h"

/* Length of the suffix that marks a plugin's file: .so, .c or .py; 0 if there is no such suffix. */
size_t plugin_suffix(const char *value);
/* SHA-256 of a plugin's file. A Python file is hashed with all its sources and the version of this program. */
int plugin_hash(const char *path, char out[65], err *e);
/* Calls f for a C or Python source and for each file of its folder that it includes or imports, directly or not. Stops
 * when f fails. */
typedef int (*plugin_source)(const char *folder, const char *name, void *self, err *e);
int plugin_each_source(const char *path, plugin_source f, void *self, err *e);
#endif
