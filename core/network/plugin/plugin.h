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
    ab_plugin desc; /* the plugin's description; fields that an older plugin lacks are 0 */
    union {
#define MEMBER(NAME, name, ...) ab_##name##_plugin name;
        AB_KINDS(MEMBER)
#undef MEMBER
    } iface;
    char *path;
    char sha256[65]; /* plugin_hash of its file */
    bool described;  /* described by a child process; its functions cannot be called here (plugin_describe_in) */
} plugin;

const char *plugin_kind_name(ab_kind kind); /* "attention", "position", ...: AB_KINDS of ab_plugin.h */

/* The folder of ab_plugin.h, for compiling plugins. */
void plugin_set_include(const char *folder);
const char *plugin_include(void);
/* The folder of Python's module `ablate`; the caller frees. Returns NULL and e on failure. */
char *plugin_python_folder(err *e);
/* Call before entering a sandbox, in which no process starts: finds Python for a Python file, compiles a C source.
 * Returns the file to open, which the caller frees; NULL and e on failure. */
char *plugin_prepare(const char *path, err *e);
/* Returns the shared object next to a plugin's C source (mine.c gives mine.so), recompiled if missing or older than its
 * source or ab_plugin.h. The caller frees the path; NULL and e on failure. */
char *plugin_build(const char *source, err *e);
/* Opening a plugin runs its code. So plugin_load, plugin_open and plugin_add_path accept only names from the user: on
 * the command line or in the INI of `run`, or passed on to a worker. Names from elsewhere (a database, a record, a
 * model) go to plugin_find. */

/* Opens a shared object, a C source or a Python file; opening a path again returns the same plugin. NULL and e on
 * failure. */
const plugin *plugin_load(const char *path, err *e);
bool plugin_is_path(const char *name); /* does the name contain '/' or have a plugin_suffix? */
/* Opens a path, or finds a name. kind 0: any kind. Returns NULL and e on failure. */
const plugin *plugin_open(ab_kind kind, const char *name, err *e);
/* From now on opens other people's files in child processes that call `shut` to enter a sandbox. This process has only
 * the children's descriptions of these files and cannot make models with them. */
void plugin_describe_in(int (*shut)(err *e));
int plugin_open_described(err *e); /* call it in a child in the sandbox: really opens the files described so far */
/* Calls `count`; if this process has only descriptions of plugins, in the sandbox. NAN and e on failure. */
double plugin_count_apart(double (*count)(void *self, err *e), void *self, err *e);
/* Finds a plugin by name in the folders, or an open plugin by path; opens no path. kind 0: any kind. Returns NULL and
 * e, which names the most similar plugin, if there is none. */
const plugin *plugin_find(ab_kind kind, const char *name, err *e);
/* Folders to search: FOLDER/KIND of every kind, and FOLDER itself. */
void plugin_add_folder(const char *folder);
void plugin_add_path(const char *folders);     /* several folders, separated by colons; NULL or "": none */
bool plugin_task_has_source(const char *name); /* false: the task exists, and its models are decoder-only */
bool plugin_is_own(const plugin *p);           /* is p's file in the first folder, the program's own? */
typedef void (*plugin_file)(const char *path, void *self);
void plugin_each_file(plugin_file f, void *self); /* calls f for each file in the folders; opens no file */
/* Loads every plugin in the folders; logs refused plugins. The array belongs to the callee. */
const plugin *const *plugin_list(size_t *n);

/* Refuses sentences longer than the plugin's table, which its parameter `max_len` limits (ab_plugin.h). cfg: its
 * settings; needed: the longest sentence [tokens]; why: a clause for the message. Returns 0, or -1 and e. */
int plugin_check_reach(const plugin *p, const void *cfg, int64_t needed, const char *why, err *e);

/* The host's services for tasks. The program sets them, because plugin/ may not include metric/. */
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
                  bool parameters); /* prints one line; `parameters`: also parameters, docs and the paper */
#endif
