/* parsing_task.h - for tests of the task parsing: opens the plugin as the program does, and writes files for it. */
#ifndef ABLATE_TEST_PARSING_H
#define ABLATE_TEST_PARSING_H
#include "services.h"
#include "network/settings/config.h"
#include <unistd.h>

typedef struct {
    const ab_task_plugin *task;
    void *self; /* NULL: the task was refused, and `words` has the message */
    char message[2048];
    arena memory;
} parsing_task;

static inline const plugin *parsing_plugin(void)
{
    err e = {0};
    const plugin *p = plugin_find(AB_TASK, "parsing", &e);
    if (!p) {
        printf("skipped: %s\n", e.text);
        exit(77);
    }
    return p;
}

/* Opens the task. text: settings "key=value key=value", without the prefix "parsing."; no_data as in ab_env. */
static inline parsing_task parsing_open(const char *text, const char *data_dir, bool no_data)
{
    parsing_task t = {.task = &parsing_plugin()->iface.task};
    const ab_plugin *d = &parsing_plugin()->desc;
    settings set = {0};
    err e = {0};
    char *rest = arena_strdup(&t.memory, text);
    for (char *one; (one = strtok_r(NULL, " ", &rest));) {
        char *value = strchr(one, '=');
        *value++ = 0;
        settings_set(&set, arena_printf(&t.memory, "parsing.%s", one), value, &t.memory);
    }
    void *cfg = arena_alloc(&t.memory, d->cfg_size + 16);
    CHECK_INT(config_bind(&set, "parsing", d->params, cfg, &t.memory, &e), 0);
    CHECK_TEXT(e.text, "");
    ab_env env = {.data_dir = data_dir, .seed = 1, .no_data = no_data};
    if (t.task->open(&t.self, cfg, &host_table, &env, t.message, sizeof t.message)) t.self = NULL;
    return t;
}

static inline void parsing_close(parsing_task *t)
{
    if (t->self) t->task->close(t->self);
    arena_free(&t->memory);
}

static char test_folder[] = "/tmp/ablate-parsing-XXXXXX";
static inline void make_test_folder(void)
{
    if (!mkdtemp(test_folder)) exit(1);
}
static inline void remove_test_folder(void)
{
    char *command = xprintf("rm -r '%s'", test_folder);
    CHECK_INT(system(command), 0);
    free(command);
}

static inline void write_bytes(const char *name, const void *text, size_t n)
{
    err e = {0};
    char *path = path_join(test_folder, name), *folder = xstrdup(path), *slash = strrchr(folder, '/');
    *slash = 0;
    CHECK_INT(make_folders(folder, &e) | file_write(path, text, n, &e), 0);
    CHECK_TEXT(e.text, "");
    free(path);
    free(folder);
}
static inline void write_text(const char *name, const char *text) { write_bytes(name, text, strlen(text)); }

/* Checks source and target of example i of a split. */
static inline void check_example(const parsing_task *t, ab_split s, int64_t i, const char *src, const char *tgt)
{
    ab_example x = {0};
    CHECK(t->self != NULL);
    if (!t->self || i >= t->task->count(t->self, s)) {
        printf("no example %lld: %s\n", (long long)i, t->message);
        CHECK_INT(0, 1);
        return;
    }
    t->task->get(t->self, s, i, &x);
    CHECK_TEXT(x.src, src);
    CHECK_TEXT(x.tgt, tgt);
}
#endif
