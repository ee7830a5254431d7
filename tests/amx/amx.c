/* amx.c - emulates AMX for a processor that lacks it. A program that preloads this library finds AMX tiles and uses
 * them: each AMX instruction raises SIGILL, and the handler here computes the instruction's result after Intel's
 * Software Developer's Manual (volume 2, chapter 3 and "TDPBF16PS", "TILELOADD", ...). So tests run the compiled
 * kernels unchanged. The processor must have AVX-512 with bf16. If it has AMX, the library does nothing. TDPBF16PS is
 * the only product emulated; any other ends the program with SIGILL. */
#include <cpuid.h>
#ifndef bit_AMX_TILE /* clang 14 */
#define bit_AMX_BF16 (1 << 22)
#define bit_AMX_TILE (1 << 24)
#endif
#include <dlfcn.h>
#include <immintrin.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/platform/x86.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };
typedef struct { /* the 64 bytes in memory that LDTILECFG reads */
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} configuration;

static bool emulated;
/* the program's own action for SIGILL, used for instructions that are not emulated here */
static struct sigaction programs;
static _Thread_local configuration config;
static _Thread_local _Alignas(64) uint8_t tile[TILES][ROWS][ROW_BYTES];

/* ---- reports AMX tiles to glibc and to the program ---- */

/* glibc's CPU features, with the bits of AMX set. */
const struct cpuid_feature *__x86_get_cpuid_feature_leaf(unsigned leaf)
{
    static struct cpuid_feature with_tiles;
    static const struct cpuid_feature *(*real)(unsigned);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "__x86_get_cpuid_feature_leaf");
    const struct cpuid_feature *f = real(leaf);
    if (!emulated || leaf != CPUID_INDEX_7) return f;
    with_tiles = *f;
    with_tiles.cpuid_array[3] |= bit_AMX_TILE | bit_AMX_BF16; /* edx */
    with_tiles.active_array[3] |= bit_AMX_TILE | bit_AMX_BF16;
    return &with_tiles;
}

/* Grants ARCH_REQ_XCOMP_PERM, by which a process asks Linux for tiles. */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    return emulated && number == SYS_arch_prctl && a[0] == 0x1023 ? 0
                                                                  : real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Keeps the program's handler for SIGILL: our handler calls the program's for instructions that are not emulated. */
int sigaction(int number, const struct sigaction *to, struct sigaction *from)
{
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    if (!emulated || number != SIGILL) return real(number, to, from);
    if (from) *from = programs;
    if (to) programs = *to;
    return 0;
}

/* ---- the instructions ---- */

static bool has_tile(int t) { return config.palette == 1 && config.rows[t] && config.row_bytes[t]; }

static bool load_configuration(const void *from)
{
    configuration c;
    memcpy(&c, from, sizeof c);
    memset(tile, 0, sizeof tile);
    if (c.palette > 1) return false;
    for (int t = 0; t < TILES; t++)
        if (c.row_bytes[t] > ROW_BYTES || c.rows[t] > ROWS) return false;
    config = c.palette ? c : (configuration){0};
    return true;
}

static bool move(int t, uint8_t *memory, int64_t stride, bool load)
{
    if (!has_tile(t)) return false;
    if (load) memset(tile[t], 0, sizeof tile[t]);
    for (int r = 0; r < config.rows[t]; r++, memory += stride)
        if (load)
            memcpy(tile[t][r], memory, config.row_bytes[t]);
        else
            memcpy(memory, tile[t][r], config.row_bytes[t]);
    return true;
}

/* TDPBF16PS: c[m,n] += a b. Within a row, one sum has the even products, another the odd ones, each by fused
 * multiply-adds; both sums are then added to c. Rounds to nearest; numbers below 2^-126 count as zero, as operands and
 * as results. */
__attribute__((target("avx512f"))) static bool multiply(int c, int a, int b)
{
    int m = config.rows[c], n = config.row_bytes[c] / 4, k = config.row_bytes[a] / 4;
    if (!has_tile(a) || !has_tile(b) || !has_tile(c) || a == b || b == c || a == c || config.rows[a] != m ||
        config.rows[b] != k || config.row_bytes[b] != 4 * n)
        return false;
    /* value of MXCSR: flush to zero, denormals are zero, round to nearest, no exceptions */
    enum { AS_TILES_DO = 0x9fc0 };
    unsigned before = _mm_getcsr();
    _mm_setcsr(AS_TILES_DO);
    for (int r = 0; r < m; r++) {
        __m512 even = _mm512_setzero_ps(), odd = even;
        for (int i = 0; i < k; i++) {
            uint32_t pair;
            memcpy(&pair, tile[a][r] + 4 * i, sizeof pair);
            __m512i x = _mm512_set1_epi32((int)pair), y = _mm512_load_si512(tile[b][i]),
                    high = _mm512_set1_epi32((int)0xffff0000);
            even = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
                                   _mm512_castsi512_ps(_mm512_slli_epi32(y, 16)), even);
            odd = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(x, high)),
                                  _mm512_castsi512_ps(_mm512_and_si512(y, high)), odd);
        }
        __m512 sum = _mm512_add_ps(_mm512_load_ps(tile[c][r]), _mm512_add_ps(even, odd));
        _mm512_mask_store_ps(tile[c][r], (__mmask16)((1u << n) - 1), sum);
    }
    _mm_setcsr(before);
    return true;
}

/* ---- decoding of AMX instructions: VEX.128 in three bytes, map 0F 38, W0 ---- */

typedef struct {
    uint8_t opcode, prefix; /* prefix: 0 is no prefix, 1 is byte 66, 2 F3, 3 F2 (hexadecimal) */
    int reg, vvvv, mod, rm; /* numbers of tiles, if mod is 3 */
    uint8_t *memory;        /* memory operand, if mod is not 3 */
    int64_t stride;
    int length;
} instruction;

static const int place[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
static int64_t register_of(const ucontext_t *c, int number) { return c->uc_mcontext.gregs[place[number]]; }

static bool decode(const ucontext_t *c, instruction *i)
{
    const uint8_t *start = (const uint8_t *)c->uc_mcontext.gregs[REG_RIP], *p = start;
    if (p[0] != 0xc4 || (p[1] & 0x1f) != 2 || (p[2] & 0x84)) return false;
    int x = p[1] & 0x40 ? 0 : 8, b = p[1] & 0x20 ? 0 : 8;
    *i = (instruction){.opcode = p[3],
                       .prefix = p[2] & 3,
                       .vvvv = ~p[2] >> 3 & 15,
                       .reg = p[4] >> 3 & 7,
                       .mod = p[4] >> 6,
                       .rm = p[4] & 7};
    p += 5;
    if (i->mod == 3) {
        i->length = (int)(p - start);
        return true;
    }
    int64_t address = 0;
    int base = i->rm + b;
    if (i->rm == 4) { /* a SIB byte follows; for tiles its index holds the stride of a row */
        int index = (*p >> 3 & 7) + x;
        if (index != 4) i->stride = (int64_t)((uint64_t)register_of(c, index) << (*p >> 6));
        base = (*p & 7) + b;
        p++;
    }
    int32_t wide = 0;
    bool no_base = (base & 7) == 5 && i->mod == 0;
    if (no_base || i->mod == 2) {
        memcpy(&wide, p, 4);
        p += 4;
    } else if (i->mod == 1)
        wide = (int8_t)*p++;
    i->length = (int)(p - start);
    address = no_base ? i->rm == 4 ? 0 : (int64_t)p
                      : register_of(c, base); /* without a SIB byte the address is relative to the next instruction */
    i->memory = (uint8_t *)(address + wide);
    return true;
}

/* Executes a 64-bit LEA, with a base and perhaps an index: compilers compute addresses with it between instructions on
 * tiles. LEA changes no flags. */
static bool skip_address(ucontext_t *c)
{
    const uint8_t *p = (const uint8_t *)c->uc_mcontext.gregs[REG_RIP];
    if ((p[0] & 0xf8) != 0x48 || p[1] != 0x8d) return false;
    int high = p[0], mod = p[2] >> 6, rm = p[2] & 7, to = (p[2] >> 3 & 7) | (high & 4 ? 8 : 0), base = rm;
    uint64_t address = 0;
    if (mod == 3 || (mod == 0 && rm == 5)) return false;
    p += 3;
    if (rm == 4) {
        int index = (*p >> 3 & 7) | (high & 2 ? 8 : 0);
        if (index != 4) address = (uint64_t)register_of(c, index) << (*p >> 6);
        base = *p++ & 7;
        if (mod == 0 && base == 5) return false;
    }
    address += (uint64_t)register_of(c, base | (high & 1 ? 8 : 0));
    if (mod == 1) address += (uint64_t)(int8_t)*p++;
    if (mod == 2) {
        int32_t wide;
        memcpy(&wide, p, sizeof wide);
        address += (uint64_t)wide, p += sizeof wide;
    }
    c->uc_mcontext.gregs[place[to]] = (int64_t)address;
    c->uc_mcontext.gregs[REG_RIP] = (int64_t)p;
    return true;
}

static bool execute(const instruction *i)
{
    enum { NONE, P66, PF3, PF2 };
    bool memory = i->mod != 3;
    switch (i->opcode << 4 | i->prefix) {
    case 0x49 << 4 | NONE:
        if (memory) return load_configuration(i->memory);
        memset(&config, 0, sizeof config); /* TILERELEASE */
        memset(tile, 0, sizeof tile);
        return true;
    case 0x49 << 4 | P66:
        if (memory) memcpy(i->memory, &config, sizeof config);
        return memory;
    case 0x49 << 4 | PF2:
        if (memory || !has_tile(i->reg)) return false;
        memset(tile[i->reg], 0, sizeof tile[0]);
        return true;
    case 0x4b << 4 | PF2:
    case 0x4b << 4 | P66: return memory && move(i->reg, i->memory, i->stride, true);
    case 0x4b << 4 | PF3: return memory && move(i->reg, i->memory, i->stride, false);
    case 0x5c << 4 | PF3: return !memory && multiply(i->reg, i->rm, i->vvvv);
    default: return false;
    }
}

static void on_illegal(int number, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    instruction i;
    bool done = false;
    /* AMX instructions that follow directly are emulated here, too: a signal for each would be slower */
    while (decode(c, &i) && execute(&i)) {
        c->uc_mcontext.gregs[REG_RIP] += i.length;
        done = true;
        while (skip_address(c)) continue;
    }
    if (done) return;
    static const char words[] =
        "amx.c: an instruction that is none of AMX's, or one on tiles that are not configured for it\n";
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0) _exit(1);
    if (programs.sa_flags & SA_SIGINFO)
        programs.sa_sigaction(number, info, context);
    else if (programs.sa_handler != SIG_DFL && programs.sa_handler != SIG_IGN)
        programs.sa_handler(number);
    signal(number, SIG_DFL); /* no handler: the instruction raises the signal again and ends the program */
}

__attribute__((constructor)) static void start(void)
{
    unsigned a, b, c, d;
    __builtin_cpu_init();
    bool tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & bit_AMX_TILE),
         avx512 = __builtin_cpu_supports("avx512f");
    if (tiles || !avx512) return;
    struct sigaction s = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    emulated = !sigaction(SIGILL, &s, NULL); /* `emulated` is still false, so this calls the real sigaction */
}
