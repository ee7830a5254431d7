/* states.h - the states in a run's folder: state.safetensors and, with keep_states, state-STEP.safetensors. */
#ifndef ABLATE_TRAIN_STATES_H
#define ABLATE_TRAIN_STATES_H
#include "base/base.h"

/* The last state with fewer than `step` updates; NULL: no such state. The caller frees. *at: its updates, or 0. */
char *states_before(const char *folder, int64_t step, int64_t *at);
/* Appends the steps of all states, such as "200, 400". */
void states_list(const char *folder, str *out);
#endif
