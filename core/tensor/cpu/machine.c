/* machine.c - description of this machine, its threads, and their working memory. */
#include "tensor/cpu/fused.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

bool cpu_has_bf16(void) { return cpu_isa() >= ISA_AVX512_BF16; }

void cpu_threads(int n) { omp_set_num_threads(n > 0 ? n : omp_get_max_threads()); /* OMP_NUM_THREADS is honoured */ }

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
    static char text[256];
    char model[128];
    read_model(model, sizeof model);
    int threads = omp_get_max_threads();
    snprintf(text, sizeof text, "%s, %d thread%s, %s", model, threads, threads == 1 ? "" : "s",
             cpu_isa_name(cpu_isa()));
    return text;
}

/* Frees a thread's working memory when the thread ends. */
static pthread_key_t thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void make_key(void) { (void)pthread_key_create(&thread_end, free); }

void *scratch(size_t bytes)
{
    static _Thread_local struct {
        void *p;
        size_t size;
    } mine;
    if (mine.size >= bytes) return mine.p;
    pthread_once(&once, make_key);
    free(mine.p);
    mine.size = (bytes + bytes / 2 + 4095) / 4096 * 4096;
    if (posix_memalign(&mine.p, 64, mine.size)) out_of_memory(mine.size);
    (void)pthread_setspecific(thread_end, mine.p);
    return mine.p;
}
