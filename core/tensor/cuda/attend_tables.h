/* attend_tables.h - the tables of tiles that a tape's attention reads (attend_tiles.cu), written once per run for all
 * of its layers. */
#ifndef ABLATE_CUDA_ATTEND_TABLES_H
#define ABLATE_CUDA_ATTEND_TABLES_H
#include "tensor/cuda/attention.h"
#include "tensor/graph/tape.h"

typedef struct attend_tables attend_tables; /* of a tape */

/* At the start of a run of these phases, when the offsets are known: writes the tables that these phases' offsets
 * change, in one launch (none: no launch). *t: NULL before the first run. Returns 0 or -1. */
int attend_tables_write(const ab_ctx *c, attend_tables **t, phase first, phase last);
void attend_tables_free(attend_tables *t);
/* Operations take their tables from t (NULL: from none) from now on. Returns what they took them from before. */
const attend_tables *attend_tables_use(const attend_tables *t);

/* Sets a->tiles and a->key_tiles for a call of ATTEND, ATTEND_BACK, ATTEND_PROGRAM or ATTEND_PROGRAM_BACK: the tape's;
 * outside of a run, or if an operation of the tape computes the offsets, tables written for this call. Returns 0 or
 * -1. */
int attend_tables_find(const call *k, gpu_attention *a);
#endif
