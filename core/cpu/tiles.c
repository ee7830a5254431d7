/* tiles.c - asking for AMX tiles, and their one shape: sixteen rows of 64 bytes. */
#include "cpu/tiles.h"

#ifdef HAVE_TILES
#include <dnnl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool tiles_usable(void)
{
    enum { ASK = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM: the kernel gives tiles on request only */
    static int answer = -1;
    if (answer < 0) {
        unsigned amx = dnnl_cpu_isa_avx512_core_amx;
        answer =
            ((unsigned)dnnl_get_effective_cpu_isa() & amx) == amx && !syscall(SYS_arch_prctl, ASK, TILE_DATA);
    }
    return answer;
}

void tiles_begin(void)
{
    /* static: GCC 12 tells the instruction's asm of the first eight bytes only and drops stores to the others
     */
    static const struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {
        .palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&config);
}
void tiles_end(void) { _tile_release(); }
#else
bool tiles_usable(void) { return false; }
void tiles_begin(void) {}
void tiles_end(void) {}
#endif
