/* device.h - where runs compute: "cpu", "cuda" (or "gpu"), "cuda:N", or "auto": the first GPU if there is one, else the
 * CPU. */
#ifndef ABLATE_DEVICE_H
#define ABLATE_DEVICE_H
#include "tensor/cpu/cpu.h"

/* Returns the backend of that name, opened for this process; or NULL, and in e what is missing and why. */
const backend *device_open(const char *name, err *e);
/* Frees a GPU's memory and libraries; does nothing for the CPU. The next device_open is as in a new process, but
 * quicker. */
void device_close(const backend *b);
/* The backend for a rank; `here` is its number on its machine. Each rank takes its own GPU, counted from the named one.
 * If a rank sees only one GPU (Slurm's --gpus-per-task), it takes that. */
const backend *device_open_rank(const char *name, int here, err *e);
/* Checks that the name is valid and the device exists, without taking it. Returns 0, or -1 and e. */
int device_check(const char *name, err *e);
/* Number of GPUs that "auto" or "cuda" may use; 0 for "cpu" and for "cuda:N", which name one device. */
int device_count(const char *name);
/* Number of GPUs that a run on this device may get: 1 for cuda:N. *free_bytes: free memory of the GPU that has least;
 * 0: not known. The query takes some of each GPU's memory until this process ends. */
int device_gpus(const char *name, double *free_bytes);
const char *device_description(const backend *b); /* for the results; static storage */
bool device_has_bf16(const backend *b);
int devices_print(FILE *f); /* `ablate list devices` */
int devices_json(FILE *f);  /* `ablate list devices --json` */

/* Type of the matrix products for the key `precision` (enum config_precision) on a device: BF16 or F32. Where bf16's
 * products are no faster than fp32's, rows are stored in bf16 and multiplied in fp32; a run's log says so. */
dtype device_compute(int64_t precision, const backend *on);
/* The type for a trained model, from the settings in its file, so that it computes as its run did. Returns -1 and e if
 * the file is not a checkpoint of ablate. */
int device_model_compute(const char *path, const backend *on, dtype *out, err *e);
#endif
