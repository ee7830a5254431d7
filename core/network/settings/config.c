/* config.c - resolves and hashes a run's settings. */
#include "network/settings/config.h"
#include "base/cleanup.h"

/* ---- resolving ---- */

static int per_head(const config *c, const char *key, int64_t *width, err *e)
{
    if (*width != CONFIG_AUTO) return 0;
    if (c->d_model % c->heads)
        return fail(e,
                    "%s = auto is d_model / heads, but found d_model = %lld, heads = %lld, which does not divide "
                    "evenly; expected heads that divide d_model, or %s as a number",
                    key, (long long)c->d_model, (long long)c->heads, key);
    *width = c->d_model / c->heads;
    return 0;
}

int config_seconds(const char *text, double *out, err *e)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    const char *p = text;
    *out = 0;
    if (same(text, "0")) return 0;
    do {
        char *end;
        size_t u = 0;
        double n = *p >= '0' && *p <= '9' ? strtod(p, &end) : -1;
        while (n > 0 && u < LENGTH(units) && units[u].unit != *end) u++;
        if (!(n > 0 && n < 1e9) || u == LENGTH(units))
            return fail(e, "found \"%s\", expected a time such as 90s, 30m, 3h or 1h30m, or 0", text);
        *out += n * units[u].seconds;
        p = end + 1;
    } while (*p);
    return 0;
}

int config_resolve(config *c, err *e)
{
    double seconds;
    if (config_seconds(c->max_time, &seconds, e)) return fail_in(e, "max_time: ");
    if (c->layers_encoder == CONFIG_AUTO) c->layers_encoder = c->layers;
    if (c->layers_decoder == CONFIG_AUTO) c->layers_decoder = c->layers;
    if (same(c->attention_encoder, "same")) c->attention_encoder = c->attention;
    if (same(c->attention_decoder, "same")) c->attention_decoder = c->attention;
    if (same(c->attention_cross, "same")) c->attention_cross = c->attention;
    if (per_head(c, "d_k", &c->d_k, e) || per_head(c, "d_v", &c->d_v, e)) return -1;
    if (c->average_checkpoints > c->keep_checkpoints)
        return fail(e,
                    "average_checkpoints: found %lld with keep_checkpoints = %lld, expected at most keep_checkpoints: "
                    "only kept checkpoints can be averaged",
                    (long long)c->average_checkpoints, (long long)c->keep_checkpoints);
    bool mup = c->parametrization == PARAMETRIZATION_MUP;
    if (mup && !c->base_d_model)
        return fail(e, "base_d_model: found 0 with parametrization = mup, expected the d_model at which lr was found");
    if (!mup && (c->base_d_model || c->base_d_k || c->base_layers))
        return fail(e, "base_d_model, base_d_k and base_layers: found with parametrization = standard, expected mup");
    if (c->start_step && (!*c->start_from || c->start_step >= c->steps))
        return fail(e,
                    "start_step: found %lld with start_from = %s and steps = %lld, expected less than "
                    "steps, and a run in start_from",
                    (long long)c->start_step, c->start_from, (long long)c->steps);
    if (c->lr_min > c->lr) return fail(e, "lr_min: found %g with lr = %g, expected at most lr", c->lr_min, c->lr);
    return 0;
}

int config_from_settings(const settings *s, config *out, arena *a, err *e)
{
    return config_bind(s, NULL, config_params, out, a, e) ? -1 : config_resolve(out, e);
}

/* ---- hash ---- */

static int by_key(const void *a, const void *b) { return strcmp(((const setting *)a)->key, ((const setting *)b)->key); }

void config_hash(const settings *s, char out[65])
{
    AUTOFREE setting *sorted = xmalloc((s->n + 1) * sizeof *sorted);
    if (s->n) memcpy(sorted, s->at, s->n * sizeof *sorted);
    for (size_t i = 0; i < s->n; i++) sorted[i].key = config_first_name(sorted[i].key);
    qsort(sorted, s->n, sizeof *sorted, by_key);
    CLEANUP(str_free) str text = {0};
    for (size_t i = 0; i < s->n; i++)
        if (config_is_hashed(sorted[i].key) && !config_came_later(sorted[i].key, sorted[i].value))
            str_addf(&text, "%s=%s\n", sorted[i].key, sorted[i].value);
    sha256_of(str_text(&text), text.n, out);
}

int experiment_name_check(const char *name, err *e)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    enum { LONGEST = 100 }; /* well below the 255 bytes of file systems */
    if (strlen(name) > LONGEST) return fail(e, "found a name of %zu bytes, expected at most %d", strlen(name), LONGEST);
    if (!*name || name[strspn(name, allowed)] || *name == '.' || *name == '-')
        return fail(e, "found \"%s\", expected only letters, digits, _ - and ., starting with a letter or digit", name);
    return 0;
}
