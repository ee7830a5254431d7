/* A checkpoint could not tell its two slots apart. */
#define NAMES ((const char *const[]){"m", "m"})
#include "momentum.h"
AB_PLUGIN(config, params, &self, .name = "equal_slots", .doc = "momentum");
