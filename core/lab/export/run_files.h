/* run_files.h - one run's settings and curves as a TensorBoard event file. */
#ifndef ABLATE_EXPORT_RUN_FILES_H
#define ABLATE_EXPORT_RUN_FILES_H
#include "lab/results/read.h"

typedef struct {
    const char *row;
    const read_run *run;
    size_t n_settings;
    const read_pair *settings; /* key, value as JSON */
    size_t n_curves;
    const read_curve *curves;
} run_record;

/* Returns the masked CRC-32C of a record, as in TFRecord files. */
uint32_t tfrecord_crc(const void *data, size_t n);
/* Appends a TensorBoard event file: curves and results as scalars, settings for its HParams view. */
void tensorboard_events(const run_record *r, str *out);
#endif
