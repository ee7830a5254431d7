/* tasks.h - loads task plugins as the host does, with a small host in place of the real one. */
#ifndef ABLATE_TEST_TASKS_H
#define ABLATE_TEST_TASKS_H
#include "text/data/dataset.h"
#include "test.h"
#include <dlfcn.h>

/* ---- a small host ---- */

static char asked_tok[16];
static int asked_lowercase;

/* Stands in for BLEU: its number shows which lines arrived. */
static inline int mock_bleu(const char *const *hyp, const char *const *ref, int64_t n, const char *tok, int lowercase,
                            ab_bleu *out, char *words, size_t n_words)
{
    static double stats[100000][10];
    (void)words, (void)n_words;
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++) {
        stats[i][0] = !strcmp(hyp[i], ref[i]);
        right += !strcmp(hyp[i], ref[i]);
    }
    snprintf(asked_tok, sizeof asked_tok, "%s", tok);
    asked_lowercase = lowercase;
    *out = (ab_bleu){.value = 100.0 * (double)right / (double)n, .signature = "mock", .stats = stats[0]};
    return 0;
}

static inline int mock_read_lines(const char *path, char ***lines, int64_t *n, char *words, size_t n_words)
{
    str text = {0};
    err e = {{0}};
    size_t count = 0;
    if (file_lines(path, &text, lines, &count, &e)) {
        snprintf(words, n_words, "%s", e.text);
        return -1;
    }
    /* one allocation: pointers, then the text */
    char **block = xmalloc((count + 1) * sizeof *block + text.n + 1), *copy = (char *)(block + count + 1);
    memcpy(copy, text.s ? text.s : "", text.n + 1);
    for (size_t i = 0; i < count; i++) block[i] = copy + ((*lines)[i] - text.s);
    free(*lines);
    str_free(&text);
    *lines = block;
    *n = (int64_t)count;
    return 0;
}

static inline void mock_free_lines(char **lines) { free(lines); }

static const ab_host host = {
    .size = sizeof(ab_host), .bleu = mock_bleu, .read_lines = mock_read_lines, .free_lines = mock_free_lines};

/* ---- a plugin and its settings ---- */

typedef struct {
    const ab_plugin *plugin;
    const ab_task_plugin *task;
    void *cfg;
} loaded;

static inline loaded load(const char *name)
{
    char *path = xprintf("%s/plugins/task/%s.so", BUILD_DIR, name);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        printf("skipped: %s\n", dlerror());
        exit(77);
    }
    loaded l = {.plugin = dlsym(so, "ab_plugin_v2")};
    CHECK_INT(l.plugin->kind, AB_TASK);
    CHECK_TEXT(l.plugin->name, name);
    CHECK_INT(l.plugin->iface_size, sizeof(ab_task_plugin));
    l.task = l.plugin->iface;
    l.cfg = xcalloc(1, l.plugin->cfg_size);
    *l.plugin->host = &host;
    for (const ab_option *p = l.plugin->params; p->name; p++) {
        char *at = (char *)l.cfg + p->offset;
        CHECK(p->doc && *p->doc);
        if (p->type == AB_TEXT)
            *(const char **)at = p->choices;
        else if (p->type == AB_REAL)
            *(double *)at = p->def;
        else
            *(int64_t *)at = (int64_t)p->def;
    }
    free(path);
    return l;
}

static inline void *field(const loaded *l, const char *name)
{
    for (const ab_option *p = l->plugin->params; p->name; p++)
        if (same(p->name, name)) return (char *)l->cfg + p->offset;
    printf("no parameter %s\n", name);
    exit(1);
}
static inline void set_text(const loaded *l, const char *name, const char *value)
{
    *(const char **)field(l, name) = value;
}
static inline void set_int(const loaded *l, const char *name, int64_t value) { *(int64_t *)field(l, name) = value; }

static inline void *open_task(const loaded *l, const char *data_dir, int64_t seed)
{
    void *self = NULL;
    char words[1024] = "";
    CHECK_INT(l->task->open(&self, l->cfg, &host, &(ab_env){.data_dir = data_dir, .seed = seed}, words, sizeof words),
              0);
    CHECK_TEXT(words, "");
    if (!self) exit(test_end());
    return self;
}

static inline void refused(const loaded *l, const char *data_dir, const char *const *parts)
{
    void *self = NULL;
    char words[1024] = "";
    CHECK_INT(l->task->open(&self, l->cfg, &host, &(ab_env){.data_dir = data_dir, .seed = 1}, words, sizeof words), -1);
    for (; *parts; parts++) CHECK_HAS(words, *parts);
}
#define REFUSED(l, dir, ...) refused(l, dir, (const char *const[]){__VA_ARGS__, NULL})

static inline ab_example example(const loaded *l, void *self, ab_split s, int64_t i)
{
    ab_example x;
    l->task->get(self, s, i, &x);
    return x;
}

/* Scores the references themselves as outputs, after spoiling the first `wrong` of them. */
static inline int score(const loaded *l, void *self, ab_split s, int64_t wrong, ab_metric *out, int max)
{
    int64_t n = l->task->count(self, s);
    const char **hyp = xmalloc((size_t)n * sizeof *hyp);
    for (int64_t i = 0; i < n; i++) hyp[i] = i < wrong ? "something else" : example(l, self, s, i).tgt;
    char words[256] = "";
    int made = l->task->score(self, s, hyp, n, out, max, words, sizeof words);
    CHECK_TEXT(words, "");
    CHECK_INT(l->task->score(self, s, hyp, n - 1, out, max, words, sizeof words), -1);
    CHECK_HAS(words, "lines to score, expected");
    made = l->task->score(self, s, hyp, n, out, max, words, sizeof words);
    free(hyp);
    return made;
}

#endif
