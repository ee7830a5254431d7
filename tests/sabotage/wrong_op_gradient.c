/* wrong_gradient.c with its operation in the description. */
#define LISTED
#include "wrong_gradient.c"
