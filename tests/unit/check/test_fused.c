/* Fused attention against composed operations, in fp64 and fp32, at every instruction set of this machine: rotations,
 * windows, tables of vectors by distance, score programs and recurrences. `ablate check` does this at the current
 * instruction set. */
#include "network/check/internal.h"
#include "tensor/cpu/cpu.h"
#include "services.h"
#include "test.h"

static const struct {
    ab_kind kind;
    const char *name;
} parts[] = {{AB_POSITION, "rotary"},           {AB_POSITION, "shaw"},          {AB_ATTENTION, "restricted"},
             {AB_ATTENTION, "gated_delta_net"}, {AB_ATTENTION, "sink"},         {AB_ATTENTION, "sigmoid"},
             {AB_ATTENTION, "entmax"},          {AB_ATTENTION, "differential"}, {AB_ATTENTION, "moba"}};

int main(void)
{
    use_plugins();
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (size_t i = 0; i < LENGTH(parts); i++) {
            const plugin *p = plugin_find(parts[i].kind, parts[i].name, &e);
            check_result r = {.outcome = CHECK_OK, .bound = 1, .measured = -1};
            CHECK_TEXT(e.text, "");
            if (p) check_fused(p, &r);
            printf("%s, %s: %s %.2g %s\n", cpu_isa_name(isa), parts[i].name, r.outcome == CHECK_OK ? "ok" : "fails",
                   r.measured, r.message);
            CHECK_INT(r.outcome, CHECK_OK);
            CHECK(r.measured > 0 && r.measured <= 1);
        }
    }
    return test_end();
}
