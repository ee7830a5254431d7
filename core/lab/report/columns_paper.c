/* columns_paper.c - columns beside a published table: the settings of the paper's Table 3, and its own numbers. */
#include "lab/report/columns.h"
#include "base/cleanup.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* ---- settings, next to the paper's Table 3 ---- */

/* Settings that have a column in Table 3. */
static const struct {
    const char *heading, *key;
} settings[] = {
    {"N", "layers"},    {"d_model", "d_model"}, {"d_ff", "d_ff"},      {"h", "heads"},
    {"d_k", "d_k"},     {"d_v", "d_v"},         {"P_drop", "dropout"}, {"ε_ls", "label_smoothing"},
    {"steps", "steps"},
};

size_t setting_columns(void) { return LENGTH(settings); }
const char *setting_heading(size_t i) { return settings[i].heading; }

/* Is `key` among the words of "heads=1 d_k=512"? */
static bool changes(const char *change, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = change; *p; p += strspn(p, " ")) {
        if (!strncmp(p, key, n) && p[n] == '=') return true;
        p += strcspn(p, " ");
    }
    return false;
}

const char *setting_text(const place *p, arena *a)
{
    const read_row *row = p->row->row;
    const gathered_row *base = gathered_base(p->g);
    const char *key = settings[p->i].key, *text = NULL;
    char real[32];
    cJSON *config = cJSON_Parse(row->config_json), *of_base = base ? cJSON_Parse(base->row->config_json) : NULL;
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(config, key);
    const cJSON *b = cJSON_GetObjectItemCaseSensitive(of_base, key);
    if (!v || !(row->is_base || !cJSON_Compare(v, b, true) || changes(row->change, key)))
        text = NULL;
    else if (cJSON_IsString(v))
        text = arena_strdup(a, v->valuestring);
    else if (cJSON_IsNumber(v) && v->valuedouble >= 10000 && fmod(v->valuedouble, 1000) == 0)
        text = arena_printf(a, "%.0fk", v->valuedouble / 1000);
    else if (cJSON_IsNumber(v))
        text = arena_strdup(a, format_real(v->valuedouble, real));
    cJSON_Delete(config);
    cJSON_Delete(of_base);
    return text;
}

const char *other_text(const place *p, arena *a)
{
    CLEANUP(str_free) str other = {0};
    for (const char *at = p->row->row->change; *at;) {
        size_t n = strcspn(at, " "), key = strcspn(at, "=");
        bool known = false;
        for (size_t i = 0; i < LENGTH(settings); i++)
            known = known || (strlen(settings[i].key) == key && !strncmp(settings[i].key, at, key));
        if (!known) {
            if (other.n) str_addc(&other, ' ');
            str_addn(&other, at, n);
        }
        at += n;
        at += strspn(at, " ");
    }
    return arena_strdup(a, str_text(&other));
}

/* ---- the published row ---- */

const char *published_cell(const place *p, arena *a)
{
    (void)a;
    return p->row->paper == NO_ROW ? NULL : p->g->paper.cells[p->row->paper * p->g->paper.n_columns + p->i];
}

void json_published(const read_published *p, size_t row, str *out)
{
    str_addc(out, '{');
    for (size_t k = 0; k < p->n_columns; k++) {
        const char *text = p->cells[row * p->n_columns + k];
        double v;
        json_key(out, p->columns[k]);
        if (!*text)
            str_add(out, "null");
        else if (k && parse_real(text, &v))
            json_number(out, v);
        else
            json_string(out, text);
    }
    str_addc(out, '}');
}

void published_json(const place *p, str *out)
{
    if (!p->g->has_paper) return;
    if (p->row->paper == NO_ROW)
        str_add(out, "null");
    else
        json_published(&p->g->paper, p->row->paper, out);
}

bool published_comes_first(const gathered *g) { return !same(g->paper.table, "table3"); }
