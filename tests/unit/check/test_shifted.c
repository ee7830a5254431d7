/* ab_shift and ab_depthwise_conv against their definitions on packed sentences, in double precision; and the widths of
 * their learned values. `ablate check` tests that decoding gives the same (canon, token_shift, block_shifts). */
#include "network/check/internal.h"
#include "services.h"
#include "network/plugin/attention_context.h"

enum { N = 3, SENTENCES = 3, ROWS = 10, BEFORE = 2, BEHIND = 1 };
static const int32_t offset[] = {0, 4, 5, ROWS};

/* Returns the row `by` rows before row r in its sentence, or -1 if there is none. */
static int moved(int r, int by)
{
    int s = 0;
    while (offset[s + 1] <= r) s++;
    return r + by >= offset[s] && r + by < offset[s + 1] ? r + by : -1;
}

int main(void)
{
    static const int shifts[] = {1, 3, -2, 7};
    params values = {0};
    use_plugins();
    ab_ctx *c = tape_new(&values, &cpu_backend, F64, false);
    ab_t x = t_input(c, "x", F64, PHASE_STEP, 1, 1, ROWS, N), off = t_ids(c, SENTENCES + 1, offset);
    attn_context k = {.info = {.heads = 1, .d_k = N, .d_v = N, .d_model = N, .n_layers = 1, .role = AB_SELF},
                      .x = x,
                      .mem = x,
                      .q_rows = ROWS,
                      .k_rows = ROWS,
                      .batch = SENTENCES,
                      .q_time = 5,
                      .k_time = 5,
                      .q_off = off,
                      .k_off = off,
                      .klen = t_ids(c, SENTENCES, (int32_t[]){4, 1, 5}),
                      .mixes_tokens = true};
    c->attn = &k, c->hook = AB_IN_FEED_FORWARD, c->scope = "";
    for (size_t i = 0; i < LENGTH(shifts); i++)
        t_keep(c, host_table.shift(c, x, shifts[i]), arena_printf(&c->memory, "shift %d", shifts[i]));
    CHECK_INT(host_table.shift(c, x, 0).id, x.id);
    t_keep(c, host_table.depthwise_conv(c, x, "w", BEFORE, BEHIND), "conv");
    c->attn = NULL, c->hook = AB_IN_HOST;
    params_alloc(&values, F64, 0, 3, &cpu_backend);
    const param *w = params_find(&values, "w");
    CHECK_INT(w->dim[2], BEFORE + 1 + BEHIND);
    CHECK_INT(w->dim[3], N);
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    double *in = tape_at(c, tape_find(c, "x"))->data, *weight = (double *)values.value + w->at;
    for (int i = 0; i < ROWS * N; i++) in[i] = check_hashed(1, (uint64_t)i);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    CHECK_TEXT(c->error.text, "");
    for (size_t i = 0; i < LENGTH(shifts); i++) {
        char name[32];
        snprintf(name, sizeof name, "shift %d", shifts[i]);
        const double *y = tape_at(c, tape_find(c, name))->data;
        for (int r = 0; r < ROWS; r++)
            for (int j = 0; j < N; j++) {
                int from = moved(r, -shifts[i]);
                CHECK_NEAR(y[r * N + j], from < 0 ? 0 : in[from * N + j], 0);
            }
    }
    const double *y = tape_at(c, tape_find(c, "conv"))->data;
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int i = 0; i <= BEFORE + BEHIND; i++)
                if (moved(r, i - BEFORE) >= 0) sum += weight[i * N + j] * in[moved(r, i - BEFORE) * N + j];
            CHECK_NEAR(y[r * N + j], sum, 1e-15);
        }
    tape_free(c);
    params_free(&values);
    return test_end();
}
