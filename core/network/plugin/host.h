/* host.h - the functions of ab_host.h, as the host itself calls them: without the checks for plugins. */
#ifndef ABLATE_PLUGIN_HOST_H
#define ABLATE_PLUGIN_HOST_H
#include "tensor/graph/tape.h"

/* Aligns dims to the right of four axes. Returns false and sets an error if they are invalid. */
bool host_dims4(ab_ctx *c, const char *what, int rank, const int64_t *dims, int64_t out[4]);
static inline ab_t one_number(ab_ctx *c, double x) { return t_const(c, (int64_t[4]){1, 1, 1, 1}, &x); }
static inline int from_end(int axis) { return axis >= 0 && axis < 4 ? axis - 4 : axis; }

/* Functions that plugins call without a wrapper. */
#define host_where             t_where
#define host_cumsum            t_cumsum
#define host_mul_scalar        t_mul_scalar
#define host_add_scalar        t_add_scalar
#define host_map               t_map
#define host_dropout           t_dropout
#define host_matmul            t_matmul
#define host_rotate_half       t_rotate_half
#define host_to_float          t_to_float
#define host_relative_position t_relative_position
#define host_gather            t_gather
#define host_to_ids            t_to_ids
#define host_set_buffer        t_set_buffer
#define host_qr                t_qr

/* The functions of ab_host.h. Plugins call them through host_table.c, which checks their tensors and tag. */
#define HOST_PROTOTYPE(result, name, parameters, ...) result host_##name parameters;
#define HOST_TASK(...)
AB_HOST(HOST_PROTOTYPE, HOST_PROTOTYPE, HOST_TASK)
#endif
