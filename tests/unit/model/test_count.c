/* Parameter counts of the paper's Table 3: the traced model, the formula of the recipe, and the printed
 * millions agree. Vocabulary 40,960, one shared table, biases everywhere. "big" is printed as 213 there; this
 * vocabulary gives 214. */
#include "cpu/cpu.h"
#include "model/model.h"
#include "test.h"

typedef struct {
    const char *row, *key[2], *value[2];
    double millions;
} row;

static const row rows[] = {
    {"base", {0}, {0}, 65},
    {"A heads=1", {"heads"}, {"1"}, 65},
    {"A heads=4", {"heads"}, {"4"}, 65},
    {"A heads=16", {"heads"}, {"16"}, 65},
    {"A heads=32", {"heads"}, {"32"}, 65},
    {"B d_k=16", {"d_k", "d_v"}, {"16", "64"}, 58},
    {"B d_k=32", {"d_k", "d_v"}, {"32", "64"}, 60},
    {"C layers=2", {"layers"}, {"2"}, 36},
    {"C layers=4", {"layers"}, {"4"}, 50},
    {"C layers=8", {"layers"}, {"8"}, 80},
    {"C d_model=256", {"d_model"}, {"256"}, 28},
    {"C d_model=1024", {"d_model"}, {"1024"}, 168},
    {"C d_ff=1024", {"d_ff"}, {"1024"}, 53},
    {"C d_ff=4096", {"d_ff"}, {"4096"}, 90},
};

static void check_row(const row *r)
{
    enum { V = 40960 };
    arena a = {0};
    settings set = {0};
    config c;
    err e = {0};
    for (const ab_param *p = config_params; p->name; p++)
        settings_put(&set, p->name, param_default(p, &a), &a);
    for (int i = 0; i < 2 && r->key[i]; i++) settings_put(&set, r->key[i], r->value[i], &a);
    CHECK_INT(config_from_settings(&set, &c, &a, &e), 0);
    double formula = (double)model_count_formula(&c, V);
    printf("%-16s %.2f M\n", r->row, formula / 1e6);
    CHECK_NEAR(round(formula / 1e6), r->millions, 0);
    if (same(r->row, "base")) CHECK_NEAR(formula / 1e6, 65.110016, 1e-9);
    settings_put(&set, "d_model", c.d_model > 256 ? "64" : "32",
                 &a); /* the trace, at a size that is quick to fill in */
    settings_put(&set, "d_ff", "96", &a);
    model m;
    CHECK_INT(model_open(&m, &set, 101, 101, F32, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(params_count(&m.params), model_count_formula(&m.cfg, 101));
    model_free(&m);
    arena_free(&a);
}

/* A position whose table ends refuses, with its key, what lies behind the end; others reach everything. */
static void check_reach(const char *position, const char *key, const char *value, int64_t reach)
{
    arena a = {0};
    settings set = {0};
    err e = {0};
    model m;
    static const char *const small[][2] = {{"d_model", "16"}, {"d_ff", "16"}, {"heads", "2"}, {"layers", "1"}};
    for (const ab_param *p = config_params; p->name; p++) settings_put(&set, p->name, param_default(p, &a), &a);
    for (size_t i = 0; i < LENGTH(small); i++) settings_put(&set, small[i][0], small[i][1], &a);
    settings_put(&set, "position", position, &a);
    if (key) settings_put(&set, key, value, &a);
    CHECK_INT(model_open(&m, &set, 20, 20, F32, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(model_check_reach(&m, reach, "of this", &e), 0);
    CHECK_TEXT(e.text, "");
    if (key) {
        char *words = xprintf("%s = %s: expected at least %lld, because of this", key, value, (long long)reach + 1);
        CHECK_INT(model_check_reach(&m, reach + 1, "of this", &e), -1);
        CHECK_TEXT(e.text, words);
        free(words);
    }
    model_free(&m);
    arena_free(&a);
}

/* The learned values of one layer of an attention whose names begin with `prefix`, without memory for them. */
static int64_t count_below(const char *const (*keys)[2], size_t n, const char *prefix)
{
    arena a = {0};
    settings set = {0};
    err e = {0};
    model m;
    int64_t sum = 0;
    for (const ab_param *p = config_params; p->name; p++) settings_put(&set, p->name, param_default(p, &a), &a);
    settings_put(&set, "layers", "1", &a);
    for (size_t i = 0; i < n; i++) settings_put(&set, keys[i][0], keys[i][1], &a);
    CHECK_INT(model_open_to_count(&m, &set, 20, 20, F32, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
    for (size_t i = 0; i < m.params.n; i++)
        if (has_prefix(m.params.p[i].name, prefix)) sum += (int64_t)m.params.p[i].count;
    model_free(&m);
    arena_free(&a);
    return sum;
}

/* W_V of 8,192 x 8,192 as two factors of rank 128: 2,097,152 numbers, 3.125 % of it. Fewer heads of keys and values are fewer numbers. */
static void check_mixers(void)
{
    static const char *const low_rank[][2] = {{"attention", "low_rank_value"}, {"low_rank_value.rank", "128"}, {"d_model", "8192"}, {"heads", "64"}};
    static const char *const grouped[][2] = {{"attention", "grouped_query"}, {"grouped_query.kv_heads", "2"}, {"d_model", "64"}, {"heads", "8"}};
    int64_t v = count_below(low_rank, LENGTH(low_rank), "enc.0.self.v_");
    CHECK_INT(v, 2097152);
    CHECK_NEAR((double)v / (8192.0 * 8192.0), 0.03125, 0);
    CHECK_INT(count_below(grouped, LENGTH(grouped), "enc.0.self.k"), 64 * 2 * 8 + 2 * 8);
    CHECK_INT(count_below(grouped, LENGTH(grouped), "enc.0.self.q"), 64 * 64 + 64);
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    for (size_t i = 0; i < LENGTH(rows); i++) check_row(&rows[i]);
    check_mixers();
    check_reach("learned", "learned.max_len", "4", 4);
    check_reach("sinusoid", "sinusoid.max_len", "7", 7);
    check_reach("rotary", NULL, NULL, 1000000);
    check_reach("none", NULL, NULL, 1000000);
    return test_end();
}
