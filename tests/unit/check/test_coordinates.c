/* muP: with muP, activations after a few updates do not depend on the width; without muP they do. Also tested: settings
 * that muP refuses. */
#include "test.h"
#include "network/check/coordinates.h"
#include "network/model/groups.h"
#include "network/model/model.h"
#include "tensor/cpu/cpu.h"

static arena memory;

static settings with(const char *const (*pairs)[2], size_t n)
{
    settings s = {0};
    for (size_t i = 0; i < n; i++) settings_set(&s, pairs[i][0], pairs[i][1], &memory);
    return s;
}
#define WITH(...) with((const char *const[][2]){__VA_ARGS__}, sizeof((const char *const[][2]){__VA_ARGS__}) / 16)
#define MUP                                                                                                            \
    {"parametrization", "mup"}, { "base_d_model", "32" }

typedef struct {
    coordinate of[MOST_COORDINATES];
    size_t n;
} measured;

static measured measure(settings s)
{
    measured m;
    err e = {0};
    m.n = coordinates_measure(&s, m.of, &e);
    CHECK_TEXT(e.text, "");
    CHECK(m.n > 0);
    return m;
}

static double slope_of_change(const measured *m, const char *name, int step)
{
    for (size_t i = 0; i < m->n; i++) {
        if (!same(m->of[i].name, name)) continue;
        printf("%s, step %lld:", name, (long long)coordinate_steps[step]);
        for (int w = 0; w < COORDINATE_WIDTHS; w++) printf(" %.4f", m->of[i].changed[step][w]);
        double slope = coordinate_slope(m->of[i].changed[step]);
        printf("  slope %.2f\n", slope);
        return slope;
    }
    CHECK(!"measured");
    return NAN;
}

static void refused(const char *why, settings s)
{
    model m;
    err e = {0};
    CHECK_INT(model_open(&m, &s, 0, 64, F32, &cpu_backend, &e), -1);
    CHECK_HAS(e.text, why);
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    measured standard = measure((settings){0}), mup = measure(WITH(MUP)), wide = measure(WITH(MUP, {"base_d_k", "4"}));
    CHECK(slope_of_change(&standard, "logits", 3) > 0.4);
    CHECK(fabs(slope_of_change(&mup, "logits", 3)) < 0.2);
    CHECK(slope_of_change(&standard, "dec.1.ffn", 3) > 0.6);
    CHECK(fabs(slope_of_change(&mup, "dec.1.ffn", 3)) < 0.2);
    CHECK(fabs(slope_of_change(&wide, "logits", 2)) < 0.25);
    /* at the base width, mup equals the standard parametrisation bit for bit */
    for (int s = 0; s < COORDINATE_STEPS; s++) CHECK_NEAR(standard.of[0].size[s][0], mup.of[0].size[s][0], 0);
#define PRE {"block", "pre_norm"}, {"schedule", "constant"}, {"d_model", "128"}, {"heads", "8"}, {"layers", "2"}
    refused("optimizer 'muon' cannot take part", WITH(MUP, PRE, {"optimizer", "muon"}));
    refused("schedule 'noam' cannot take part", WITH(MUP, {"d_model", "128"}, {"layers", "1"}));
    refused("block 'post_norm' cannot take part: base_layers",
            WITH(MUP, PRE, {"block", "post_norm"}, {"base_layers", "2"}));
    refused("there is no rule for the parameter 'dec", WITH(MUP, PRE, {"attention", "additive"}));
    refused("there is no rule for the parameter 'dec", WITH(MUP, PRE, {"position", "learned"}));
    static const char *const own_queries[] = {"grouped_query", "low_rank_value", "differential"};
    for (size_t i = 0; i < LENGTH(own_queries); i++)
        refused("base_d_k does not fit attention '", WITH(MUP, PRE, {"base_d_k", "4"}, {"attention", own_queries[i]}));
    refused("base_d_model: found 0 with parametrization = mup", WITH({"parametrization", "mup"}, PRE));
    refused("found with parametrization = standard", WITH({"base_d_model", "32"}, PRE));

    model m;
    err e = {0};
    str text = {0};
    settings s = WITH(MUP, PRE, {"optimizer", "adamw"}, {"parameter_groups", "norm: decay=0 lr=0.5 | *.ffn.*: lr=0.1"});
    CHECK_INT(model_open(&m, &s, 0, 64, F32, &cpu_backend, &e), 0);
    CHECK_TEXT(e.text, "");
    groups_describe(&m, &text);
    CHECK_HAS(str_text(&text), "matrices: lr=0.25 (");
    CHECK_HAS(str_text(&text), "*.ffn.*: lr=0.1, matrices: lr=0.025 (");
    str_free(&text);
    model_free(&m);
    arena_free(&memory);
    return test_end();
}
