/* An optimizer whose slots have no names, so that a checkpoint cannot store them. */
#define NAMES NULL
#include "momentum.h"
AB_PLUGIN(config, params, &self, .name = "nameless_slots", .doc = "momentum");
