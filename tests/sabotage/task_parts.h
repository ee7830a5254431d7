/* task_parts.h - a correct task of twelve examples; each sabotaged task redefines one part of it. */
#include "ab_plugin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef BETTER
#define BETTER      AB_HIGHER
#define COUNTED(is) (is)
#endif

#ifndef TEXT
#define TEXT(t, i) (t)->text[i]
#endif

#ifndef RIGHT
#define RIGHT(t, line, i) !strcmp(line, (t)->text[i])
#endif

typedef struct {
    int64_t unused;
} config;
typedef struct {
    char text[12][32], shared[32];
    double stats[12][2];
} task;
static const ab_option params[] = {{0}};

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n)
{
    (void)cfg, (void)host, (void)env, (void)err, (void)n;
    static int opened;
    task *t = *self = calloc(1, sizeof *t);
    if (!t) abort();
    opened++;
    for (int i = 0; i < 12; i++) snprintf(t->text[i], sizeof t->text[i], LINE, i, CHANGES ? opened : 0);
    return 0;
}
static int64_t count(void *self, ab_split s)
{
    (void)self, (void)s;
    return 12;
}
static void get(void *self, ab_split s, int64_t i, ab_example *out)
{
    (void)s;
    *out = (ab_example){"a source", TEXT((task *)self, i)};
}
static int score(void *self, ab_split s, const char *const *hyp, int64_t n, ab_metric *out, int max, char *err,
                 size_t n_err)
{
    (void)s, (void)max, (void)err, (void)n_err;
    task *t = self;
    double right = 0;
    for (int64_t i = 0; i < n; i++) {
        int is = RIGHT(t, hyp[i], i);
        t->stats[i][0] = COUNTED(is), t->stats[i][1] = 1;
        right += is;
    }
    memset(out, 0, sizeof *out);
    strcpy(out->name, "acc");
    out->value = VALUE(right, n), out->better = BETTER;
    out->sum = AB_SUM_RATIO, out->n_stats = 2, out->stats = t->stats[0];
    return 1;
}
static void close_task(void *self) { free(self); }
static const ab_task_plugin self = {.src_vocab = AB_VOCAB_WORDS,
                                    .tgt_vocab = AB_VOCAB_WORDS,
                                    .open = open_task,
                                    .count = count,
                                    .get = get,
                                    .score = score,
                                    .close = close_task};
