/* tiles.c - whether AMX tiles are in use, and the only shape of tile used: sixteen rows of 64 bytes. */
#include "tensor/cpu/tiles.h"
#include "tensor/cpu/cpu.h"

#ifdef HAVE_TILES
bool tiles_usable(void) { return cpu_isa() == ISA_AMX; }

void tiles_begin(void)
{
    /* static, because GCC 12 assumes that only the first eight bytes are read and drops stores to the others */
    static const struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&config);
}
void tiles_end(void) { _tile_release(); }
#else
bool tiles_usable(void) { return false; }
void tiles_begin(void) {}
void tiles_end(void) {}
#endif
