/* groups.c - reads parameter_groups and assigns each parameter to a group. */
#include "network/model/groups.h"
#include "base/cleanup.h"
#include "network/model/parametrization.h"
#include <fnmatch.h>

static const char *const kinds[] = {[AB_WEIGHT] = "weight",
                                    [AB_BIAS] = "bias",
                                    [AB_GAIN] = "norm",
                                    [AB_EMBEDDING] = "embedding",
                                    [AB_TABLE] = "position"};

typedef struct { /* one group being read */
    model *m;
    int number;
    const char *text;
    err *e;
} reading;

static int refuse_group(const reading *r, const char *message)
{
    return fail(r->e, "parameter_groups: '%s': %s", r->text, message);
}

/* ---- choosing parameters ---- */

static ab_parameter_kind kind_named(const char *word)
{
    for (size_t k = 1; k < LENGTH(kinds); k++)
        if (same(word, kinds[k])) return (ab_parameter_kind)k;
    return 0;
}

/* Adds the parameters that match a word, unless an earlier group has them. Fails if no parameter matches. */
static int choose(const reading *r, const char *word)
{
    ab_parameter_kind kind = kind_named(word);
    params *s = &r->m->params;
    size_t matched = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->p[i].buffer || (kind ? s->p[i].kind != kind : fnmatch(word, s->p[i].name, 0) != 0)) continue;
        matched++;
        if (!s->p[i].group) s->p[i].group = r->number;
    }
    if (matched) return 0;
    CLEANUP(str_free) str known = {0};
    for (size_t k = 1; k < LENGTH(kinds); k++) str_addf(&known, "%s%s", k > 1 ? ", " : "", kinds[k]);
    return fail(r->e,
                "parameter_groups: '%s' matches no parameter of this model; expected a kind (%s) or a pattern of "
                "names, such as %s or *.w",
                word, str_text(&known), s->n ? s->p[0].name : "embed");
}

/* ---- reading settings ---- */

/* Reads "decay=0" into `set` as adamw.decay, or "lr=0.5" as the group's factor. */
static int read_setting(const reading *r, param_group *g, settings *set, char *word)
{
    const ab_plugin *d = &r->m->optimizer->desc;
    char *value = strchr(word, '=');
    if (!value || value == word || !value[1])
        return fail(r->e, "parameter_groups: '%s': found '%s', expected KEY=VALUE", r->text, word);
    *value++ = 0;
    if (same(word, "lr")) {
        if (!parse_real(value, &g->lr) || !(g->lr >= 0) || g->lr > 1e6)
            return fail(r->e, "parameter_groups: '%s': lr=%s, expected a factor on the learning rate, from 0 to 1e6",
                        r->text, value);
        return 0;
    }
    if (param_find(d->params, word)) {
        settings_set(set, arena_printf(&r->m->memory, "%s.%s", d->name, word), value, &r->m->memory);
        return 0;
    }
    CLEANUP(str_free) str known = {0};
    for (const ab_option *p = d->params; p && p->name; p++) str_addf(&known, ", %s", p->name);
    return fail(r->e, "parameter_groups: '%s': optimizer %s has no parameter '%s'; expected lr%s", r->text, d->name,
                word, str_text(&known));
}

static int read_group(const reading *r)
{
    model *m = r->m;
    param_group *g = &m->groups[r->number];
    char *text = arena_strdup(&m->memory, r->text), *colon = strchr(text, ':'), *save = NULL;
    settings set = {0};
    *g = (param_group){.text = r->text, .lr = 1, .cfg = arena_alloc(&m->memory, m->optimizer->desc.cfg_size + 16)};
    if (!colon) return refuse_group(r, "expected PATTERN ... : KEY=VALUE ...");
    *colon = 0;
    int n = 0;
    for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save), n++)
        if (choose(r, w)) return -1;
    if (!n) return refuse_group(r, "expected a kind or a pattern of names before the colon");
    for (size_t i = 0; i < m->set.n; i++) settings_set(&set, m->set.at[i].key, m->set.at[i].value, &m->memory);
    n = 0;
    for (char *w = strtok_r(colon + 1, " \t", &save); w; w = strtok_r(NULL, " \t", &save), n++)
        if (read_setting(r, g, &set, w)) return -1;
    if (!n) return refuse_group(r, "expected KEY=VALUE after the colon");
    const ab_plugin *d = &m->optimizer->desc;
    if (d->params && config_bind(&set, d->name, d->params, g->cfg, &m->memory, r->e))
        return fail_in(r->e, "parameter_groups: '%s': ", r->text);
    return 0;
}

/* Reads the groups, which are separated by |. */
static int read_groups(model *m, err *e)
{
    char *save = NULL, *all = arena_strdup(&m->memory, m->cfg.parameter_groups);
    if (!all[strspn(all, " \t")]) return 0;
    for (char *w = strtok_r(all, "|", &save); w; w = strtok_r(NULL, "|", &save)) {
        w += strspn(w, " \t");
        for (size_t n = strlen(w); n && (w[n - 1] == ' ' || w[n - 1] == '\t'); n--) w[n - 1] = 0;
        if (m->n_groups == MOST_GROUPS) return fail(e, "parameter_groups: found more than %d groups", MOST_GROUPS - 1);
        if (read_group(&(reading){m, m->n_groups, w, e})) return -1;
        m->n_groups++;
    }
    return 0;
}

/* Puts matrices in separate groups, because mup lowers their learning rate in wider models (parametrization.h). */
static int split_matrices(model *m, double ratio, err *e)
{
    int before = m->n_groups;
    for (int g = 0; g < before && ratio != 1; g++) {
        int own = -1;
        for (size_t i = 0; i < m->params.n; i++) {
            param *p = &m->params.p[i];
            if (p->group != g || !p->fan_in) continue;
            if (own < 0 && m->n_groups == MOST_GROUPS)
                return fail(e, "parametrization = mup: found more than %d groups of parameters", MOST_GROUPS - 1);
            if (own < 0) own = m->n_groups++;
            p->group = own;
        }
        if (own < 0) continue;
        m->groups[own] = m->groups[g];
        m->groups[own].lr /= ratio;
        m->groups[own].text =
            arena_printf(&m->memory, "%s%smatrices: lr=%g", m->groups[g].text, g ? ", " : "", m->groups[own].lr);
    }
    return 0;
}

/* ---- slots ---- */

static void shape_slot(void *self, const param *p, uint32_t i, int64_t dim[4])
{
    const model *m = self;
    ab_parameter of = model_parameter(p);
    m->optimizer->iface.optimizer.slot_shape(m->groups[p->group].cfg, &of, i, dim);
    for (int k = 0; k < 4; k++)
        if (dim[k] < 0) dim[k] = 0;
}

int groups_make(model *m, err *e)
{
    const ab_optimizer_plugin *rule = &m->optimizer->iface.optimizer;
    m->groups = arena_alloc(&m->memory, MOST_GROUPS * sizeof *m->groups);
    m->groups[0] = (param_group){.text = "", .lr = 1, .cfg = m->optimizer_cfg};
    m->n_groups = 1;
    if (read_groups(m, e) || parametrization_check(m, e) || split_matrices(m, width_ratio(&m->cfg), e)) return -1;
    for (size_t i = 0; i < m->params.n; i++) {
        if (m->params.p[i].buffer) continue;
        param_group *g = &m->groups[m->params.p[i].group];
        g->parameters++, g->numbers += (int64_t)m->params.p[i].count;
    }
    params_order(&m->params, m->n_groups);
    params_shape_slots(&m->params, rule->n_slots, rule->slot_shape ? shape_slot : NULL, m);
    return 0;
}

void groups_describe(const model *m, str *out)
{
    for (int i = 1; i < m->n_groups; i++)
        str_addf(out, "%s%s (%lld parameters, %lld numbers)", i > 1 ? " | " : "", m->groups[i].text,
                 (long long)m->groups[i].parameters, (long long)m->groups[i].numbers);
}
