/* param.c - parses and prints one parameter and its range; fills structs from settings. */
#include "network/settings/config.h"
#include "base/cleanup.h"

const char *settings_get(const settings *s, const char *key)
{
    for (size_t i = 0; i < s->n; i++)
        if (same(s->at[i].key, key)) return s->at[i].value;
    return NULL;
}

void settings_set(settings *s, const char *key, const char *value, arena *a)
{
    for (size_t i = 0; i < s->n; i++)
        if (same(s->at[i].key, key)) {
            s->at[i].value = arena_strdup(a, value);
            return;
        }
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 16;
        setting *at = arena_alloc(a, cap * sizeof *at);
        if (s->n) memcpy(at, s->at, s->n * sizeof *at);
        s->at = at, s->cap = cap;
    }
    s->at[s->n++] = (setting){arena_strdup(a, key), arena_strdup(a, value)};
}

/* ---- choices: "post|pre" ---- */

static int word_index(const char *choices, const char *text)
{
    size_t n = strlen(text);
    for (int i = 0; choices; i++) {
        size_t len = strcspn(choices, "|");
        if (len == n && !memcmp(choices, text, n)) return i;
        choices = choices[len] ? choices + len + 1 : NULL;
    }
    return -1;
}

static const char *word_at(const char *choices, int64_t index, arena *a)
{
    for (int64_t i = 0; choices; i++) {
        size_t len = strcspn(choices, "|");
        if (i == index) return arena_strndup(a, choices, len);
        choices = choices[len] ? choices + len + 1 : NULL;
    }
    return NULL;
}

static const char *nearest_word(const char *choices, const char *text, arena *a)
{
    const char *list[64];
    size_t n = 0;
    while (n < LENGTH(list) && (list[n] = word_at(choices, (int64_t)n, a))) n++;
    return suggestion(text, list, n, "");
}

/* ---- text and value ---- */

typedef union {
    int64_t i;
    double r;
    const char *t;
} value; /* the parameter's type decides which member is used */

static bool is_bounded(const ab_option *p) { return p->min < p->max; }

static bool in_range(const ab_option *p, double x) { return !is_bounded(p) || (x >= p->min && x <= p->max); }

static int bool_of(const char *text)
{
    static const char *const choices[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < LENGTH(choices); i++)
        if (same(choices[i], text)) return i & 1;
    return -1;
}

static bool read_value(const ab_option *p, const char *text, value *v)
{
    switch (p->type) {
    case AB_INT:
        v->i = word_index(p->choices, text);
        if (v->i >= 0) return v->i = -1 - v->i, true;
        return parse_int(text, &v->i) && in_range(p, (double)v->i);
    case AB_REAL: return parse_real(text, &v->r) && in_range(p, v->r);
    case AB_BOOL: return (v->i = bool_of(text)) >= 0;
    case AB_CHOICE: return (v->i = word_index(p->choices, text)) >= 0;
    case AB_TEXT: return v->t = text, true;
    }
    broken("parameter %s has type %d", p->name, (int)p->type);
}

static const char *write_value(const ab_option *p, value v, arena *a)
{
    char number[32];
    const char *word = NULL;
    switch (p->type) {
    case AB_INT:
        if (v.i < 0) word = word_at(p->choices, -1 - v.i, a);
        return word ? word : arena_printf(a, "%lld", (long long)v.i);
    case AB_REAL: return arena_strdup(a, format_real(v.r + 0.0, number)); /* + 0.0: -0 is written 0 */
    case AB_BOOL: return v.i ? "true" : "false";
    case AB_CHOICE:
        word = word_at(p->choices, v.i, a);
        return word ? word : (broken("parameter %s has no choice %lld", p->name, (long long)v.i), NULL);
    case AB_TEXT: return v.t ? v.t : "";
    }
    broken("parameter %s has type %d", p->name, (int)p->type);
}

static value default_value(const ab_option *p)
{
    if (p->type == AB_TEXT) return (value){.t = p->choices ? p->choices : ""};
    if (p->type == AB_REAL) return (value){.r = p->def};
    return (value){.i = (int64_t)p->def};
}

const char *param_default(const ab_option *p, arena *a) { return write_value(p, default_value(p), a); }

/* Writes "a|b|c" as "a, b or c". */
static void words_in_prose(str *out, const char *choices)
{
    for (bool first = true; choices; first = false) {
        size_t len = strcspn(choices, "|");
        const char *next = choices[len] ? choices + len + 1 : NULL;
        if (!first) str_add(out, next ? ", " : " or ");
        str_addn(out, choices, len);
        choices = next;
    }
}

const char *param_expects(const ab_option *p, arena *a)
{
    CLEANUP(str_free) str out = {0};
    char low[32], high[32];
    bool number = p->type == AB_INT || p->type == AB_REAL;
    if (p->type == AB_TEXT) str_add(&out, "text");
    if (p->type == AB_BOOL) str_add(&out, "true or false");
    if (p->type == AB_CHOICE) words_in_prose(&out, p->choices);
    if (number) str_add(&out, p->type == AB_INT ? "an integer" : "a number");
    if (number && is_bounded(p)) str_addf(&out, " from %s to %s", format_real(p->min, low), format_real(p->max, high));
    if (p->type == AB_INT && p->choices) str_add(&out, ", or "), words_in_prose(&out, p->choices);
    return arena_strdup(a, str_text(&out));
}

int param_canonical(const ab_option *p, const char *text, const char **out, arena *a, err *e)
{
    value v;
    if (read_value(p, text, &v)) return *out = arena_strdup(a, write_value(p, v, a)), 0;
    const char *near = p->choices && p->type != AB_TEXT ? nearest_word(p->choices, text, a) : "";
    return fail(e, "found \"%s\", expected %s%s", text, param_expects(p, a), near);
}

/* ---- structs ---- */

static void *field(const ab_option *p, void *base) { return (char *)base + p->offset; }

static void store(const ab_option *p, value v, void *base, arena *a)
{
    if (p->type == AB_REAL)
        *(double *)field(p, base) = v.r;
    else if (p->type == AB_TEXT)
        *(const char **)field(p, base) = arena_strdup(a, v.t);
    else
        *(int64_t *)field(p, base) = v.i;
}

const ab_option *param_find(const ab_option *table, const char *name)
{
    for (const ab_option *p = table; p && p->name; p++)
        if (same(p->name, name)) return p;
    return NULL;
}

/* The key's name in the table: the part after "prefix.", or a whole key without a dot; NULL: the key belongs to another
 * table. */
static const char *local_name(const char *key, const char *prefix)
{
    if (!prefix) return strchr(key, '.') ? NULL : key;
    size_t n = strlen(prefix);
    return !strncmp(key, prefix, n) && key[n] == '.' ? key + n + 1 : NULL;
}

static int fail_unknown(const ab_option *table, const char *name, const char *key, err *e)
{
    const char *names[256];
    size_t n = 0;
    for (const ab_option *p = table; p && p->name && n < LENGTH(names); p++) names[n++] = p->name;
    return fail(e, "%s: unknown key%s", key, suggestion(name, names, n, ""));
}

int config_bind(const settings *s, const char *prefix, const ab_option *table, void *out, arena *a, err *e)
{
    for (const ab_option *p = table; p && p->name; p++) store(p, default_value(p), out, a);
    for (size_t i = 0; i < s->n; i++) {
        const char *name = local_name(s->at[i].key, prefix);
        if (!name) continue;
        const ab_option *p = param_find(table, name);
        if (!p) return fail_unknown(table, name, s->at[i].key, e);
        value v;
        if (!read_value(p, s->at[i].value, &v))
            return fail(e, "%s: found \"%s\", expected %s", s->at[i].key, s->at[i].value, param_expects(p, a));
        store(p, v, out, a);
    }
    return 0;
}

void config_unbind(const void *from, const char *prefix, const ab_option *table, settings *s, arena *a)
{
    for (const ab_option *p = table; p && p->name; p++) {
        const void *at = (const char *)from + p->offset;
        value v = p->type == AB_REAL   ? (value){.r = *(const double *)at}
                  : p->type == AB_TEXT ? (value){.t = *(const char *const *)at}
                                       : (value){.i = *(const int64_t *)at};
        const char *key = prefix ? arena_printf(a, "%s.%s", prefix, p->name) : p->name;
        settings_set(s, key, write_value(p, v, a), a);
    }
}
