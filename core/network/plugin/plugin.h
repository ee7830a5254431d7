/* plugin.h - opens plugins, lists the available ones, and describes their parameters.
 *
 * A `plugin` lives until the program ends (shared objects are never closed). No code of a plugin runs before its
 * whole description was checked.
 */
#ifndef ABLATE_PLUGIN_H
#define ABLATE_PLUGIN_H
#include "api/ab_plugin.h"
#include "base/base.h"
#include "network/settings/plugin_files.h"

typedef struct plugin {
    ab_plugin desc; /* widened to this host's struct */
    union {
#define MEMBER(NAME, name, ...) ab_##name##_plugin name;
        AB_KINDS(MEMBER)
#undef MEMBER
    } iface;
    char *path;
    char sha256[65]; /* plugin_hash of its file */
    bool described;  /* by a child process; this one has none of its functions (plugin_describe_in) */
} plugin;

const char *plugin_kind_name(ab_kind kind); /* "attention", "position", ...: AB_KINDS of ab_plugin.h */

/* Folder of ab_plugin.h, for plugins given as source files. */
void plugin_set_include(const char *folder);
const char *plugin_include(void);
/* The folder of the module `ablate` for Python; the caller frees. NULL and e. */
char *plugin_python_folder(err *e);
/* Call before a sandbox closes, which starts no process: finds Python for a Python file, builds a C source. Returns
 * the file to open, which the caller frees; NULL and e. */
char *plugin_prepare(const char *path, err *e);
/* The shared object next to a plugin's C source: mine.c gives mine.so, rebuilt if missing or older than its source or
 * ab_plugin.h. The caller frees the path; NULL and e on failure. */
char *plugin_build(const char *source, err *e);
/* Opening runs a plugin's code. So plugin_load, plugin_open and plugin_add_path take only what the user named, on the
 * command line or in the INI of `run`, or what the host of a worker read from it. All else that names plugins (a
 * database, a record, a model) goes to plugin_find. */

/* Opens one file, a shared object, its C source or a Python file; an open path returns the same plugin. NULL and e if
 * it is refused. */
const plugin *plugin_load(const char *path, err *e);
bool plugin_is_path(const char *name); /* contains '/' or has a plugin_suffix */
/* Opens a path, or finds a name. kind 0: any. NULL and e. */
const plugin *plugin_open(ab_kind kind, const char *name, err *e);
/* From now on other people's files are opened in child processes that enter a sandbox by `shut`. This process knows
 * only the children's descriptions of these files and cannot make models with them. */
void plugin_describe_in(int (*shut)(err *e));
int plugin_open_described(err *e); /* in a child in the sandbox: opens the files described so far */
/* Counts with plugins' functions: in a child in the sandbox if this process only describes plugins. NAN and e. */
double plugin_count_apart(double (*count)(void *self, err *e), void *self, err *e);
/* Finds a name in the folders, or an open plugin by its path; opens no path. kind 0: any. NULL and e, with the nearest
 * available name. */
const plugin *plugin_find(ab_kind kind, const char *name, err *e);
/* Folders to search: FOLDER/KIND of every kind, and FOLDER itself. */
void plugin_add_folder(const char *folder);
void plugin_add_path(const char *folders);     /* several, separated by colons; NULL or "": adds none */
bool plugin_task_has_source(const char *name); /* false: the task exists and its models are decoder-only */
bool plugin_is_own(const plugin *p);           /* its file is in the first folder, the program's */
typedef void (*plugin_file)(const char *path, void *self);
void plugin_each_file(plugin_file f, void *self); /* the files of the folders, which it does not open */
/* Loads every plugin of the folders; logs refused ones. The array belongs to the list. */
const plugin *const *plugin_list(size_t *n);

/* Refuses sentences longer than the plugin's table; a plugin with such a table has a parameter `max_len` (ab_plugin.h).
 * cfg: its settings; needed: the longest sentence [tokens]; why: a clause for the message. Returns 0, or -1 and e. */
int plugin_check_reach(const plugin *p, const void *cfg, int64_t needed, const char *why, err *e);

/* The host's services for tasks, set by the program (plugin/ may not include metric/). */
#define PLUGIN_NO_SERVICE(...)
#define PLUGIN_SERVICE(result, name, parameters) result(*name) parameters;
typedef struct {
    AB_HOST(PLUGIN_NO_SERVICE, PLUGIN_NO_SERVICE, PLUGIN_SERVICE)
} plugin_services;
/* read_lines: one block, freed by free_lines */
int read_lines_service(const char *path, char ***lines, int64_t *n, char *err, size_t n_err);
void free_lines_service(char **lines);
void plugin_set_services(const plugin_services *s);

extern ab_host host_table; /* the table that plugins call (host_table.c) */
void plugin_print(const plugin *p, FILE *f,
                  bool parameters); /* one line; with parameters also their docs and the paper */
#endif
