/* A task that returns all lines in one buffer, which the next line overwrites. */
#define LINE            "line %d%.0d"
#define CHANGES         0
#define VALUE(right, n) (100 * (right) / (double)(n))
#define TEXT(t, i)      strcpy((t)->shared, (t)->text[i])
#include "task_parts.h"
AB_PLUGIN(config, params, &self, .name = "task_reuses", .doc = "a task that reuses its line buffer");
