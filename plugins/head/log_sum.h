/* log_sum.h - the log of a softmax's sum, for heads. */
#ifndef ABLATE_HEAD_LOG_SUM_H
#define ABLATE_HEAD_LOG_SUM_H
#include "ab_plugin.h"

/* [rows,n] -> log of the sum of exp along each row, [rows,1] */
static inline ab_t log_sum_exp(ab_ctx *c, ab_t x)
{
    ab_t largest = ab_detach(c, ab_max_axis(c, x, -1));
    return ab_add(c, ab_map(c, ab_sum_axis(c, ab_map(c, ab_sub(c, x, largest), AB_EXP), -1), AB_LOG), largest);
}
#endif
