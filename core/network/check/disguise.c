/* disguise.c - shows a plugin other dates, files, environments and process numbers: replaces the C library's
 * functions in the plugin's relocations by stand-ins, which only the plugin calls. */
#include "network/check/internal.h"
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct {
    int64_t shift;   /* shift of the date [s] */
    int environment; /* 0: the true one; 1: empty; 2: every variable is "1"; 3: every variable is "no" */
} shown;

void check_disguise_as(int64_t seconds, int variables) { shown.shift = seconds, shown.environment = variables; }

static time_t other_time(time_t *to)
{
    time_t now = time(NULL) + shown.shift;
    if (to) *to = now;
    return now;
}
static int other_gettimeofday(struct timeval *to, void *zone)
{
    int rc = gettimeofday(to, zone);
    to->tv_sec += shown.shift, to->tv_usec = (to->tv_usec + shown.shift % 999983) % 1000000;
    return rc;
}
static int other_clock_gettime(clockid_t which, struct timespec *to)
{
    int rc = clock_gettime(which, to);
    to->tv_sec += shown.shift, to->tv_nsec = (to->tv_nsec + shown.shift % 999999937) % 1000000000;
    return rc;
}
static int other_timespec_get(struct timespec *to, int base)
{
    int rc = timespec_get(to, base);
    to->tv_sec += shown.shift;
    return rc;
}
static clock_t other_clock(void) { return clock() + (clock_t)shown.shift; }
static pid_t other_getpid(void) { return getpid() + (pid_t)(shown.shift % 30000); }
static char *other_getenv(const char *name)
{
    return shown.environment == 0 ? getenv(name) : shown.environment == 1 ? NULL : shown.environment == 2 ? "1" : "no";
}
static int other_gethostname(char *to, size_t n)
{
    if (!shown.shift) return gethostname(to, n);
    snprintf(to, n, "host%lld", (long long)(shown.shift % 1000));
    return 0;
}

/* The path to open instead of `path`: a path without a file, or in environment 2 an empty file. */
static const char *other_path(const char *path)
{
    return shown.environment == 0 ? path : shown.environment == 2 ? "/dev/null" : "/dev/null/none";
}
static FILE *other_fopen(const char *path, const char *mode) { return fopen(other_path(path), mode); }
static int other_access(const char *path, int mode) { return access(other_path(path), mode); }
static int other_open(const char *path, int flags, ...) { return open(other_path(path), flags & ~O_CREAT); }
static int other_stat(const char *path, struct stat *to) { return stat(other_path(path), to); }

static const struct {
    const char *name;
    void (*stand_in)(void);
} functions[] = {
#define FUNCTION(name)                                                                                                 \
    {                                                                                                                  \
#name, (void (*)(void))other_##name                                                                            \
    }
    FUNCTION(time),         FUNCTION(gettimeofday), FUNCTION(clock_gettime),
    FUNCTION(timespec_get), FUNCTION(clock),        FUNCTION(getpid),
    FUNCTION(getenv),       FUNCTION(gethostname),  {"secure_getenv", (void (*)(void))other_getenv},
    FUNCTION(fopen),        FUNCTION(access),       {"fopen64", (void (*)(void))other_fopen},
    FUNCTION(open),         FUNCTION(stat),         {"open64", (void (*)(void))other_open},
};

/* Does a relocation of this type hold the address of a symbol? */
static bool holds_address(uint64_t type)
{
#if defined(__x86_64__)
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#elif defined(__aarch64__)
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
#else
    return (void)type, false;
#endif
}

static bool replace(char *place, const char *name)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < LENGTH(functions); i++) {
        if (!same(functions[i].name, name)) continue;
        char *first = place - (uintptr_t)place % page; /* this page is read-only after loading */
        if (mprotect(first, page, PROT_READ | PROT_WRITE)) return false;
        memcpy(place, &functions[i].stand_in, sizeof functions[i].stand_in);
        return true;
    }
    return false;
}

size_t check_disguise(const plugin *p)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(p->desc.name, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return 0;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Rela) * table[2] = {0};
    size_t bytes[2] = {0}, n = 0;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB) symbols = at;
        if (d->d_tag == DT_STRTAB) names = at;
        if (d->d_tag == DT_RELA) table[0] = at;
        if (d->d_tag == DT_RELASZ) bytes[0] = d->d_un.d_val;
        if (d->d_tag == DT_JMPREL) table[1] = at;
        if (d->d_tag == DT_PLTRELSZ) bytes[1] = d->d_un.d_val;
    }
    for (int t = 0; t < 2 && symbols && names; t++)
        for (size_t i = 0; table[t] && i < bytes[t] / sizeof *table[t]; i++) {
            const ElfW(Rela) *r = &table[t][i];
            if (holds_address(ELF64_R_TYPE(r->r_info)))
                n += replace((char *)map->l_addr + r->r_offset, names + symbols[ELF64_R_SYM(r->r_info)].st_name);
        }
    return n;
}

/* AddressSanitizer would report the spaces between variables. */
__attribute__((no_sanitize("address"))) uint64_t check_statics(const plugin *p)
{
    Dl_info in;
    if (!dladdr(p->desc.name, &in)) return 0;
    const char *base = in.dli_fbase;
    const ElfW(Ehdr) *head = in.dli_fbase;
    const ElfW(Phdr) *h = (const void *)(base + head->e_phoff);
    size_t constant = 0; /* end of what is read-only once it is loaded */
    uint64_t sum = 0;
    for (size_t i = 0; i < head->e_phnum; i++)
        if (h[i].p_type == PT_GNU_RELRO) constant = h[i].p_vaddr + h[i].p_memsz;
    for (size_t i = 0; i < head->e_phnum; i++) {
        size_t from = h[i].p_vaddr > constant ? h[i].p_vaddr : constant, to = h[i].p_vaddr + h[i].p_memsz;
        for (size_t k = from; k < to && h[i].p_type == PT_LOAD && h[i].p_flags & PF_W; k++)
            sum = (sum ^ (uint8_t)base[k]) * 0x100000001b3; /* as in hash64 */
    }
    return sum;
}
