/* attend_rows.c - the parts of attention that depend on how rows are stored. */
#include "tensor/cpu/attend.h"
#include "tensor/cpu/vectors.h"

#define S f32
#include "tensor/cpu/attend_rows.inc"
#undef S
#define S f64
#include "tensor/cpu/attend_rows.inc"
#undef S
#define S bf16
#include "tensor/cpu/attend_rows.inc"
#undef S

const row_kind *rows_as(dtype type) { return type == F64 ? &rows_as_f64 : type == F32 ? &rows_as_f32 : &rows_as_bf16; }
