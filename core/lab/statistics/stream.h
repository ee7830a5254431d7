/* stream.h - tests without a fixed end: rows added one after another, each perhaps because of earlier results.
 *
 * LOND (Javanmard and Montanari 2015, arXiv 1502.06197): the t-th row's p is compared with
 *     level_t = level gamma_t (1 + rejections among the rows before it),   gamma_t = t^-1.6 / zeta(1.6)
 * which sum to `level` without rejections. The expected share of false ones among all rejections stays at most `level`
 * at every time, however long the stream is, also for p that depend on each other positively, as those of rows with one
 * base do (Zrnic, Ramdas and Jordan 2021, JMLR 22:33). docs/statistics.md has simulations. */
#ifndef ABLATE_STATISTICS_STREAM_H
#define ABLATE_STATISTICS_STREAM_H
#include "base/base.h"

/* p: [n] by place in the stream; NaN: not known, which counts as not rejected and keeps its place. levels: [n]. */
void stream_levels(const double *p, size_t n, double level, double *levels);
#endif
