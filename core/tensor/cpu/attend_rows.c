/* attend_rows.c - the parts of attention that depend on how rows are stored. */
#include "tensor/cpu/attend.h"
#include "tensor/cpu/vectors.h"

#define OF_EACH_TYPE "tensor/cpu/attend_rows.inc"
#include "tensor/cpu/each_type.h"

const row_kind *rows_as(dtype type) { return type == F64 ? &rows_as_f64 : type == F32 ? &rows_as_f32 : &rows_as_bf16; }
