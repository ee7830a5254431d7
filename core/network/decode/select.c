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

size_t select_scratch(int64_t v) { return tables[cpu_isa()]->scratch(v); }
int64_t select_best(const void *logits, dtype type, int64_t v, const uint8_t *allowed, int64_t k, choice *out,
                    double *log_sum, void *scratch)
{
    return tables[cpu_isa()]->best(logits, type, v, allowed, k, out, log_sum, scratch);
}
void ensemble_row(float *out, const opinion *of, int64_t n, int64_t row, int64_t v, float *work)
{
    tables[cpu_isa()]->mean(out, of, n, row, v, work);
}
