/* device.h - where runs compute: "cpu", "cuda", "cuda:N" or "auto" (the first GPU if there is one, else the CPU). */
#ifndef ABLATE_DEVICE_H
#define ABLATE_DEVICE_H
#include "cpu/cpu.h"

/* The backend of that name, opened for this process. NULL and e: what is not there, and why. */
const backend *device_open(const char *name, err *e);
/* The same for a rank, `here` being its number among those of its machine: of several GPUs each takes its own, from the named one on. Where a
 * rank sees one GPU alone (Slurm's --gpus-per-task), that is its own. */
const backend *device_open_rank(const char *name, int here, err *e);
/* Is the name well formed and there? Without taking the device. 0, or -1 and words. */
int device_check(const char *name, err *e);
/* GPUs that "auto" or "cuda" may stand for; 0 for "cpu" and for "cuda:N", which name one device. */
int device_count(const char *name);
/* GPUs that a run on this device may get: 1 for cuda:N. *free_bytes: of memory, on the one that has least; 0: not known. Asking takes some of each
 * GPU's memory for as long as this process lives. */
int device_gpus(const char *name, double *free_bytes);
const char *device_description(const backend *b); /* for the results; static storage */
bool device_has_bf16(const backend *b);
int devices_print(FILE *f); /* `ablate devices` */
int devices_json(FILE *f); /* the same as JSON */

/* Type of the matrix products under the key `precision` (enum config_precision) on a device: BF16 or F32.
 * bf16 asked for where products of bf16 are no faster than fp32: rows are stored in bf16 and multiplied in fp32, and the log says
 * so once. Returns 0. */
int device_compute(int64_t precision, const backend *on, dtype *out, err *e);
/* The same for a trained model, from the settings in its file, so that it computes as its run did. Returns -1 and an error when the file is not
 * a checkpoint of ablate. */
int device_model_compute(const char *path, const backend *on, dtype *out, err *e);
#endif
