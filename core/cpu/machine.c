/* machine.c - what this machine is, its threads, and their memory to work in. */
#include "cpu/fused.h"
#include <dnnl.h>
#include <stdlib.h>
#include <string.h>

static int wanted_threads;

bool cpu_has_bf16(void)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa(), bf16 = (unsigned)dnnl_cpu_isa_avx512_core_bf16;
    return (isa & bf16) == bf16;
}

void cpu_threads(int n)
{
    wanted_threads = n > 0 ? n : omp_get_max_threads(); /* OMP_NUM_THREADS is honoured */
    omp_set_num_threads(wanted_threads);
}

static void read_model(char *out, size_t n)
{
    snprintf(out, n, "unknown processor");
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f) return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        if (!has_prefix(line, "model name")) continue;
        char *value = strchr(line, ':');
        if (value) snprintf(out, n, "%s", trim(value + 1));
        break;
    }
    fclose(f);
}

const char *cpu_description(void)
{
    static char words[256];
    char model[128];
    read_model(model, sizeof model);
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();
    const char *set = "sse4.1";
    if ((isa & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx)
        set = "avx512 amx-bf16";
    else if (cpu_has_bf16())
        set = "avx512 bf16";
    else if ((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core)
        set = "avx512";
    else if ((isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2)
        set = "avx2";
    int threads = omp_get_max_threads();
    const dnnl_version_t *v = dnnl_version();
    snprintf(words, sizeof words, "%s, %d thread%s, %s, oneDNN %d.%d.%d", model, threads,
             threads == 1 ? "" : "s", set, v->major, v->minor, v->patch);
    return words;
}

void *scratch(size_t bytes)
{
    static _Thread_local struct {
        void *p;
        size_t size;
    } mine;
    if (mine.size >= bytes) return mine.p;
    free(mine.p);
    mine.size = (bytes + bytes / 2 + 4095) / 4096 * 4096;
    if (posix_memalign(&mine.p, 64, mine.size))
        broken("out of memory: %zu bytes wanted to work in", mine.size);
    return mine.p;
}
