/* analysis.c - writes and reads an analysis as JSON. */
#include "lab/config/analysis.h"
#include "base/cleanup.h"
#include <cjson/cJSON.h>
#include <math.h>

/* ---- writing ---- */

static void write_list(str *out, const char *key, const text_list *list)
{
    json_open(out, key, '[');
    for (size_t i = 0; i < list->n; i++) {
        json_next(out);
        json_string(out, list->at[i]);
    }
    str_addc(out, ']');
}

static void write_criterion(str *out, const comparison_criterion *k)
{
    json_open(out, "criterion", '{');
    json_key_text(out, "metric", k->metric);
    json_key_real(out, "margin", k->margin);
    json_key_real(out, "level", k->level);
    json_key_whole(out, "seeds", (int64_t)k->seeds);
    if (!isnan(k->failed_as)) json_key_real(out, "failed_as", k->failed_as);
    if (k->one_sided) json_key_bool(out, "one_sided", true);
    str_addc(out, '}');
}

static void write_design(str *out, const two_level_design *d)
{
    json_open(out, NULL, '{');
    json_key_text(out, "group", d->group);
    json_key_whole(out, "resolution", (int64_t)d->resolution);
    json_open(out, "factors", '[');
    for (size_t k = 0; k < d->n; k++) {
        json_open(out, NULL, '{');
        json_key_text(out, "name", d->factors[k].name);
        write_list(out, "keys", &d->factors[k].keys);
        write_list(out, "low", &d->factors[k].low);
        write_list(out, "high", &d->factors[k].high);
        str_addc(out, '}');
    }
    str_add(out, "]}");
}

static void write_sizes(str *out, const analysis *x)
{
    json_open(out, "scale", '{');
    json_open(out, "rows", '[');
    for (size_t r = 0; r < x->n_sizes; r++) {
        json_open(out, NULL, '{');
        json_key_text(out, "row", x->sizes[r].at[0]);
        write_list(out, "sizes", &(text_list){x->sizes[r].at + 1, x->sizes[r].n - 1});
        str_addc(out, '}');
    }
    str_add(out, "]}");
}

static void write_rest(str *out, const analysis *x)
{
    if (x->until.most) {
        json_open(out, "until", '{');
        json_key_text(out, "metric", x->until.metric);
        json_key_real(out, "effect", x->until.effect);
        json_key_whole(out, "most", x->until.most);
        if (x->until.base) json_key_whole(out, "base", x->until.base);
        str_addc(out, '}');
    }
    if (*x->match) {
        json_open(out, "match", '{');
        json_key_text(out, "by", x->match);
        json_key_text(out, "key", x->match_key);
        str_addc(out, '}');
    }
    for (size_t i = 0; i < x->n_designs; i++) {
        if (!i) json_open(out, "factorial", '[');
        write_design(out, &x->designs[i]);
    }
    if (x->n_designs) str_addc(out, ']');
    if (x->n_sizes) write_sizes(out, x);
    for (size_t i = 0; i < x->n_conditions; i++) {
        json_open(out, i ? NULL : "conditions", i ? '{' : '[');
        if (!i) json_open(out, NULL, '{');
        write_list(out, "rows", &x->conditions[i]);
        str_addc(out, '}');
    }
    if (x->n_conditions) str_addc(out, ']');
    if (!x->imported) return;
    json_open(out, "imported", '{');
    json_key_text(out, "from", x->imported);
    write_list(out, "warnings", &x->warnings);
    str_addc(out, '}');
}

const char *analysis_write(const analysis *x, arena *a)
{
    CLEANUP(str_free) str out = {0};
    json_open(&out, NULL, '{');
    if (x->criterion.given) write_criterion(&out, &x->criterion);
    write_rest(&out, x);
    str_addc(&out, '}');
    return out.n > 2 ? arena_strdup(a, out.s) : NULL;
}

/* ---- reading ---- */

static const cJSON *item(const cJSON *o, const char *name) { return cJSON_GetObjectItemCaseSensitive(o, name); }

static const char *read_text(const cJSON *o, const char *name, arena *a)
{
    const char *text = cJSON_GetStringValue(item(o, name));
    return text ? arena_strdup(a, text) : "";
}

static double read_real(const cJSON *o, const char *name, double otherwise)
{
    const cJSON *v = item(o, name);
    return cJSON_IsNumber(v) ? v->valuedouble : otherwise;
}

/* Reads a whole number from 0 to a million; `otherwise` if it is missing or out of range. */
static size_t read_count(const cJSON *o, const char *name, size_t otherwise)
{
    double v = read_real(o, name, (double)otherwise);
    return v >= 0 && v <= 1e6 ? (size_t)v : otherwise;
}

/* Reads the texts of a list; `first`, unless it is NULL, goes before them. */
static text_list read_texts(const cJSON *list, const char *first, arena *a)
{
    text_list out = {arena_alloc(a, ((size_t)cJSON_GetArraySize(list) + 2) * sizeof *out.at), 0};
    const cJSON *one;
    if (first) out.at[out.n++] = first;
    cJSON_ArrayForEach(one, list) if (cJSON_IsString(one)) out.at[out.n++] = arena_strdup(a, one->valuestring);
    return out;
}

static void *room_for(const cJSON *list, size_t size, arena *a)
{
    return arena_alloc(a, ((size_t)cJSON_GetArraySize(list) + 1) * size);
}

static two_level_design read_design(const cJSON *from, arena *a)
{
    const cJSON *factors = item(from, "factors"), *f;
    two_level_design d = {read_text(from, "group", a), read_count(from, "resolution", 0),
                          room_for(factors, sizeof *d.factors, a), 0};
    cJSON_ArrayForEach(f, factors) d.factors[d.n++] =
        (design_factor){read_text(f, "name", a), read_texts(item(f, "keys"), NULL, a),
                        read_texts(item(f, "low"), NULL, a), read_texts(item(f, "high"), NULL, a)};
    return d;
}

static comparison_criterion parse_criterion(const cJSON *root, arena *a)
{
    const cJSON *from = item(root, "criterion"), *until = item(root, "until");
    return (comparison_criterion){read_text(from ? from : until, "metric", a),
                                  read_real(from, "margin", read_real(until, "effect", 0)),
                                  read_real(from, "level", 0.05),
                                  read_count(from, "seeds", until ? 3 : 5),
                                  read_real(from, "failed_as", NAN),
                                  from || until,
                                  cJSON_IsTrue(item(from, "one_sided"))};
}

analysis analysis_read(const char *json, arena *a)
{
    cJSON *root = json ? cJSON_Parse(json) : NULL;
    const cJSON *until = item(root, "until"), *designs = item(root, "factorial"),
                *rows = item(item(root, "scale"), "rows"), *conditions = item(root, "conditions"),
                *imported = item(root, "imported"), *one;
    analysis x = {.criterion = parse_criterion(root, a),
                  .until = {read_text(until, "metric", a), read_real(until, "effect", 0),
                            (int64_t)read_count(until, "most", 0), (int64_t)read_count(until, "base", 0)},
                  .match = read_text(item(root, "match"), "by", a),
                  .match_key = read_text(item(root, "match"), "key", a),
                  .designs = room_for(designs, sizeof *x.designs, a),
                  .sizes = room_for(rows, sizeof *x.sizes, a),
                  .conditions = room_for(conditions, sizeof *x.conditions, a),
                  .imported = imported ? read_text(imported, "from", a) : NULL,
                  .warnings = read_texts(item(imported, "warnings"), NULL, a)};
    cJSON_ArrayForEach(one, designs) x.designs[x.n_designs++] = read_design(one, a);
    cJSON_ArrayForEach(one, rows) x.sizes[x.n_sizes++] = read_texts(item(one, "sizes"), read_text(one, "row", a), a);
    cJSON_ArrayForEach(one, conditions) x.conditions[x.n_conditions++] = read_texts(item(one, "rows"), NULL, a);
    cJSON_Delete(root);
    return x;
}
