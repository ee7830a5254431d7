/* Attention in bf16 at every instruction set, with activations of queries, keys and values, which are fp32: results are
 * finite and differ from fp64 by bf16's rounding at most, on each fused path and in decoding. */
#include "network/check/internal.h"
#include "network/decode/steps.h"
#include "tensor/cpu/cpu.h"
#include "services.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>

enum { MAPS = 15, FORMS = 3 };

static void set(int which, int map, int form)
{
    err e = {0};
    char text[64];
    const int value[] = {which, map, form};
    static const char *const key[] = {"which", "map", "form"};
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "activated.%s=%d", key[i], value[i]);
        CHECK_INT(check_set(text, &e), 0);
    }
}

static void check_with(const plugin *p, const char *isa, int which, int map, int form)
{
    set(which, map, form);
    check_result r = {.outcome = CHECK_OK, .bound = 0.3, .measured = -1};
    check_each_pairing(p, &r, check_bf16);
    if (r.outcome != CHECK_OK) printf("%s, which %d, map %d, form %d: %s\n", isa, which, map, form, r.message);
    CHECK_INT(r.outcome, CHECK_OK);
    CHECK(isfinite(r.measured) && r.measured > 0);
}

/* Computes the logits of the last of five decoding steps for one sentence. */
static void decode(const pairing *w, dtype compute, double out[CHECK_VOCAB])
{
    enum { STEPS = 5 };
    err e = {0};
    model m;
    steps d;
    int64_t which = 0, at[2] = {0, 4};
    int32_t ids[4] = {VOCAB_SPECIALS, VOCAB_SPECIALS + 3, VOCAB_SPECIALS + 1, VOCAB_EOS}, token = VOCAB_BOS, parent = 0;
    pairs one = {.n = 1, .src = ids, .src_at = at};
    CHECK_INT(check_model_open(&m, w, &(model_kind){.compute = compute}, &e), 0);
    steps_open(&d, &m);
    CHECK_INT(steps_start(&d, &one, &which, 1, 1, STEPS, &e), 0);
    for (int t = 0; t < STEPS && !e.text[0]; t++, token = VOCAB_SPECIALS + t) {
        const void *logits = steps_run(&d, &token, &e);
        dtype type = tape_at(d.tape, tape_find(d.tape, "logits"))->type;
        for (size_t i = 0; logits && i < CHECK_VOCAB; i++) out[i] = number_at(logits, type, i);
        steps_follow(&d, &parent);
    }
    CHECK_TEXT(e.text, "");
    steps_close(&d);
    model_free(&m);
}

static void check_decoding(const plugin *p, int form)
{
    pairing *w;
    check_result r = {.outcome = CHECK_OK};
    double exact[CHECK_VOCAB], found[CHECK_VOCAB];
    set(7, 0, form);
    for (size_t i = check_pairings(p, &w, &r); i--;) {
        decode(&w[i], F64, exact);
        decode(&w[i], BF16, found);
        for (int k = 0; k < CHECK_VOCAB; k++) CHECK_NEAR(found[k], exact[k], 0.1);
    }
    free(w);
}

int main(void)
{
    err e = {0};
    use_plugins();
    cpu_threads(1);
    const plugin *p = plugin_load(BUILD_DIR "/sabotage/activated.so", &e);
    CHECK_TEXT(e.text, "");
    for (int isa = 0; p && cpu_isa_name(isa); isa++) {
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (int form = 0; form < FORMS; form++) {
            for (int map = 0; map < MAPS; map++)
                if (test_long() || map % FORMS == form) check_with(p, cpu_isa_name(isa), 7, map, form);
            for (int which = 1; which < 7; which++)
                if (test_long() || which % FORMS == form) check_with(p, cpu_isa_name(isa), which, 0, form);
            check_decoding(p, form);
        }
    }
    return test_end();
}
