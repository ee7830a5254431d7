/* opened_task.h - for tests of tasks that generate their examples: opens a task with settings given as text. */
#ifndef ABLATE_TEST_OPENED_TASK_H
#define ABLATE_TEST_OPENED_TASK_H
#include "network/settings/config.h"
#include "network/plugin/plugin.h"
#include "test.h"

typedef struct {
    const ab_task_plugin *t;
    void *self;
    arena memory;
} opened;

/* Opens a task with settings_text "kind=mqar length=32". Returns what the task's open returns, and its message. */
static inline int open_with(opened *o, const char *task, const char *settings_text, char *message, size_t n_message)
{
    err e = {0};
    settings set = {0};
    *o = (opened){0};
    const plugin *p = plugin_find(AB_TASK, task, &e);
    if (!p) broken("%s", e.text);
    char *text = arena_strdup(&o->memory, settings_text);
    for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
        char *value = strchr(at, '=');
        *value++ = 0;
        settings_set(&set, arena_printf(&o->memory, "%s.%s", task, at), value, &o->memory);
    }
    void *cfg = arena_alloc(&o->memory, p->desc.cfg_size);
    if (config_bind(&set, task, p->desc.params, cfg, &o->memory, &e)) broken("%s", e.text);
    o->t = &p->iface.task;
    return o->t->open(&o->self, cfg, &host_table, &(ab_env){.data_dir = "", .seed = 1}, message, n_message);
}

static inline void close_opened(opened *o)
{
    if (o->self) o->t->close(o->self);
    arena_free(&o->memory);
}

/* Reads the numbers of a line; words that are not numbers, such as AB_NO_LABEL, "+" and "=", give -1. */
static inline int64_t numbers(const char *line, int32_t *out)
{
    int64_t n = 0;
    for (const char *s = line; *s; s += strcspn(s, " "), s += *s == ' ')
        out[n++] = *s >= '0' && *s <= '9' ? atoi(s) : -1;
    return n;
}
#endif
