/* A task whose score differs from the score that follows from its statistics. */
#define LINE            "line %d%.0d"
#define CHANGES         0
#define VALUE(right, n) (50 + 50 * (right) / (double)(n))
#include "task_parts.h"
AB_PLUGIN(config, params, &self, .name = "task_score", .doc = "a score apart from its statistics");
