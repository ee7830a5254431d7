/* world.h - for tests that train: the task `sequence` with data and vocabularies, and settings of a small model that
 * tests change. */
#ifndef ABLATE_TEST_WORLD_H
#define ABLATE_TEST_WORLD_H
#include "text/data/dataset.h"
#include "network/model/model.h"

typedef struct {
    arena memory;
    settings set;
    const ab_task_plugin *task;
    void *self;
    vocab *src, *tgt;
    dataset data;
    char folder[64]; /* the test's own */
} world;

static inline void put(world *w, const char *key, const char *value) { settings_set(&w->set, key, value, &w->memory); }

/* Sets every setting to its default, or to its value in `small` [n]. train_examples: the value of
 * sequence.train_examples, such as "64"; NULL: its default. */
static inline void world_open(world *w, const char *const (*small)[2], size_t n, const char *train_examples)
{
    *w = (world){0};
    err e = {0};
    for (const ab_option *p = config_params; p->name; p++) put(w, p->name, param_default(p, &w->memory));
    for (size_t i = 0; i < n; i++) put(w, small[i][0], small[i][1]);
    const plugin *p = plugin_find(AB_TASK, "sequence", &e);
    if (!p) broken("%s", e.text);
    void *cfg = arena_alloc(&w->memory, p->desc.cfg_size);
    settings own = {0};
    if (train_examples) settings_set(&own, "sequence.train_examples", train_examples, &w->memory);
    if (config_bind(&own, "sequence", p->desc.params, cfg, &w->memory, &e)) broken("%s", e.text);
    char words[256] = "";
    ab_env env = {.data_dir = "", .seed = 1};
    w->task = &p->iface.task;
    if (w->task->open(&w->self, cfg, &host_table, &env, words, sizeof words)) broken("%s", words);
    if (dataset_vocabs(w->task, w->self, true, TOKENS_WORDS, 0, false, NULL, &w->src, &w->tgt, &e) ||
        dataset_build(&w->data, w->task, w->self, w->src, w->tgt, 0, &e))
        broken("%s", e.text);
}

static inline void world_close(world *w)
{
    dataset_free(&w->data);
    if (w->tgt != w->src) vocab_free(w->tgt);
    vocab_free(w->src);
    w->task->close(w->self);
    arena_free(&w->memory);
}
#endif
