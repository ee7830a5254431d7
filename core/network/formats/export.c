/* export.c - checks that a model has a counterpart, gathers its tensors, and lets the format write them. */
#include "network/formats/format.h"
#include "base/cleanup.h"
#include "network/model/parametrization.h"
#include "network/settings/places.h"
#include <math.h>

static const model_format *const formats[] = {&format_ctranslate2, &format_marian, &format_llama, &format_gguf};

/* ---- refusals ---- */

void format_refuse(exporting *x, const char *key, const char *value, const char *why)
{
    str_addf(&x->refused, "%s%s = %s has no counterpart in %s%s%s", x->refused.n ? "\n" : "", key, value,
             x->format->program, why ? ": " : "", why ? why : "");
}

void format_refuse_real(exporting *x, const char *key, double value, const char *why)
{
    char text[32];
    format_refuse(x, key, format_real(value, text), why);
}

static bool listed(const char *values, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = values; s; s = strchr(s, '|') ? strchr(s, '|') + 1 : NULL)
        if (!strncmp(s, word, n) && (!s[n] || s[n] == '|')) return true;
    return false;
}

static const plugin *plugin_of(const model *m, const char *key)
{
#define FIND(NAME, name, ...)                                                                                          \
    if (same(key, #name)) return m->name;
    AB_MODEL_KINDS(FIND)
    broken("network/formats: the rule for the key %s names no kind of plugin", key);
}

/* Refuses plugins of kinds newer than the formats, unless they are the usual ones. A head may add a loss. */
static void check_newer_kinds(exporting *x)
{
#define KIND(NAME, name, ...) AB_##NAME,
    static const ab_kind kinds[] = {AB_MODEL_KINDS(KIND)};
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        const kind_facts *k = &config_kinds[kinds[i]];
        const plugin *used = plugin_of(x->m, k->name);
        bool fits = kinds[i] == AB_HEAD ? !used->iface.head.logits : !k->since || same(used->desc.name, k->usual);
        if (!fits) format_refuse(x, k->name, used->desc.name, NULL);
    }
}

/* Refuses attentions without a counterpart. If all roles share an attention, refuses it once. */
static void check_attention(exporting *x, const char *values)
{
    const plugin *const *at = x->m->attention, *only = at[ROLE_DECODER];
    bool one = true;
    for (int r = 0; r < ROLES; r++) one &= !at[r] || at[r] == only;
    for (int r = 0; r < ROLES; r++)
        if (at[r] && !listed(values, at[r]->desc.name) && (!one || r == ROLE_DECODER))
            format_refuse(x, one ? "attention" : config_attention_keys[r], at[r]->desc.name, NULL);
}

/* Refuses mup: it multiplies embeddings, queries, sublayers' outputs and logits by numbers that no tensor contains. */
static void check_parametrization(exporting *x)
{
    const config *c = &x->m->cfg;
    bool same_numbers = width_ratio(c) == 1 && !query_factor(c) && sublayer_factor(c, c->layers_decoder) == 1 &&
                        (!model_has_encoder(x->m) || sublayer_factor(c, c->layers_encoder) == 1);
    if (!same_numbers)
        format_refuse(x, "parametrization", "mup", "it does not scale embeddings and logits by the width");
}

static void check_rules(exporting *x)
{
    for (size_t i = 0; i < x->m->set.n; i++) {
        const setting *one = &x->m->set.at[i];
        place_key k;
        ab_kind kind = model_plugin_kind(one->key);
        err none = {0};
        if (!place_key_read(one->key, &k)) continue;
        const plugin *p = kind ? plugin_find(kind, one->value, &none) : NULL;
        format_refuse(x, one->key, p ? p->desc.name : one->value, "all its layers have the same settings");
    }
    for (const setting_rule *r = x->format->rules; r->key; r++) {
        if (same(r->key, "attention")) {
            check_attention(x, r->values);
            continue;
        }
        const char *name = plugin_of(x->m, r->key)->desc.name;
        if (!listed(r->values, name)) format_refuse(x, r->key, name, NULL);
    }
    check_newer_kinds(x);
    check_parametrization(x);
    if (x->m->cfg.char_ngrams) format_refuse_real(x, "char_ngrams", (double)x->m->cfg.char_ngrams, NULL);
}

/* ---- settings that formats read ---- */

double format_setting(const exporting *x, const char *key)
{
    double v = NAN;
    const char *text = settings_get(&x->m->set, key);
    if (text && (same(text, "true") || same(text, "false"))) return same(text, "true");
    if (text && parse_real(text, &v)) return v;
    const plugin *const all[] = {x->m->attention[ROLE_DECODER], x->m->position, x->m->feed_forward, x->m->norm};
    for (size_t i = 0; i < LENGTH(all); i++)
        for (const ab_option *p = all[i]->desc.params; p && p->name; p++) {
            size_t n = strlen(all[i]->desc.name);
            if (!strncmp(key, all[i]->desc.name, n) && key[n] == '.' && same(key + n + 1, p->name)) return p->def;
        }
    broken("network/formats: no setting %s", key);
}

double format_eps(const exporting *x)
{
    char key[80];
    snprintf(key, sizeof key, "%s.eps", x->m->norm->desc.name);
    return format_setting(x, key);
}

bool format_attention_bias(const exporting *x)
{
    static const char *const names[] = {"dec.0.self.qkv.b", "dec.0.self.q.b", "dec.0.self.o.b"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (params_find(&x->m->params, names[i])) return true;
    return false;
}

int64_t format_window(const exporting *x)
{
    int64_t n = x->m->cfg.max_length;
    const char *text = settings_get(&x->m->set, "lm.context");
    if (text) parse_int(text, &n);
    return n;
}

bool format_gated(const exporting *x)
{
    const char *name = x->m->feed_forward->desc.name;
    return same(name, "swiglu") || same(name, "geglu");
}

void format_check_heads(exporting *x)
{
    const config *c = &x->m->cfg;
    const char *why = "it has d_model / heads";
    if (c->d_k * c->heads != c->d_model) format_refuse_real(x, "d_k", (double)c->d_k, why);
    if (c->d_v * c->heads != c->d_model) format_refuse_real(x, "d_v", (double)c->d_v, why);
}

int64_t format_inner(const exporting *x)
{
    const param *p = params_find(&x->m->params, "dec.0.ffn.1.w");
    return p ? p->dim[3] : x->m->cfg.d_ff;
}

int64_t format_kv_heads(const exporting *x)
{
    const param *p = params_find(&x->m->params, "dec.0.self.k.w");
    return p ? p->dim[3] / x->m->cfg.d_k : x->m->cfg.heads;
}

/* ---- files ---- */

void format_le(str *out, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) str_addc(out, (char)(v >> (8 * i) & 255));
}

void format_f32(str *out, double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    format_le(out, bits, 4);
}

int format_write(exporting *x, const char *name, const void *data, size_t n, err *e)
{
    AUTOFREE char *path = path_join(x->folder, name);
    int rc = file_write(path, data, n, e);
    x->files += !rc;
    return rc;
}

int format_write_text(exporting *x, const char *name, str *text, err *e)
{
    int rc = format_write(x, name, text->s, text->n, e);
    str_free(text);
    return rc;
}

int format_write_vocabulary(exporting *x, const char *name, const vocab *v, bool ids, err *e)
{
    str out = {0};
    for (int32_t i = 0; i < vocab_size(v); i++) {
        str_add(&out, i ? ",\n  " : ids ? "{\n  " : "[\n  ");
        json_string(&out, vocab_token(v, i));
        if (ids) str_addf(&out, ": %d", i);
    }
    str_add(&out, ids ? "\n}\n" : "\n]\n");
    return format_write_text(x, name, &out, e);
}

int format_write_pieces(exporting *x, err *e)
{
    const struct {
        const char *name;
        const vocab *v;
    } sides[] = {{"source.spm", x->src}, {"target.spm", x->tgt}};
    for (size_t i = 0; i < LENGTH(sides); i++) {
        size_t n = 0;
        const void *model = sides[i].v ? vocab_pieces(sides[i].v, &n) : NULL;
        if (model && format_write(x, sides[i].name, model, n, e)) return -1;
    }
    return 0;
}

int format_write_safetensors(exporting *x, err *e)
{
    CLEANUP(str_free) str out = {0};
    str file = {0};
    size_t at = 0;
    json_open(&out, NULL, '{');
    json_open(&out, "__metadata__", '{');
    json_key_text(&out, "format", "pt");
    str_addc(&out, '}');
    for (size_t i = 0; i < x->n; i++) {
        const format_tensor *t = &x->at[i];
        if (t->alias) continue;
        json_open(&out, t->name, '{');
        json_key_text(&out, "dtype", "F32");
        json_open(&out, "shape", '[');
        str_addf(&out, "%lld", (long long)t->dim[0]);
        if (t->rank == 2) str_addf(&out, ",%lld", (long long)t->dim[1]);
        str_addf(&out, "],\"data_offsets\":[%zu,%zu]}", at, at + t->bytes);
        at += t->bytes;
    }
    str_addc(&out, '}');
    while (out.n % 8) str_addc(&out, ' ');
    format_le(&file, out.n, 8);
    str_addn(&file, out.s, out.n);
    for (size_t i = 0; i < x->n; i++)
        if (!x->at[i].alias) str_addn(&file, x->at[i].data, x->at[i].bytes);
    return format_write_text(x, "model.safetensors", &file, e);
}

/* ---- the export ---- */

int tensors_gather(exporting *x, err *e); /* tensors.c */

static const model_format *find_format(const char *name, bool encoder, err *e)
{
    const char *other = NULL;
    for (size_t i = 0; i < LENGTH(formats); i++) {
        if (!same(formats[i]->name, name)) continue;
        if (formats[i]->encoder == encoder) return formats[i];
        other = formats[i]->program;
    }
    if (other)
        fail(e, "the model is %s, which %s does not open: expected --format %s",
             encoder ? "an encoder-decoder" : "decoder-only", other,
             encoder ? "ctranslate2 or huggingface" : "huggingface or gguf");
    else
        fail(e, "--format %s: expected ctranslate2, huggingface or gguf", name);
    return NULL;
}

/* The factor on a role's queries, needed because every format multiplies scores by exactly 1 / sqrt(d_k). */
static double query_scale(const exporting *x, int role)
{
    const plugin *p = x->m->attention[role];
    const char *name = p ? p->desc.name : "";
    if (same(name, "dot")) return sqrt((double)x->m->cfg.d_k);
    return same(name, "scaled_dot") ? 1 / format_setting(x, "scaled_dot.temperature") : 1;
}

/* Our columns are sin, cos, sin, cos ...; the format wants all sines first. */
static int64_t *sines_first(exporting *x)
{
    int64_t d = x->m->cfg.d_model, *order = arena_alloc(&x->memory, (size_t)d * sizeof *order), half = (d + 1) / 2;
    for (int64_t i = 0; i < d; i++) order[i] = i < half ? 2 * i : 2 * (i - half) + 1;
    return order;
}

static int run(exporting *x, err *e)
{
    check_rules(x);
    if (x->format->check) x->format->check(x);
    if (x->refused.n) return fail(e, "%s", str_text(&x->refused));
    for (int r = 0; r < ROLES; r++) x->query_scale[r] = query_scale(x, r);
    if (x->format->halves) x->order = sines_first(x);
    if (tensors_gather(x, e) || make_folders(x->folder, e)) return -1;
    return x->format->write(x, e);
}

int model_export(model *m, const vocab *src, const vocab *tgt, const char *format, const char *folder, size_t *files,
                 err *e)
{
    exporting x = {.m = m, .src = src, .tgt = tgt, .folder = folder};
    if (m->bidirectional) return fail(e, "no format for a decoder without causal mask, of a task such as masked");
    x.format = find_format(format, model_has_encoder(m), e);
    float *values = x.format ? params_host(&m->params, 0, e) : NULL;
    if (!values) return -1;
    x.values = values;
    x.used = xcalloc(m->params.n + 1, sizeof *x.used);
    int rc = run(&x, e);
    params_host_done(&m->params, 0, values, false);
    *files = x.files;
    free(x.used);
    free(x.at);
    str_free(&x.refused);
    arena_free(&x.memory);
    return rc;
}
