/* An optimizer with two slots of one name, which a checkpoint could not tell apart. */
#define NAMES ((const char *const[]){"m", "m"})
#include "momentum.h"
AB_PLUGIN(config, params, &self, .name = "equal_slots", .doc = "momentum");
