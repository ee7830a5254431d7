/* all.c - the list of checks, in order, and the command. */
#include "network/check/internal.h"
#include "network/plugin/python.h"
#include <math.h>
#include <string.h>

enum {
    ATT = 1 << AB_ATTENTION,
    POS = 1 << AB_POSITION,
    FFN = 1 << AB_FEED_FORWARD,
    NORM = 1 << AB_NORM,
    BLOCK = 1 << AB_BLOCK,
    OPT = 1 << AB_OPTIMIZER,
    SCHED = 1 << AB_SCHEDULE,
    TASK = 1 << AB_TASK,
    LAYER = CHECK_TRACED
};

typedef struct {
    const char *name;
    unsigned kinds;
    double bound;
    const char *needs; /* checks it depends on, separated by blanks */
    check_run *run;
    pairing_check *each; /* instead of run: called for each pairing */
} check;

/* Adds a note if another plugin has this name. Never fails: a copy under its old name may be intended. */
static void check_name(const plugin *p, check_result *r)
{
    size_t n;
    const plugin *const *list = plugin_list(&n);
    for (size_t i = 0; i < n; i++) {
        const plugin *q = list[i];
        if (q == p || q->desc.kind != p->desc.kind || !same(q->desc.name, p->desc.name)) continue;
        check_note(r, "ATTENTION: %s/%s is also the name of %s%s: tables and settings cannot tell them apart",
                   plugin_kind_name(q->desc.kind), q->desc.name, plugin_is_own(q) ? "a shipped plugin, " : "", q->path);
        return;
    }
    check_note(r, "no other plugin of its kind has this name");
}

static const check checks[] = {
    {"name", LAYER | OPT | SCHED | TASK, 0, "", .run = check_name},
    {"parameters", LAYER | OPT | SCHED, 0, "", .run = check_parameters},
    {"calls", LAYER, 0, "", .run = check_calls},
    {"kernels", LAYER, 1, " calls ", .run = check_kernels},
    {"build", LAYER, 0, " calls kernels ", .each = check_build},
    {"sublayers", BLOCK, 0, " build ", .each = check_sublayers},
    {"same_seed", LAYER, 0, " build ", .each = check_same_seed},
    {"process", LAYER, 0, " same_seed ", .run = check_process},
    {"op_gradients", LAYER, 1e-6, " same_seed ", .run = check_op_gradients},
    {"gradient", LAYER, 1e-6, " op_gradients sublayers ", .each = check_gradient},
    {"future", LAYER, 0, " same_seed ", .each = check_future},
    {"padding", LAYER, 1e-12, " future ", .each = check_padding},
    {"batch", LAYER, 1e-12, " padding ", .each = check_batch},
    {"sizes", LAYER, 0, " batch ", .run = check_sizes},
    {"decode", LAYER, 1e-9, " batch ", .each = check_decode},
    {"dropout", LAYER, 1e-6, " gradient ", .each = check_dropout},
    {"positions", ATT, 0, " same_seed ", .run = check_positions},
    {"relative", POS, 1e-9, " same_seed ", .run = check_relative},
    {"fp32", LAYER, 1e-4, " gradient ", .each = check_fp32},
    {"fused", ATT | POS | NORM, 1, " fp32 ", .run = check_fused},
    {"bf16", LAYER, 0.3, " fp32 ", .each = check_bf16},
    {"choices", LAYER, 0, " future gradient decode ", .run = check_choices},
    {"long", LAYER, 1e-3, " fp32 ", .run = check_long},
    {"long_decode", LAYER, 1e-9, " decode ", .run = check_long_decode},
    {"device_ops", LAYER, 1e-5, " fp32 ", .run = check_device_ops},
    {"device", LAYER, 1, " device_ops ", .run = check_device},
    {"elementwise", OPT, 0, " parameters ", .run = check_elementwise},
    {"tiles", OPT, 1e-12, " parameters elementwise ", .run = check_tiles},
    {"apart", OPT, 0, " parameters ", .run = check_apart},
    {"zero", OPT, 0, " parameters elementwise ", .run = check_zero},
    {"minimises", OPT, 0.01, " parameters elementwise ", .run = check_minimises},
    {"resumes", OPT, 0, " parameters elementwise apart ", .run = check_resumes},
    {"updates", OPT, 0, " resumes ", .run = check_updates},
    {"device", OPT, 1e-5, " elementwise ", .run = check_device_update},
    {"rate", SCHED, 0, " parameters ", .run = check_rate},
    {"stateless", SCHED, 0, " rate ", .run = check_stateless},
    {"open", TASK, 0, "", .run = check_open},
    {"examples", TASK, 0, " open ", .run = check_examples},
    {"repeatable", TASK, 0, " open ", .run = check_repeatable},
    {"score", TASK, 1e-6, " open examples ", .run = check_score},
};

/* ---- results ---- */

void check_result_set(check_result *r, check_outcome outcome, const char *fmt, ...)
{
    if (r->outcome == CHECK_FAIL || (outcome == CHECK_OK && r->outcome != CHECK_OK)) return;
    va_list ap;
    va_start(ap, fmt);
    r->outcome = outcome;
    vsnprintf(r->message, sizeof r->message, fmt, ap);
    va_end(ap);
}

bool check_beyond(check_result *r, double figure)
{
    if (!(figure <= r->measured)) r->measured = figure;
    return !(figure <= r->bound);
}

double check_larger(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }

/* ---- one plugin ---- */

#define SKIPPED "skipped: it depends on "
static const char *failed_need(const char *needs, const check_result *done, const bool *missing, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, " %s ", done[i].name);
        if (missing[i] && strstr(needs, name)) return done[i].name;
    }
    return NULL;
}

size_t check_plugin(const plugin *p, const char *only, check_result out[CHECK_MOST])
{
    size_t n = 0;
    bool missing[CHECK_MOST]; /* checks that failed, or were skipped because of a failure */
    const uint64_t fresh = check_statics(p);
    cpu_threads(1); /* one thread: in such small models, threads would only wait for each other */
    for (size_t i = 0; i < LENGTH(checks); i++) {
        const check *c = &checks[i];
        if (!(c->kinds & 1u << p->desc.kind) || (only && !has_prefix(c->name, only))) continue;
        check_result *r = &out[n];
        *r = (check_result){.name = c->name, .measured = -1, .bound = c->bound};
        check_begins(c->name, n);
        const char *failed = failed_need(c->needs, out, missing, n);
        if (failed)
            check_none(r, SKIPPED "'%s'", failed);
        else if (c->each)
            check_each_pairing(p, r, c->each);
        else
            c->run(p, r);
        if (r->outcome == CHECK_FAIL && same(c->name, "build") && check_statics(p) != fresh)
            strncat(r->message, "; it changed static variables: keep no tensor in one",
                    sizeof r->message - strlen(r->message) - 1);
        python_reword(p->path, r->message, sizeof r->message);
        missing[n++] = failed || r->outcome == CHECK_FAIL;
    }
    return n;
}

bool check_is_whole(ab_kind kind, const check_result *r, size_t n, bool all)
{
    size_t k = 0;
    for (size_t i = 0; i < LENGTH(checks); i++) {
        const check *c = &checks[i];
        if (!(c->kinds & 1u << kind)) continue;
        if (k == n) return !all;
        if (r[k].name != c->name || (unsigned)r[k].outcome > CHECK_NONE) return false;
        k++;
    }
    return k == n;
}

void check_print(const char *title, const check_result *r, size_t n, FILE *f)
{
    static const char *const outcomes[] = {"ok", "FAIL", "n.a."};
    size_t skipped = 0;
    fprintf(f, "%s\n", title);
    for (size_t i = 0; i < n; i++, r++) {
        char figure[64] = "";
        if (has_prefix(r->message, SKIPPED)) {
            skipped++;
            continue;
        }
        if (isnan(r->measured))
            snprintf(figure, sizeof figure, "not a number");
        else if (r->measured >= 0 && r->outcome != CHECK_NONE)
            snprintf(figure, sizeof figure, "%.2g (at most %.2g)", r->measured, r->bound);
        fprintf(f, "  %-12s %-4s  %-24s %s\n", r->name, outcomes[r->outcome], figure, r->message);
    }
    if (skipped)
        fprintf(f, "  %zu check%s that depend%s on it %s skipped\n", skipped, skipped == 1 ? "" : "s",
                skipped == 1 ? "s" : "", skipped == 1 ? "was" : "were");
}

/* ---- the command ---- */

typedef struct {
    const check_room *room;
    bool json, more; /* more: one result was printed, so the next begins with a comma */
    check_report report;
    size_t done, failed;
} run;

static void print_json(run *t, const char *subject, const char *path, const check_result *r, size_t n)
{
    static const char *const outcomes[] = {"ok", "failed", "not applicable"};
    CLEANUP(str_free) str out = {0};
    str_add(&out, t->more ? ",\n{" : "{");
    json_key_text(&out, "plugin", subject);
    json_key_text(&out, "file", path);
    json_open(&out, "checks", '[');
    for (size_t i = 0; i < n; i++) {
        json_open(&out, NULL, '{');
        json_key_text(&out, "name", r[i].name);
        json_key_text(&out, "outcome", outcomes[r[i].outcome]);
        json_key_real(&out, "measured", r[i].measured < 0 ? NAN : r[i].measured);
        json_key_real(&out, "bound", r[i].measured < 0 ? NAN : r[i].bound);
        json_key_text(&out, "words", r[i].message);
        str_addc(&out, '}');
    }
    str_add(&out, "]}");
    fputs(str_text(&out), stdout);
    t->more = true;
}

static bool print(run *t)
{
    size_t failed = 0;
    const check_report *c = &t->report;
    AUTOFREE char *name = *c->name ? xprintf("%s/%s", plugin_kind_name(c->kind), c->name) : xstrdup(c->path),
                  *title = xprintf("%s%s%s", name, *c->name ? "  " : "", *c->name ? c->path : "");
    if (t->json)
        print_json(t, name, c->path, c->r, c->n);
    else
        check_print(title, c->r, c->n, stdout);
    fflush(stdout);
    for (size_t i = 0; i < c->n; i++) failed += c->r[i].outcome == CHECK_FAIL;
    return !failed;
}

static void refused(run *t, const char *path, const char *why)
{
    check_result r = {.name = "load", .outcome = CHECK_FAIL, .measured = -1};
    snprintf(r.message, sizeof r.message, "%s", why);
    if (t->json)
        print_json(t, path, path, &r, 1);
    else
        check_print(path, &r, 1, stdout);
}

const plugin *check_find(const char *name, err *e)
{
    for (ab_kind k = 1; k < AB_KIND_COUNT; k++) {
        size_t n = strlen(plugin_kind_name(k));
        if (!strncmp(name, plugin_kind_name(k), n) && name[n] == '/' && !plugin_suffix(name))
            return plugin_find(k, name + n + 1, e);
    }
    return plugin_open(0, name, e);
}

static void check_file(const char *path, void *self)
{
    run *t = self;
    check_in_sandbox(path, t->room, &t->report);
    if (t->report.state == CHECK_DONE)
        t->failed += !print(t), t->done++;
    else
        log_line(LOG_WARN, "refused: %s", t->report.message);
}

int check_plugins(const char *const *names, size_t n, const check_room *room, bool json)
{
    int code = 0;
    AUTOFREE run *t = xcalloc(1, sizeof *t);
    t->room = room, t->json = json;
    if (json) fputs("[\n", stdout);
    if (!n) plugin_each_file(check_file, t);
    if (!n && !json) printf("%zu plugins, %zu failed\n", t->done, t->failed);
    for (size_t i = 0; i < n && !code; i++) {
        check_in_sandbox(names[i], room, &t->report);
        if (t->report.state == CHECK_DONE)
            t->failed += !print(t);
        else if (t->report.state == CHECK_REFUSED)
            refused(t, names[i], t->report.message), t->failed++;
        else
            fprintf(stderr, "ablate check: %s\n", t->report.message), code = 2;
    }
    if (json) fputs("\n]\n", stdout);
    return !code && t->failed ? 1 : code;
}
