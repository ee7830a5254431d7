/* states.h - the states that a run has left in its folder: state.safetensors and, with keep_states,
 * state-STEP.safetensors. */
#ifndef ABLATE_TRAIN_STATES_H
#define ABLATE_TRAIN_STATES_H
#include "base/base.h"

/* The last state with fewer updates than `step`, for the caller to free; NULL: none. *at: its updates, or 0. */
char *states_before(const char *folder, int64_t step, int64_t *at);
/* Appends the steps of all, such as "200, 400". */
void states_list(const char *folder, str *out);
#endif
