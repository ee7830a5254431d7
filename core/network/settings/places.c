/* places.c - settings of single layers: reads their keys, and finds the one that applies to a layer. */
#include "network/settings/places.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const place_names[PLACES] = {"encoder", "decoder", "cross"};
static const char *const layer_keys[] = {
    "attention", "heads",        "d_k",  "d_v",  "attention_dropout", "bias",
    "position",  "feed_forward", "norm", "d_ff", "dropout",           "activation_dropout"};
enum { OF_CROSS = 6 }; /* cross-attention has only the first six keys */

const char place_expects[] =
    "[layers PLACE] or [layers PLACE FROM-TO], or a key layers.PLACE.KEY or layers.PLACE.FROM-TO.KEY: PLACE is "
    "encoder, decoder or cross; layers count from 0; KEY is attention, heads, d_k, d_v, attention_dropout, bias or a "
    "parameter of a plugin, and outside cross also position, feed_forward, norm, d_ff, dropout or activation_dropout";

static bool read_layer(const char **p, int64_t *out)
{
    if (!isdigit((unsigned char)**p) || strspn(*p, "0123456789") > 3) return false;
    char *end;
    *out = strtol(*p, &end, 10);
    *p = end;
    return true;
}

bool place_key_read(const char *key, place_key *out)
{
    if (!has_prefix(key, PLACE_PREFIX)) return false;
    const char *p = key + strlen(PLACE_PREFIX);
    size_t n = strcspn(p, ".");
    *out = (place_key){.place = -1, .to = INT64_MAX};
    for (int i = 0; i < PLACES; i++)
        if (strlen(place_names[i]) == n && !strncmp(place_names[i], p, n)) out->place = i;
    if (out->place < 0 || !p[n]) return false;
    p += n + 1;
    if (isdigit((unsigned char)*p)) {
        if (!read_layer(&p, &out->from)) return false;
        out->to = out->from;
        if (*p == '-' && (p++, !read_layer(&p, &out->to) || out->to <= out->from)) return false;
        if (*p++ != '.') return false;
    }
    out->key = p;
    if (strchr(p, '.')) return !has_prefix(p, PLACE_PREFIX) && *p != '.';
    for (size_t i = 0; i < (out->place == PLACE_CROSS ? OF_CROSS : LENGTH(layer_keys)); i++)
        if (same(layer_keys[i], p)) return true;
    return false;
}

const char *place_inner(const char *key)
{
    place_key k;
    return place_key_read(key, &k) ? k.key : key;
}

static int64_t width(const place_key *k) { return k->to == INT64_MAX ? k->to : k->to - k->from + 1; }

const char *place_value(const settings *s, int place, int64_t layer, const char *inner)
{
    const char *best = NULL;
    int64_t narrowest = 0;
    for (size_t i = 0; i < s->n; i++) {
        place_key k;
        if (!place_key_read(s->at[i].key, &k) || k.place != place || layer < k.from || layer > k.to ||
            !same(k.key, inner) || (best && width(&k) >= narrowest))
            continue;
        best = s->at[i].value, narrowest = width(&k);
    }
    return best;
}

void place_settings(const settings *s, int place, int64_t layer, settings *out, arena *a)
{
    for (size_t i = 0; i < s->n; i++)
        if (!has_prefix(s->at[i].key, PLACE_PREFIX)) settings_set(out, s->at[i].key, s->at[i].value, a);
    for (size_t i = 0; i < s->n; i++) {
        place_key k;
        if (!place_key_read(s->at[i].key, &k)) continue;
        const char *value = place_value(s, place, layer, k.key);
        if (value) settings_set(out, same(k.key, "attention") ? config_attention_keys[place] : k.key, value, a);
    }
}

/* ---- patterns ---- */

int place_pattern(const char *text, const char ***names, size_t *n, arena *a, err *e)
{
    enum { MOST = 256 };
    const char *p = text;
    *n = 0;
    if (!isdigit((unsigned char)*p) || text[strspn(text, "0123456789 ")] != '*') return 0;
    *names = arena_alloc(a, MOST * sizeof **names);
    for (;;) {
        int64_t count;
        p += strspn(p, " ");
        bool counted = read_layer(&p, &count);
        p += strspn(p, " ");
        if (!counted || *p != '*' || count < 1 || *n + (size_t)count > MOST)
            return fail(e, "found \"%s\", expected a pattern such as 3*linear + 1*scaled_dot of at most %d layers",
                        text, MOST);
        p += 1 + strspn(p + 1, " ");
        const char *name = arena_strndup(a, p, strcspn(p, " +"));
        if (!*name) return fail(e, "found \"%s\", expected a plugin's name after each *", text);
        for (int64_t i = 0; i < count; i++) (*names)[(*n)++] = name;
        p += strcspn(p, " +");
        p += strspn(p, " ");
        if (!*p) return 0;
        if (*p++ != '+') return fail(e, "found \"%s\", expected + between the parts of a pattern", text);
    }
}

/* ---- resolving ---- */

static int64_t layers_of(const config *c, int place)
{
    return place == PLACE_ENCODER ? c->layers_encoder : c->layers_decoder;
}

static int spread_pattern(const settings *given, const char **attention, int place, const config *c, settings *out,
                          arena *a, err *e)
{
    const char **names;
    size_t n;
    if (place_pattern(*attention, &names, &n, a, e)) return fail_in(e, "attention_%s: ", place_names[place]);
    if (!n) return 0;
    for (size_t i = 0; i < given->n; i++) {
        place_key k;
        if (place_key_read(given->at[i].key, &k) && k.place == place && same(k.key, "attention"))
            return fail(e, "%s: found together with the pattern attention_%s = %s, expected one of them",
                        given->at[i].key, place_names[place], *attention);
    }
    *attention = names[0];
    for (int64_t i = 1; i < layers_of(c, place); i++)
        if (!same(names[(size_t)i % n], names[0]))
            settings_set(out, arena_printf(a, PLACE_PREFIX "%s.%lld.attention", place_names[place], (long long)i),
                         names[(size_t)i % n], a);
    return 0;
}

/* Computes d_k or d_v from a section's heads, if d_k or d_v is auto in that section. */
static int set_width(const settings *given, const char *key, const place_key *k, const char *what, const config *c,
                     settings *out, arena *a, err *e)
{
    const char *prefix = arena_strndup(a, key, (size_t)(k->key - key));
    const char *own = settings_get(given, arena_printf(a, "%s%s", prefix, what)),
               *heads = settings_get(given, arena_printf(a, "%sheads", prefix));
    int64_t n = c->heads;
    if (!same(own ? own : settings_get(given, what), "auto")) return 0;
    if (heads) parse_int(heads, &n);
    if (c->d_model % n)
        return fail(e, "%sheads: found %lld with d_model = %lld and %s = auto, expected a divisor of d_model", prefix,
                    (long long)n, (long long)c->d_model, what);
    const char *value = arena_printf(a, "%lld", (long long)(c->d_model / n));
    settings_set(out, arena_printf(a, "%s%s", prefix, what), value, a);
    return 0;
}

static int check_one(const settings *given, const char *key, const place_key *k, const config *c, err *e)
{
    int64_t n = layers_of(c, k->place);
    if (k->to != INT64_MAX && k->to >= n)
        return fail(e, "%s: found layer %lld, expected layers from 0 to %lld", key, (long long)k->to, (long long)n - 1);
    for (size_t i = 0; i < given->n; i++) {
        place_key other;
        if (same(given->at[i].key, key) || !place_key_read(given->at[i].key, &other)) continue;
        if (other.place == k->place && same(other.key, k->key) && width(&other) == width(k) && other.from <= k->to &&
            other.to >= k->from)
            return fail(e,
                        "%s and %s: found two ranges of equal length that overlap, expected one of them to be shorter",
                        key, given->at[i].key);
    }
    return 0;
}

int places_resolve(const settings *given, config *c, settings *out, arena *a, err *e)
{
    const char **attention[PLACES] = {&c->attention_encoder, &c->attention_decoder, &c->attention_cross};
    for (int i = 0; i < PLACES; i++)
        if (spread_pattern(given, attention[i], i, c, out, a, e)) return -1;
    const char **all;
    size_t n;
    if (place_pattern(c->attention, &all, &n, a, e)) return fail_in(e, "attention: ");
    if (n) c->attention = all[0]; /* a pattern has set the roles; this key must name one plugin */
    for (size_t i = 0; i < given->n; i++) {
        const char *key = given->at[i].key;
        place_key k;
        if (!place_key_read(key, &k)) continue;
        if (check_one(given, key, &k, c, e)) return -1;
        settings_set(out, key, given->at[i].value, a);
    }
    for (size_t i = 0; i < given->n; i++) {
        const char *key = given->at[i].key;
        place_key k;
        if (!place_key_read(key, &k) || !(same(k.key, "heads") || same(k.key, "d_k") || same(k.key, "d_v"))) continue;
        if (set_width(given, key, &k, "d_k", c, out, a, e) || set_width(given, key, &k, "d_v", c, out, a, e)) return -1;
    }
    return 0;
}
