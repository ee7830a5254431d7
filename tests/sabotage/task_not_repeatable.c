/* A task whose examples differ each time it is opened. */
#define LINE            "line %d of opening %d"
#define CHANGES         1
#define VALUE(right, n) (100 * (right) / (double)(n))
#include "task_parts.h"
AB_PLUGIN(config, params, &self, .name = "task_not_repeatable", .doc = "examples that change");
