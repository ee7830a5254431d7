/* wrong_gradient.c, with the operation in the plugin's list. */
#define LISTED
#include "wrong_gradient.c"
