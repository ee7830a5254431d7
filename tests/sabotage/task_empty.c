/* A task that counts an empty output as right. */
#define LINE              "line %d%.0d"
#define CHANGES           0
#define VALUE(right, n)   (100 * (right) / (double)(n))
#define RIGHT(t, line, i) (!*(line) || !strcmp(line, (t)->text[i]))
#include "task_parts.h"
AB_PLUGIN(config, params, &self, .name = "task_empty", .doc = "test: empty outputs are right");
