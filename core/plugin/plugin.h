/* plugin.h - opening plugins, the list of those at hand, and their parameters.
 *
 * A `plugin` lives until the program ends (shared objects are never closed). Nothing of a plugin runs before
 * all of its description was checked.
 */
#ifndef ABLATE_PLUGIN_H
#define ABLATE_PLUGIN_H
#include "api/ab_plugin.h"
#include "base/base.h"

typedef struct plugin {
    ab_plugin desc; /* widened to this host's struct */
    union {
#define MEMBER(NAME, name, doc) ab_##name##_plugin name;
        AB_KINDS(MEMBER)
#undef MEMBER
    } iface;
    char *path;
    char sha256[65]; /* of the file */
} plugin;

const char *plugin_kind_name(ab_kind kind); /* "attention", "position", ...: AB_KINDS of ab_plugin.h */

/* Where ab_plugin.h is, for plugins that are given by their source. */
void plugin_set_include(const char *folder);
const char *plugin_include(void);
/* The shared object of a plugin's C source, beside it: mine.c gives mine.so, built where it is missing, older than its source or than
 * ab_plugin.h. The caller's (free); NULL and a message. */
char *plugin_build(const char *source, err *e);
/* Opens one file, a shared object or its C source; an already open path gives the same plugin. NULL and words when it is refused. */
const plugin *plugin_load(const char *path, err *e);
/* A name looked for in the folders, or a path (contains '/' or ends with .so). kind 0: any. NULL and words,
 * with the nearest name at hand. */
const plugin *plugin_find(ab_kind kind, const char *name, err *e);
/* Folders to look in: FOLDER/KIND of every kind, and FOLDER itself. */
void plugin_add_folder(const char *folder);
void plugin_add_path(const char *folders); /* several, separated by colons; NULL and "" are none */
bool plugin_task_has_source(const char *name); /* false: a task of that name is at hand, and its models are decoders alone */
bool plugin_is_own(const plugin *p); /* it lies in the first folder, the program's */
/* Every plugin of the folders, loaded; refused ones are logged. The array is the list's own. */
const plugin *const *plugin_list(size_t *n);

/* Refuses sentences that a table of the plugin does not reach: one that has such a table names its length by a parameter `max_len`
 * (ab_plugin.h). cfg: its settings; needed: the longest sentence [tokens]; why: a clause for the message. 0, or -1 and words. */
int plugin_check_reach(const plugin *p, const void *cfg, int64_t needed, const char *why, err *e);

/* What the host offers to tasks, given by the program (plugin/ itself may not include metric/). */
typedef struct {
    int (*bleu)(const char *const *hyp, const char *const *ref, int64_t n, const char *tok, int lowercase,
                ab_bleu *out, char *err, size_t n_err);
    int (*read_lines)(const char *path, char ***lines, int64_t *n, char *err, size_t n_err);
    void (*free_lines)(char **lines);
    int (*f1)(const char *const *hyp, const char *const *gold, int64_t n, ab_f1 *out, char *err,
              size_t n_err);
} plugin_services;
int read_lines_service(const char *path, char ***lines, int64_t *n, char *err, size_t n_err); /* for read_lines: one block, ended by free_lines */
void free_lines_service(char **lines);
void plugin_set_services(const plugin_services *s);

extern ab_host host_table; /* what plugins call: host.c and attention_context.c */
void plugin_print(const plugin *p, FILE *f,
                  bool parameters); /* a line; with its parameters, docs and paper */
#endif
