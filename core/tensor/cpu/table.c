/* table.c - the functions of one instruction set, its only external symbols (sets.cmake). */
#include "tensor/cpu/isa.h"
#include "tensor/cpu/floor.h"
#include "tensor/cpu/tiles.h"

extern const cpu_table_t cpu_table;
const cpu_table_t cpu_table = {
    .kernels = {OPS(CPU_ENTRY)},
    .run_tiled = cpu_run_tiled,
    .sum_squares = cpu_sum_squares,
    .accumulate = cpu_accumulate,
    .floors = cpu_floors,
#ifdef HAVE_TILES
    .has_tiles = true,
#endif
};
