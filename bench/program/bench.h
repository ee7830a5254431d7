/* bench.h - shared by the measurements of `ablate-bench`: options and model sizes. Each prints one line
 * of JSON on standard output. */
#ifndef ABLATE_BENCH_H
#define ABLATE_BENCH_H
#include "cli/options.h"
#include "text/data/random_batches.h"
#include "text/metric/stats.h"
#include "network/model/model.h"

typedef struct {
    const char *config, *lengths, *precision, *device;
    bool decodes; /* int8 is allowed, as for decoding only */
    /* when the host waits: "each": after every step, "pass": after every pass over the batches; NULL: not at all */
    const char *wait;
    const char *role; /* attention's role: encoder, decoder, cross */
    /* attentions or positions to train with, KIND/NAME or NAME; none: time kernels only */
    text_list plugins;
    int64_t steps, warmup, threads, seed;
    int64_t vocab; /* size; 0: the configuration's */
    /* rows of every batch on each side; 0: on a device the largest batch's, on a CPU each batch's own */
    int64_t tokens;
    int64_t beam_size, batch; /* decoding: hypotheses per sentence, sentences per batch */
    int64_t heads, d_k;       /* attention's shape */
    double seconds;           /* seconds to measure; 0: --steps decides */
    double start_at;          /* do not measure before this time [seconds since 1970]; synchronises several programs */
    bool profile;
} bench_options;

/* Makes the model of o->config on `b`, with random values, in bf16 or fp32. plugin: replaces scaled_dot or sinusoid, or
 * NULL. Returns 0, or -1 and a message. The caller calls model_free. */
int bench_model(model *m, const bench_options *o, const char *plugin, const backend *b, err *e);
/* Opens the device o->device. Returns NULL and a message if that fails, or if the precision is unsupported. */
const backend *bench_device(const bench_options *o, dtype *compute, err *e);
/* Sleeps until o->start_at. Returns the delay in seconds if that time had passed, else 0. */
double bench_start(const bench_options *o);

/* Reads a file of lengths, a batch per line: "12:14 9:11", source and target tokens of each sentence. Ids are random
 * below `vocab`; empty batches are skipped. one_capacity: the arrays of all batches are as long as those of the largest
 * (or `tokens` if not 0), as devices require; else each batch's length is rounded up to 64. Returns 0, or -1 and a
 * message with the line number. Call recorded_free in either case. */
int bench_read(recorded *r, const char *path, int64_t seed, int64_t tokens, int64_t vocab, bool one_capacity, err *e);

int bench_train(const bench_options *o, err *e);     /* training steps */
int bench_decode(const bench_options *o, err *e);    /* beam search to a known length */
int bench_attention(const bench_options *o, err *e); /* only ATTEND and ATTEND_BACK */
int bench_variants(const bench_options *o, err *e);  /* training with each of o->plugins and with scaled_dot */
extern const command host_command;                   /* measures the host and its database */
#endif
