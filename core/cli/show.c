/* show.c - ablate show: prints one run as text or JSON; its INI, its outputs. */
#include "cli/options.h"
#include "cli/results.h"
#include "lab/report/row_runs.h"
#include <math.h>
#include <string.h>

typedef struct {
    bool ini, json;
    const char *hyp, *ref;
} show_options;

/* ---- as text ---- */

#define KEY "%-21s " /* leaves a blank after the longest key */

static void show_line(const char *key, const char *value)
{
    CLEANUP(str_free) str text = {0};
    str_add_shown(&text, value, true); /* a path may have control characters */
    printf(KEY, key);
    for (const char *p = text.s; *p; p++) { /* further lines are aligned with the first */
        putchar(*p);
        if (*p == '\n' && p[1]) printf(KEY, "");
    }
    putchar('\n');
}

/* Prints a column of the last attempt in readable units. */
static void show_field(const char *key, const char *value)
{
    char when[32];
    double x;
    if (same(key, "n") || same(key, "diff_sha256")) return;
    if ((same(key, "started_at") || same(key, "ended_at")) && parse_real(value, &x)) {
        printf(KEY "%s\n", same(key, "started_at") ? "started" : "ended", local_time(x, when));
    } else if (same(key, "peak_memory") && parse_real(value, &x)) {
        printf(KEY "%.0f MiB\n", "peak memory", x / (1 << 20));
    } else if (same(key, "tokens_second") && parse_real(value, &x)) {
        printf(KEY "%.0f\n", "tokens per second", x);
    } else if (same(key, "flops_step") && parse_real(value, &x)) {
        printf(KEY "%.3g\n", "FLOPs per step", x);
    } else if (same(key, "git_dirty")) {
        printf(KEY "%s\n", "uncommitted changes",
               same(value, "0") ? "no" : "yes (ablate query \"SELECT data FROM blob\")");
    } else {
        AUTOFREE char *label = xstrdup(key);
        for (char *p = label; *p; p++)
            if (*p == '_') *p = ' ';
        show_line(same(key, "git_commit") ? "commit" : label, value);
    }
}

/* Prints settings such as "heads = 8" in lines of at most 100 characters. */
static int show_settings(reader *r, int64_t run, err *e)
{
    CLEANUP(str_free) str ini = {0}, lines = {0};
    int rc = reader_run_ini(r, run, &ini, e);
    const char *base = rc ? NULL : strstr(str_text(&ini), "[base]\n");
    size_t column = 0;
    for (const char *p = base ? base + strlen("[base]\n") : ""; *p; p += strspn(p, "\n")) {
        size_t n = strcspn(p, "\n");
        if (column + n > 90) str_addc(&lines, '\n'), column = 0;
        str_addf(&lines, "%s%.*s", column ? "   " : "", (int)n, p);
        column += n + 3;
        p += n;
    }
    if (!rc) show_line("settings", str_text(&lines));
    return rc;
}

static int show_run(reader *r, const read_detail *d, err *e)
{
    char real[32];
    printf(KEY "%lld\n", "run", (long long)d->run.id);
    show_line("experiment", d->experiment);
    show_line("row", d->row);
    printf(KEY "%lld\n", "seed", (long long)d->run.seed);
    printf(KEY "%s%s\n", "status", run_status(&d->run),
           d->run.foreign    ? " (imported)"
           : d->run.recorded ? " (recorded elsewhere)"
                             : "");
    if (d->run.step >= 0) printf(KEY "%lld of %lld\n", "step", (long long)d->run.step, (long long)d->run.total_steps);
    if (d->run.owner) show_line("held by", d->run.owner);
    printf(KEY "%zu\n", "attempts", d->n_attempts);
    for (size_t i = 0; i < d->run.n_results; i++) {
        const read_result *x = &d->run.results[i];
        printf(KEY "%s  (%s, step %lld)%s%s\n", x->metric,
               isfinite(x->value) ? format_real(x->value, real) : "diverged", x->how, (long long)x->step,
               x->signature ? "  " : "", x->signature ? x->signature : "");
    }
    for (size_t i = 0; i < d->n_fields; i++)
        if (d->fields[i].value) show_field(d->fields[i].key, d->fields[i].value);
    for (size_t i = 0; i < d->n_artifacts; i++) show_line(d->artifacts[i].key, d->artifacts[i].value);
    for (size_t i = 0; i < d->n_tags; i++) show_line(d->tags[i].key, d->tags[i].value ? d->tags[i].value : "");
    return show_settings(r, d->run.id, e);
}

/* ---- as JSON ---- */

static void pairs_json(const char *key, const read_pair *list, size_t n, str *out)
{
    json_open(out, key, '{');
    for (size_t i = 0; i < n; i++) json_key_text(out, list[i].key, list[i].value);
    str_addc(out, '}');
}

static void run_json(const read_detail *d, str *out)
{
    str_addc(out, '{');
    json_key_whole(out, "run", d->run.id);
    json_key_text(out, "experiment", d->experiment);
    json_key_text(out, "row", d->row);
    json_key_whole(out, "seed", d->run.seed);
    json_key_text(out, "status", run_status(&d->run));
    json_key_bool(out, "recorded", d->run.recorded);
    json_key_bool(out, "imported", d->run.foreign);
    json_key_real(out, "step", d->run.step >= 0 ? (double)d->run.step : NAN);
    json_key_real(out, "steps", d->run.total_steps >= 0 ? (double)d->run.total_steps : NAN);
    json_key_whole(out, "attempts", (int64_t)d->n_attempts);
    json_open(out, "results", '[');
    for (size_t i = 0; i < d->run.n_results; i++) {
        const read_result *x = &d->run.results[i];
        json_open(out, NULL, '{');
        json_key_text(out, "metric", x->metric);
        json_key_real(out, "value", x->value);
        json_key_text(out, "how", x->how);
        json_key_whole(out, "step", x->step);
        json_key_text(out, "signature", x->signature);
        str_addc(out, '}');
    }
    str_addc(out, ']');
    pairs_json("attempt", d->fields, d->n_fields, out);
    json_open(out, "files", '[');
    for (size_t i = 0; i < d->n_artifacts; i++) {
        json_open(out, NULL, '{');
        json_key_text(out, "kind", d->artifacts[i].key);
        json_key_text(out, "path", d->artifacts[i].value);
        str_addc(out, '}');
    }
    str_addc(out, ']');
    pairs_json("tags", d->tags, d->n_tags, out);
    json_key(out, "settings");
    str_add(out, d->config_json);
    str_addc(out, '}');
}

/* ---- the command ---- */

static int show_one(reader *r, int64_t id, const show_options *o, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_detail d;
    CLEANUP(str_free) str out = {0};
    int rc = o->ini ? reader_run_ini(r, id, &out, e) : reader_run(r, id, &a, &d, e);
    if (!rc && o->json)
        run_json(&d, &out);
    else if (!rc && (o->hyp || o->ref))
        rc = read_outputs(&d, o->hyp ? o->hyp : o->ref, o->hyp ? "hyp" : "ref", &out, e);
    else if (!rc && !o->ini)
        rc = show_run(r, &d, e);
    if (!rc) fwrite(str_text(&out), 1, out.n, stdout);
    return rc;
}

static int show(const invocation *c, void *options)
{
    const show_options *o = options;
    err e = {0};
    CLEANUP(arena_free) arena a = {0};
    int64_t *ids = NULL;
    size_t n = 0;
    if (o->ini + !!o->hyp + !!o->ref + o->json > 1)
        return call_usage(c, "expected at most one of --ini, --json, --hyp and --ref");
    CLEANUP(reader_end) reader *r = reader_open_any(&c->p.db, &e);
    int rc = r ? reader_find_runs(r, c->word[0], &a, &ids, &n, &e) : -1;
    bool one = o->ini || o->hyp || o->ref;
    if (!rc && n > 1 && one)
        rc = fail(&e, "%s has %zu seeds; name one of them: %s@SEED (`ablate show %s` lists them)", c->word[0], n,
                  c->word[0], c->word[0]);
    if (!rc && o->json) fputs("[\n", stdout);
    for (size_t i = 0; i < n && !rc; i++) {
        if (i) fputs(o->json ? ",\n" : "\n", stdout);
        rc = show_one(r, ids[i], o, &e);
    }
    if (!rc && o->json) fputs("\n]\n", stdout);
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {
    OPTION_JSON(offsetof(show_options, json)),
    {"--ini", NULL, "print an INI that trains the same run again", OPTION_FLAG, offsetof(show_options, ini)},
    {"--hyp", "SPLIT", "print the run's outputs for dev or test, one per line", OPTION_TEXT,
     offsetof(show_options, hyp), .choices = CHOICES_SPLITS},
    {"--ref", "SPLIT", "print the references of those outputs, one per line", OPTION_TEXT, offsetof(show_options, ref),
     .choices = CHOICES_SPLITS},
    OPTION_DATABASE,
    {0}};
const command show_command = {.name = "show",
                              .part = FOR_RESULTS,
                              .does = "show a run: settings, results, provenance",
                              .about = "RUN: its number, EXPERIMENT/ROW (all seeds of the row) or EXPERIMENT/ROW@SEED.",
                              .arguments = "RUN",
                              .missing = "expected a run; `ablate ls EXPERIMENT` lists them",
                              .choices = CHOICES_RUNS,
                              .options = options,
                              .size = sizeof(show_options),
                              .run = show,
                              .example = "ablate show quick/base@1"};
