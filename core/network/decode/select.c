/* select.c - the most likely tokens of a row, and the mean of several models, by the instruction set in use. */
#include "network/decode/select.h"
#include "tensor/cpu/cpu.h"

extern const select_table_t select_table_generic;
#ifdef __x86_64__
extern const select_table_t select_table_avx2, select_table_avx512, select_table_avx512_bf16;
#endif
static const select_table_t *const tables[ISA_COUNT] = {
    [ISA_GENERIC] = &select_table_generic,
#ifdef __x86_64__
    [ISA_AVX2] = &select_table_avx2,
    [ISA_AVX512] = &select_table_avx512,
    [ISA_AVX512_BF16] = &select_table_avx512_bf16,
    [ISA_AMX] = &select_table_avx512_bf16,
#endif
};

void select_more(selection *s, const void *logits, dtype type, int64_t end, const uint8_t *allowed)
{
    tables[cpu_isa()]->more(s, logits, type, end, allowed);
}
int64_t select_end(selection *s, double *sum) { return tables[cpu_isa()]->end(s, sum); }
int64_t select_best(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *sum)
{
    selection s = select_begin(k, out);
    select_more(&s, logits, type, v, allowed);
    return select_end(&s, sum);
}
void opinion_more(opinion *o, const void *logits, dtype type, int64_t end)
{
    tables[cpu_isa()]->weigh(o, logits, type, end);
}
bool select_from_all(selection *s, const opinion *const *of, int64_t n, int64_t v, const uint8_t *allowed)
{
    double log_sum[MOST_OPINIONS];
    float p[CHUNK];
    bool numbers = true;
    for (int64_t k = 0; k < n; k++) {
        log_sum[k] = of[k]->sum.shift + log(of[k]->sum.sum);
        numbers = numbers && !isnan(log_sum[k]);
    }
    s->probabilities = true;
    for (int64_t at = 0; at < v && numbers; at += CHUNK) {
        int64_t end = v - at < CHUNK ? v : at + CHUNK;
        double share[MOST_OPINIONS], most = 0; /* of the chunk's largest probabilities */
        for (int64_t k = 0; k < n; k++) most += share[k] = exp((double)of[k]->top[at / CHUNK] - log_sum[k]) / (double)n;
        /* 1e-5: what floats round */
        if (s->n < s->k || most * (1 + 1e-5) >= s->best[0].logit) {
            tables[cpu_isa()]->mean(p, of, share, n, at, end - at);
            tables[cpu_isa()]->more(s, p, F32, end, allowed);
        }
        s->seen = end;
    }
    return numbers;
}
