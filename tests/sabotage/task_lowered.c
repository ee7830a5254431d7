/* Nothing is wrong here: a metric that is better when lower, with statistics per example. */
#define LINE            "line %d%.0d"
#define CHANGES         0
#define VALUE(right, n) (100 - 100 * (right) / (double)(n))
#define BETTER          AB_LOWER
#define COUNTED(right)  (1 - (right))
#include "task_parts.h"
AB_PLUGIN(config, params, &self, .name = "task_lowered", .doc = "a rate of errors");
