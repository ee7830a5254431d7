/* softmax.c - the paper's head: the rows times the transposed embedding. */
#include "ab_plugin.h"

static const ab_head_plugin self = {.logits = NULL};
AB_PLUGIN(char, NULL, &self, .name = "softmax", .doc = "x E^T, and the cross entropy of its softmax",
          .paper = "Vaswani et al. 2017, section 3.4");
