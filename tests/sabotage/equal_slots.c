/* An optimizer whose two slots have the same name, so that a checkpoint cannot tell them apart. */
#define NAMES ((const char *const[]){"m", "m"})
#include "momentum.h"
AB_PLUGIN(config, params, &self, .name = "equal_slots", .doc = "momentum");
