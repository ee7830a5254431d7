/* strip_tiles.h - tiles of a product that stay in registers, of rows of fp32 and of fp64 (strip_tiles.inc). */
#pragma once
#include "tensor/cpu/vectors.h"
enum { TILE_VECTORS = 2 };
#define OF_EACH_REAL "tensor/cpu/strip_tiles.inc"
#include "tensor/cpu/each_real.h"
