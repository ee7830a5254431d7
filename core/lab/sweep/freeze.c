/* freeze.c - writes a spec to the database: rows with typed settings and plugins, and runs not yet started. */
#include "lab/sweep/sweep.h"
#include "base/base.h"
#include "network/model/model.h"
#include "network/plugin/plugin.h"
#include "network/settings/places.h"

static enum db_kind typed(const char *text, db_param *out)
{
    if (same(text, "true") || same(text, "false")) {
        out->i = same(text, "true");
        return DB_BOOL;
    }
    if (parse_int(text, &out->i)) return DB_INT;
    if (parse_real(text, &out->r)) return DB_REAL;
    out->s = text;
    return DB_TEXT;
}

/* Returns why this attention refuses its role (self, causal, cross) or its position plugin; NULL: it does not. */
static const char *unfit(const plugin *att, const plugin *pos, int role, arena *a)
{
    if (!(att->iface.attention.roles & role_bits[role]))
        return arena_printf(a, "attention %s does not support the role %s", att->desc.name,
                            config_attention_keys[role]);
    if (role != ROLE_CROSS && position_missing(pos, att))
        return arena_printf(a, "attention %s does not support the hooks of position %s", att->desc.name,
                            pos->desc.name);
    return NULL;
}

/* Returns why a part of this row refuses another one; NULL: none does. */
static const char *not_applicable(const spec_row *row, arena *a)
{
    err e = {0};
    const char *task = settings_get(&row->placed, "task");
    const char *ngrams = settings_get(&row->settings, "char_ngrams");
    bool encoder = plugin_task_has_source(task);
    if (!encoder && ngrams && !same(ngrams, "0"))
        return arena_printf(a, "char_ngrams composes tokens of the source, and task %s has no source", task);
    for (int i = 0; i < PLACES; i++) {
        int64_t layers = i == PLACE_ENCODER ? row->config.layers_encoder : row->config.layers_decoder;
        for (int64_t l = 0; l < layers && (encoder || i == PLACE_DECODER); l++) {
            const char *own = place_value(&row->placed, i, l, "attention"),
                       *place = place_value(&row->placed, i, l, "position");
            const plugin *att = plugin_find(AB_ATTENTION,
                                            own ? own : settings_get(&row->placed, config_attention_keys[i]), &e),
                         *pos = plugin_find(AB_POSITION, place ? place : settings_get(&row->placed, "position"), &e);
            const char *words = att && pos ? unfit(att, pos, i, a) : NULL;
            if (words) return words;
        }
    }
    return NULL;
}

static db_row_spec row_spec(const spec *s, size_t i, arena *a)
{
    const spec_row *row = &s->rows[i];
    db_param *params = arena_alloc(a, (row->settings.n + 1) * sizeof *params);
    for (size_t k = 0; k < row->settings.n; k++) {
        params[k].key = row->settings.at[k].key;
        params[k].kind = typed(row->settings.at[k].value, &params[k]);
        params[k].swept = settings_get(&row->swept, params[k].key) != NULL && !config_is_bookkeeping(params[k].key);
    }
    return (db_row_spec){.group = row->group,
                         .name = row->name,
                         .change = row->changed,
                         .is_base = row->is_base,
                         .same_as = row->same_as >= 0 ? s->rows[row->same_as].name : NULL,
                         .config_hash = row->hash,
                         .planned = *row->planned ? row->planned : NULL,
                         .config_json = row->json,
                         .params = params,
                         .n_params = row->settings.n,
                         .paper_row = row->paper_row,
                         .n_seeds = row->n_seeds,
                         .left_out = !row->run,
                         .not_applicable = not_applicable(row, a)};
}

int run_freeze(db *d, const spec *s, int argc, char **argv, db_frozen **frozen, size_t *n, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(str_free) str args = {0};
    db_row_spec *rows = arena_alloc(&a, (s->n_rows + 1) * sizeof *rows);
    int bad = 0;
    for (size_t i = 0; i < s->n_rows && !bad; i++) {
        CLEANUP(str_free) str plugins = {0};
        rows[i] = row_spec(s, i, &a);
        bad = model_plugins_json(&s->rows[i].placed, &plugins, e);
        rows[i].plugins_json = arena_strdup(&a, str_text(&plugins));
    }
    for (int i = 0; i < argc; i++) {
        str_addc(&args, i ? ',' : '[');
        json_string(&args, argv[i]);
    }
    str_addc(&args, ']');
    db_experiment_spec x = {.name = s->name,
                            .note = s->note,
                            .spec_ini = s->text,
                            .argv_json = str_text(&args),
                            .paper_table = *s->paper ? s->paper : NULL,
                            .analysis = analysis_write(&s->analysis, &a),
                            .rows = rows,
                            .n_rows = s->n_rows,
                            .seeds = s->seeds,
                            .n_seeds = s->n_seeds};
    return bad ? bad : db_freeze(d, &x, frozen, n, e);
}
