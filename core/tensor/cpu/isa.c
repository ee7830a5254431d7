/* isa.c - detects the machine's instruction sets and selects one. */
#include "tensor/cpu/isa.h"
#include "tensor/cpu/floor.h"
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>
#endif
#endif
#endif

extern const cpu_table_t cpu_table_generic;
#ifdef __x86_64__
#define DECLARE(NAME, name, kernels) extern const cpu_table_t cpu_table_##kernels;
CPU_SETS(DECLARE)

/* ---- why this machine cannot use a set; NULL: usable ---- */

#define NEEDS(feature)                                                                                                 \
    if (!__builtin_cpu_supports(feature)) return "not supported by this processor: " feature;
/* Two features that clang before 16 cannot name. The operating system supports both if it supports AVX2. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c >> 29 & 1;
}
static bool has_avx_vnni(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1;
}

static const char *avx2_lacks(void)
{
    NEEDS("avx2")
    NEEDS("fma")
    return has_f16c() ? NULL : "not supported by this processor: f16c";
}
static const char *avx512_lacks(void)
{
    NEEDS("avx512f")
    NEEDS("avx512bw")
    NEEDS("avx512vl")
    NEEDS("avx512dq")
    return avx2_lacks();
}
static const char *avx512_bf16_lacks(void)
{
    NEEDS("avx512bf16")
    return avx512_lacks();
}
static const char *amx_lacks(void)
{
    if (!cpu_table_avx512_bf16.has_tiles) return "not in this program, whose compiler had no AMX instructions";
#ifdef CPU_FEATURE_ACTIVE /* asks the C library; tests/amx, which emulates AMX, answers in its place */
    if (!CPU_FEATURE_ACTIVE(AMX_TILE)) return "not supported by this processor: amx-tile";
    if (!CPU_FEATURE_ACTIVE(AMX_BF16)) return "not supported by this processor: amx-bf16";
#else
    NEEDS("amx-tile")
    NEEDS("amx-bf16")
#endif
#ifdef __linux__
    enum { ASK = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM: Linux enables tiles on request */
    if (syscall(SYS_arch_prctl, ASK, TILE_DATA)) return "the Linux kernel refused AMX tiles (ARCH_REQ_XCOMP_PERM)";
    return avx512_bf16_lacks();
#else
    return "AMX tiles are supported on Linux only";
#endif
}
#endif
static const char *generic_lacks(void) { return NULL; }

static const struct {
    const char *name;
    const cpu_table_t *table;
    const char *(*lacks)(void);
} sets[] = {[ISA_GENERIC] = {"generic", &cpu_table_generic, generic_lacks},
#ifdef __x86_64__
#define ROW(NAME, name, kernels) [ISA_##NAME] = {#name, &cpu_table_##kernels, name##_lacks},
            CPU_SETS(ROW)
#endif
};
static struct {
    const char *lacks[LENGTH(sets)]; /* why a set cannot run; NULL: the set can run */
    int in_use;
    bool asked, vnni_forbidden;
} here = {.in_use = -1};

static void ask(void)
{
    if (here.asked) return;
    for (size_t i = 0; i < LENGTH(sets); i++) here.lacks[i] = sets[i].lacks();
    here.asked = true;
}

const char *cpu_isa_name(int isa) { return isa >= 0 && (size_t)isa < LENGTH(sets) ? sets[isa].name : NULL; }
const char *cpu_isa_lacks(int isa)
{
    ask();
    return (size_t)isa < LENGTH(sets) ? here.lacks[isa] : "not for this family of processors";
}

/* Intel's cores since Sapphire Rapids need two cycles for a vdpbf16ps, half the speed of fp32 (bench_cpu_floor):
 * without tiles, bf16 rows are faster multiplied as floats. */
const char *cpu_isa_slower(int isa)
{
#ifdef __x86_64__
    if (isa == ISA_AVX512_BF16 && __builtin_cpu_is("intel"))
        return "Intel's vdpbf16ps has half the speed of fp32; bf16 is multiplied as fp32";
#endif
    (void)isa;
    return NULL;
}

static int find(const char *name, int *isa, err *e)
{
    char known[128] = "";
    for (size_t i = 0; i < LENGTH(sets); i++) {
        if (same(sets[i].name, name)) {
            *isa = (int)i;
            return here.lacks[i] ? fail(e, "instruction set %s: %s; `ablate list devices` lists what is here", name,
                                        here.lacks[i])
                                 : 0;
        }
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", sets[i].name);
    }
    return fail(e, "instruction set '%s': expected one of %s", name, known);
}

int cpu_use(const char *name, err *e)
{
    int isa = ISA_GENERIC;
    const char *forced = getenv("ABLATE_ISA");
    ask();
    if (name) {
        if (find(name, &isa, e)) return -1;
    } else if (forced && *forced) {
        if (find(forced, &isa, e)) return fail_in(e, "ABLATE_ISA: ");
    } else
        for (size_t i = 0; i < LENGTH(sets); i++)
            if (!here.lacks[i] && !cpu_isa_slower((int)i)) isa = (int)i;
    here.in_use = isa;
    return 0;
}

int cpu_isa(void)
{
    if (here.in_use >= 0) return here.in_use;
    err e = {0};
    if (cpu_use(NULL, &e)) broken("%s", e.text);
    return here.in_use;
}

/* ---- VNNI: only int8 products use it; a processor has it or not, whatever the set ---- */

void cpu_forbid_vnni(bool forbid) { here.vnni_forbidden = forbid; }
bool cpu_has_vnni(void)
{
#ifdef __x86_64__
    int isa = cpu_isa();
    if (here.vnni_forbidden || isa < ISA_AVX2) return false;
    return isa == ISA_AVX2 ? has_avx_vnni() : __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

/* ---- the backend's functions: call the kernels of the set in use ---- */

static const cpu_table_t *table(void) { return sets[cpu_isa()].table; }

#define CPU_DISPATCH(name, in, out, where, place, attributes, doc)                                                     \
    CPU_##where(int cpu_##name(const call *k, err *e) { return table()->kernels[OP_##name](k, e); })
OPS(CPU_DISPATCH)
int cpu_run_tiled(ab_ctx *c, const tiling *t, const run_options *o) { return table()->run_tiled(c, t, o); }
double cpu_sum_squares(const void *v, int64_t n, dtype type) { return table()->sum_squares(v, n, type); }
void cpu_accumulate(void *sum, const void *v, int64_t n, dtype type) { table()->accumulate(sum, v, n, type); }
void cpu_floors(double *flops, double *bytes) { table()->floors(flops, bytes); }
