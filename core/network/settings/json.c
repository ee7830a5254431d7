/* json.c - a run's settings as one flat JSON object, as stored with the run, and back. */
#include "network/settings/config.h"
#include "base/cleanup.h"

void config_to_json(const settings *s, param_lookup table_of, void *user, str *out)
{
    str_addc(out, '{');
    for (size_t i = 0; i < s->n; i++) {
        const setting *one = &s->at[i];
        const ab_option *p =
            strchr(one->key, '.') ? (table_of ? table_of(user, one->key) : NULL) : param_find(config_params, one->key);
        double number;
        bool truth = p && p->type == AB_BOOL && (same(one->value, "true") || same(one->value, "false"));
        bool bare = p && (truth || ((p->type == AB_INT || p->type == AB_REAL) && parse_real(one->value, &number)));
        json_key(out, one->key);
        if (bare)
            str_add(out, one->value);
        else
            json_string(out, one->value);
    }
    str_addc(out, '}');
}

/* Reads flat objects of texts, numbers and booleans, as config_to_json and SQLite's json() write them. */
typedef struct {
    const char *start, *p;
    err *e;
} json_in;

static int json_fail(json_in *j, const char *expected)
{
    return fail(j->e, "stored config, character %zu: found \"%.12s\", expected %s", (size_t)(j->p - j->start) + 1, j->p,
                expected);
}

static void json_blanks(json_in *j) { j->p += strspn(j->p, " \t\r\n"); }

static bool json_read(json_in *j, char c)
{
    json_blanks(j);
    if (*j->p != c) return false;
    j->p++;
    return true;
}

static int json_expect(json_in *j, char c, const char *expected)
{
    return json_read(j, c) ? 0 : json_fail(j, expected);
}

static void add_utf8(str *out, unsigned code)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; /* bytes after the first */
    str_addc(out, (char)(more ? 0xf00 >> (more + 1) | code >> 6 * more : code));
    while (more--) str_addc(out, (char)(0x80 | (code >> 6 * more & 63)));
}

/* The four hexadecimal digits of \uXXXX; j->p is before these digits. */
static int json_hex(json_in *j, unsigned *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, j->p++) {
        static const char digits[] = "0123456789abcdef";
        const char *d = *j->p ? strchr(digits, *j->p | 0x20) : NULL;
        if (!d) return json_fail(j, "four hexadecimal digits");
        *code = *code * 16 + (unsigned)(d - digits);
    }
    return 0;
}

static int json_escape(json_in *j, str *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = *j->p;
    const char *at = c ? strchr(from, c) : NULL;
    if (at) return j->p++, str_addc(out, to[at - from]), 0;
    if (c != 'u') return json_fail(j, "an escape");
    j->p++;
    unsigned code, low;
    if (json_hex(j, &code)) return -1;
    if (code >= 0xd800 && code < 0xdc00) {
        if (j->p[0] != '\\' || j->p[1] != 'u') return json_fail(j, "the second half of a surrogate pair");
        j->p += 2;
        if (json_hex(j, &low)) return -1;
        if (low < 0xdc00 || low > 0xdfff) return json_fail(j, "the second half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (!code) return json_fail(j, "text without NUL");
    return add_utf8(out, code), 0;
}

static int json_text(json_in *j, str *out)
{
    str_clear(out);
    if (json_expect(j, '"', "a text in quotes")) return -1;
    while (*j->p != '"') {
        if (!*j->p) return json_fail(j, "the closing quote");
        if (*j->p != '\\')
            str_addc(out, *j->p++);
        else if (j->p++, json_escape(j, out))
            return -1;
    }
    j->p++;
    return 0;
}

static int json_scalar(json_in *j, str *out)
{
    json_blanks(j);
    if (*j->p == '"') return json_text(j, out);
    size_t n = strspn(j->p, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    double number;
    str_clear(out);
    str_addn(out, j->p, n);
    if (!same(str_text(out), "true") && !same(str_text(out), "false") && !parse_real(str_text(out), &number))
        return json_fail(j, "a text, a number, true or false");
    j->p += n;
    return 0;
}

/* Translates keys of versions without norm and block plugins: `norm` was the block's order (post or pre),
 * layer_norm_eps the norm's only setting. */
static void read_first_names(settings *set, arena *a)
{
    const char *order = settings_get(set, "norm"), *eps = settings_get(set, "layer_norm_eps");
    if (!eps) return;
    for (size_t i = 0; i < set->n; i++)
        if (same(set->at[i].key, "layer_norm_eps")) set->at[i].key = "layer_norm.eps";
    settings_set(set, "block", same(order, "pre") ? "pre_norm" : "post_norm", a);
    settings_set(set, "norm", "layer_norm", a);
}

static int read_object(json_in *j, str *key, str *value, settings *out, arena *a)
{
    if (json_expect(j, '{', "{")) return -1;
    for (bool more = !json_read(j, '}'); more;) {
        if (json_text(j, key) || json_expect(j, ':', ":") || json_scalar(j, value)) return -1;
        const char *now = config_new_name(str_text(key)), *name = now ? now : str_text(key);
        if (settings_get(out, name)) return fail(j->e, "stored config: found %s twice, expected it once", name);
        settings_set(out, name, str_text(value), a);
        more = json_read(j, ',');
        if (!more && json_expect(j, '}', ", or }")) return -1;
    }
    json_blanks(j);
    return *j->p ? json_fail(j, "nothing more") : 0;
}

int config_from_json(const char *json, settings *out, arena *a, err *e)
{
    json_in j = {json, json, e};
    CLEANUP(str_free) str key = {0}, value = {0};
    if (read_object(&j, &key, &value, out, a)) return -1;
    read_first_names(out, a);
    return 0;
}
