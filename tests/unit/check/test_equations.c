/* Every shipped plugin that is part of a model, and the parts in Python beside INIs of experiments/parts, against plain
 * NumPy written from their papers' equations: the loss of a small model over four sentences, and the loss's gradient in
 * every learned value (tests/oracle/plugins.py writes golden/plugins.txt). */
#include "network/check/internal.h"
#include "network/plugin/python.h"
#include "network/settings/config.h"
#include "services.h"
#include "../train/golden.h"
#include "base/shell.h"
#include <unistd.h>

enum { MOST_SETTINGS = 24 };

static uint64_t stream_of(const char *name) /* FNV-1a, 32 bits */
{
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

static bool is_python(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && same(name + n - 3, ".py");
}

/* Opens the model of a line `case NAME key value ...`, and sets its learned values to their first values, or numbers
 * near them. */
static int open_case(model *m, const golden_line *l, arena *a, err *e)
{
    settings set = {0};
    for (int i = 2; i + 1 < l->n; i += 2) {
        /* golden files write "made_up" for a teacher, and NAME.py for a file, since their paths may have blanks */
        const char *value = same(l->word[i + 1], "made_up") ? TEACHER_MADE_UP : l->word[i + 1];
        if (is_python(value)) {
            value = arena_printf(a, SOURCE_DIR "/experiments/parts/%s", value);
            if (!plugin_load(value, e)) return -1;
        }
        settings_set(&set, l->word[i], value, a);
    }
    if (model_open(m, &set, CHECK_VOCAB, CHECK_VOCAB, F64, &cpu_backend, e)) return -1;
    double *v = m->params.value;
    for (size_t k = 0; k < m->params.n; k++) {
        const param *p = &m->params.p[k];
        for (size_t j = 0; j < p->count && !p->buffer; j++)
            v[p->at + j] = p->fill + 0.5 * check_hashed(stream_of(p->name), j);
    }
    return 0;
}

/* Checks `grad NAME ROWS COLUMNS FILL SLOPE`: shape and first value of a parameter, and the derivative of the loss
 * along a direction with one number in [-1, 1] for each element. */
static void check_gradient_of(const model *m, const golden_line *l, double size)
{
    const param *p = params_find(&m->params, l->word[1]);
    CHECK_TEXT(p ? p->name : "", l->word[1]);
    if (!p) return;
    const double *g = m->params.grad;
    double slope = 0;
    for (size_t j = 0; j < p->count; j++) slope += g[p->at + j] * check_hashed(5000 + stream_of(p->name), j);
    CHECK_INT(p->count, strtoll(l->word[2], NULL, 10));
    CHECK_NEAR(p->fill, strtod(l->word[3], NULL), 1e-12);
    CHECK_NEAR(slope, strtod(l->word[4], NULL), 2e-8 * size);
}

static void check_case(const golden *g, size_t at)
{
    const golden_line *l = &g->line[at];
    model m;
    pass p;
    arena a = {0};
    err e = {0};
    sentences *s = xmalloc(sizeof *s);
    check_sentences(s);
    int failed = test_failed;
    size_t learned = 0, compared = 0;
    if (open_case(&m, l, &a, &e) || pass_open(&p, &m, s, true, 2, 0, &e) || pass_run(&p, 1, &e)) {
        printf("%s: %s\n", l->word[1], e.text);
        CHECK_TEXT(e.text, "");
    } else {
        double loss = pass_loss(&p);
        for (size_t k = 0; k < m.params.n; k++) learned += !m.params.p[k].buffer;
        for (at++; at < g->n && g->line[at].n && !same(g->line[at].word[0], "case"); at++) {
            l = &g->line[at];
            if (same(l->word[0], "loss")) CHECK_NEAR(loss, strtod(l->word[1], NULL), 1e-9 * fabs(loss));
            if (same(l->word[0], "grad")) check_gradient_of(&m, l, fmax(1, fabs(loss) / 10)), compared++;
        }
        CHECK_INT(compared, learned);
        pass_close(&p);
        model_free(&m);
    }
    printf("%s\n", test_failed == failed ? "as the equations say" : "DIFFERS");
    arena_free(&a);
    free(s);
}

/* In a process of its own, because Python keeps memory. */
static void check_in_process(const golden *g, size_t at)
{
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        test_failed = test_done = 0;
        check_case(g, at);
        _exit(fflush(NULL) || test_end());
    }
    CHECK_INT(process_wait(pid), 0);
}

/* Checks `schedule NAME WARMUP update rate ...`: rates at some of 1,000 updates, with lr 0.3, lr_min 0.01 and d_model
 * 64 (tests/oracle/schedules.py). */
static void check_schedule(const golden_line *l)
{
    err e = {0};
    arena a = {0};
    settings none = {0};
    const plugin *p = plugin_find(AB_SCHEDULE, l->word[1], &e);
    CHECK_TEXT(e.text, "");
    void *cfg = p ? arena_alloc(&a, p->desc.cfg_size + 16) : NULL;
    if (p) CHECK_INT(config_bind(&none, p->desc.name, p->desc.params, cfg, &a, &e), 0);
    const ab_run_plan plan = {
        .lr = 0.3, .lr_min = 0.01, .warmup = strtoll(l->word[2], NULL, 10), .steps = 1000, .d_model = 64};
    for (int i = 3; p && i + 1 < l->n; i += 2)
        CHECK_NEAR(p->iface.schedule.lr(cfg, &plan, strtoll(l->word[i], NULL, 10)), strtod(l->word[i + 1], NULL),
                   1e-14);
    arena_free(&a);
}

static void check_schedules(void)
{
    golden g;
    int cases = 0;
    golden_read(&g, SOURCE_DIR "/tests/oracle/golden/schedules.txt");
    for (size_t i = 0; i < g.n; i++)
        if (g.line[i].n && same(g.line[i].word[0], "schedule")) check_schedule(&g.line[i]), cases++;
    CHECK_INT(cases, 10);
    golden_free(&g);
}

/* Every shipped schedule, and every shipped plugin that is part of a model, must have a case. */
static void check_all_covered(const golden *g)
{
    size_t n;
    const plugin *const *list = plugin_list(&n);
    for (size_t i = 0; i < n; i++) {
        char name[128];
        bool found = false;
        if (!(CHECK_TRACED & 1u << list[i]->desc.kind) || !plugin_is_own(list[i])) continue;
        snprintf(name, sizeof name, "%s/%s", plugin_kind_name(list[i]->desc.kind), list[i]->desc.name);
        for (size_t k = 0; k < g->n; k++)
            found |= g->line[k].n > 1 && same(g->line[k].word[0], "case") && same(g->line[k].word[1], name);
        CHECK_THAT(found, "%s: found no case in golden/plugins.txt, expected one", name);
    }
}

int main(int argc, char **argv)
{
    golden g;
    golden_read(&g, SOURCE_DIR "/tests/oracle/golden/plugins.txt");
    use_plugins();
    cpu_threads(1);
    for (size_t i = 0; i < g.n; i++) {
        if (!g.line[i].n || !same(g.line[i].word[0], "case")) continue;
        if (argc > 1 && !same(argv[1], g.line[i].word[1])) continue;
        printf("%s: ", g.line[i].word[1]);
        err none = {0};
        if (is_python(g.line[i].word[1]) && python_find(&none)) {
            printf("skipped: %s\n", none.text);
            continue;
        }
        if (is_python(g.line[i].word[1]))
            check_in_process(&g, i);
        else
            check_case(&g, i);
    }
    if (argc < 2) check_all_covered(&g), check_schedules();
    golden_free(&g);
    return test_end();
}
