/* select.c - the likeliest tokens of a row or of the mean of several models, computed with this CPU's instructions. */
#include "network/decode/select.h"
#include "tensor/cpu/cpu.h"

extern const select_table_t select_table_generic;
#ifdef __x86_64__
#define DECLARE(NAME, name, kernels) extern const select_table_t select_table_##kernels;
CPU_SETS(DECLARE)
#endif
static const select_table_t *const tables[ISA_COUNT] = {[ISA_GENERIC] = &select_table_generic,
#ifdef __x86_64__
#define ROW(NAME, name, kernels) [ISA_##NAME] = &select_table_##kernels,
                                                        CPU_SETS(ROW)
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
    return tables[cpu_isa()]->from_all(s, of, n, v, allowed);
}
