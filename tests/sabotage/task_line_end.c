/* A task whose text has a line break inside a line. */
#define LINE            "two\nlines %d%.0d"
#define CHANGES         0
#define VALUE(right, n) (100 * (right) / (double)(n))
#include "task_parts.h"
AB_PLUGIN(config, params, &self, .name = "task_line_end", .doc = "examples with line ends");
