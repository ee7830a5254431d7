/* Its state has no names by which a checkpoint could keep it. */
#define NAMES NULL
#include "momentum.h"
AB_PLUGIN(config, params, &self, .name = "nameless_slots", .doc = "momentum");
