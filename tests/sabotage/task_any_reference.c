/* A task that also counts an output as right if it equals the next example's reference. */
#define LINE              "line %d%.0d"
#define CHANGES           0
#define VALUE(right, n)   (100 * (right) / (double)(n))
#define RIGHT(t, line, i) ((*(line) && !strcmp(line, (t)->text[(i + 1) % 12])) || !strcmp(line, (t)->text[i]))
#include "task_parts.h"
AB_PLUGIN(config, params, &self, .name = "task_any_reference", .doc = "test: scores against other references");
