/* diff.c - compares two runs: settings, provenance, plugins, results, curves. */
#include "lab/report/diff.h"
#include "base/cleanup.h"
#include <cjson/cJSON.h>
#include <math.h>

typedef struct {
    bool json;
    str out;
} report;

static void begin(report *p, const char *title)
{
    if (p->json)
        json_open(&p->out, title, '{');
    else
        str_addf(&p->out, "%s\n", title);
}
static void end(report *p)
{
    if (p->json) str_addc(&p->out, '}');
}

static void diff_column(str *out, const char *text, int width)
{
    CLEANUP(str_free) str shown = {0};
    str_add_shown(&shown, text ? text : "-", false);
    str_addf(out, " %-*s", width, str_text(&shown));
}

static void pair(report *p, const char *key, const char *a, const char *b)
{
    if (p->json) {
        json_open(&p->out, key, '[');
        json_string(&p->out, a), json_next(&p->out), json_string(&p->out, b);
        str_addc(&p->out, ']');
    } else {
        str_add(&p->out, "   ");
        diff_column(&p->out, key, 24), diff_column(&p->out, a, 32), diff_column(&p->out, b, 0);
        str_addc(&p->out, '\n');
    }
}

/* Returns a value as text, without a string's quotes; NULL: no value. The caller frees. */
static char *value_text(const cJSON *v)
{
    return cJSON_IsString(v) ? xstrdup(v->valuestring) : cJSON_PrintUnformatted(v);
}

/* Prints members that differ between two JSON objects, in both directions. */
static void objects(report *p, const char *title, const char *first, const char *second)
{
    cJSON *a = cJSON_Parse(first ? first : "{}"), *b = cJSON_Parse(second ? second : "{}");
    begin(p, title);
    for (int back = 0; back < 2; back++)
        for (const cJSON *m = back ? (b ? b->child : NULL) : a ? a->child : NULL; m; m = m->next) {
            const cJSON *other = cJSON_GetObjectItemCaseSensitive(back ? a : b, m->string);
            if (back ? other != NULL : other && cJSON_Compare(m, other, true)) continue;
            AUTOFREE char *mine = value_text(m), *theirs = value_text(other);
            pair(p, m->string, back ? theirs : mine, back ? mine : theirs);
        }
    end(p);
    cJSON_Delete(a);
    cJSON_Delete(b);
}

static const char *field_of(const read_detail *d, const char *key)
{
    for (size_t i = 0; i < d->n_fields; i++)
        if (same(d->fields[i].key, key)) return d->fields[i].value;
    return NULL;
}

static void provenance(report *p, const read_detail *a, const read_detail *b)
{
    static const char *const keys[] = {"git_commit", "git_dirty",  "diff_sha256", "host",          "device",
                                       "build_json", "parameters", "flops_step",  "tokens_second", "peak_memory"};
    begin(p, "provenance");
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (!same(field_of(a, keys[i]), field_of(b, keys[i])))
            pair(p, keys[i], field_of(a, keys[i]), field_of(b, keys[i]));
    end(p);
}

static void results(report *p, const read_detail *a, const read_detail *b)
{
    char first[32], second[32];
    begin(p, "results");
    for (size_t i = 0; i < a->run.n_results; i++) {
        const read_result *x = &a->run.results[i], *y = read_result_of(&b->run, x->metric);
        if (!y) continue;
        if (p->json) {
            json_open(&p->out, x->metric, '[');
            json_number(&p->out, x->value), json_next(&p->out), json_number(&p->out, y->value);
            str_addc(&p->out, ']');
            continue;
        }
        snprintf(first, sizeof first, "%.5g", x->value);
        snprintf(second, sizeof second, "%.5g  (%+.4g)", y->value, y->value - x->value);
        pair(p, x->metric, first, second);
    }
    end(p);
}

/* Prints for each common curve the last values, and the step with the largest difference. */
static int compare_curves(report *p, reader *r, const read_detail *a, const read_detail *b, err *e)
{
    CLEANUP(arena_free) arena mem = {0};
    read_curve *x, *y;
    size_t n, m;
    int rc = reader_curves(r, a->run.id, NULL, &mem, &x, &n, e) || reader_curves(r, b->run.id, NULL, &mem, &y, &m, e);
    begin(p, "curves");
    for (size_t i = 0; i < n && !rc; i++)
        for (size_t k = 0; k < m; k++) {
            if (!same(x[i].metric, y[k].metric) || !x[i].n || !y[k].n) continue;
            read_point wide_a = {.step = -1, .value = NAN}, wide_b = wide_a;
            for (size_t s = 0, t = 0; s < x[i].n && t < y[k].n;) {
                const read_point *u = &x[i].points[s], *v = &y[k].points[t];
                if (u->step == v->step && !(fabs(u->value - v->value) <= fabs(wide_a.value - wide_b.value)))
                    wide_a = *u, wide_b = *v;
                s += u->step <= v->step, t += v->step <= u->step;
            }
            double last_a = x[i].points[x[i].n - 1].value, last_b = y[k].points[y[k].n - 1].value;
            if (p->json) {
                json_open(&p->out, x[i].metric, '{');
                json_key_real(&p->out, "last_a", last_a), json_key_real(&p->out, "last_b", last_b);
                json_open(&p->out, "widest", '{');
                json_key_whole(&p->out, "step", wide_a.step);
                json_key_real(&p->out, "a", wide_a.value), json_key_real(&p->out, "b", wide_b.value);
                str_add(&p->out, "}}");
            } else {
                str_add(&p->out, "   "), diff_column(&p->out, x[i].metric, 24);
                str_addf(&p->out, " ends at %.5g and %.5g", last_a, last_b);
                if (wide_a.step >= 0)
                    str_addf(&p->out, "; furthest apart at step %lld: %.5g and %.5g", (long long)wide_a.step,
                             wide_a.value, wide_b.value);
                str_addc(&p->out, '\n');
            }
        }
    end(p);
    return rc ? -1 : 0;
}

int diff_print(const db_options *where, const char *const run[2], bool json, err *e)
{
    report p = {.json = json};
    CLEANUP(arena_free) arena a = {0};
    read_detail d[2] = {{0}};
    CLEANUP(reader_end) reader *r = reader_open_any(where, e);
    int rc = r ? 0 : -1;
    for (int i = 0; i < 2 && !rc; i++) {
        int64_t id = reader_find_run(r, run[i], e);
        rc = id < 0 ? -1 : reader_run(r, id, &a, &d[i], e);
    }
    if (!rc) {
        const char *name[2];
        for (int i = 0; i < 2; i++)
            name[i] = arena_printf(&a, "%s/%s@%lld", d[i].experiment, d[i].row, (long long)d[i].run.seed);
        if (p.json) str_addc(&p.out, '{');
        pair(&p, p.json ? "runs" : "", name[0], name[1]);
        objects(&p, "settings", d[0].config_json, d[1].config_json);
        provenance(&p, &d[0], &d[1]);
        objects(&p, "plugins", field_of(&d[0], "plugins_json"), field_of(&d[1], "plugins_json"));
        results(&p, &d[0], &d[1]);
        rc = compare_curves(&p, r, &d[0], &d[1], e);
        if (p.json) str_add(&p.out, "}\n");
        if (!rc) fputs(str_text(&p.out), stdout);
    }
    str_free(&p.out);
    return rc ? -1 : 0;
}
