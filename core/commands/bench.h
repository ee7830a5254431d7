/* bench.h - what the measurements of `ablate bench` share: their options, the models' sizes, the recorded batches. Each prints one line
 * of JSON on standard output. */
#ifndef ABLATE_BENCH_H
#define ABLATE_BENCH_H
#include "commands/options.h"
#include "data/batch.h"
#include "model/model.h"

typedef struct {
    const char *config, *lengths, *precision, *device;
    bool decodes; /* int8 is taken, too */
    const char *wait; /* "each": the host waits for every step, "pass": for every pass over the batches; NULL: as the device likes */
    const char *role; /* of attention: encoder, decoder, cross */
    option_list plugins; /* of attention: KIND/NAME or NAME of attentions or positions to train with; none: the kernels alone */
    int64_t steps, warmup, threads, seed;
    int64_t vocab;       /* ids; 0: the configuration's */
    int64_t tokens;      /* rows of every batch on either side; 0: a device takes those of the largest, a CPU each batch as it is */
    int64_t beam, batch; /* of decoding: hypotheses a sentence, sentences together */
    int64_t heads, d_k;  /* of attention */
    double seconds;      /* of measuring; 0: --steps decides */
    double start_at;     /* seconds since 1970: nothing is measured before. For programs that run at the same time */
    bool profile;
} bench_options;

typedef struct { /* {0} is empty */
    batch *b;
    size_t n;
    int64_t sentences, src_rows, tgt_rows; /* of all batches */
    int64_t src_most, tgt_most;            /* rows of the largest batch */
    arena memory;
} recorded;

/* Reads FILE of o->lengths and fills the sentences with random ids below `vocab`; a batch of no pair is left out. `one_capacity`:
 * every batch has the arrays of the largest (o->tokens if that is given), as a device wants them; else its own rows rounded up
 * to 64. 0, or -1 and words with the line's number. recorded_free in either case. */
int recorded_read(recorded *r, const bench_options *o, int64_t vocab, bool one_capacity, err *e);
void recorded_free(recorded *r);

/* One batch of random sentences, each so long. recorded_free by the caller. */
void recorded_make(recorded *r, int64_t sentences, int64_t length, int64_t vocab);

/* The model of o->config with random values, bf16 or fp32, on `b`; plugin: NULL, or what is put in place of scaled_dot or sinusoids. 0, or
 * -1 and words. model_free by the caller. */
int bench_model(model *m, const bench_options *o, const char *plugin, const backend *b, err *e);
/* The device that o->device names; refuses a precision that it has not. NULL and words. */
const backend *bench_device(const bench_options *o, dtype *compute, err *e);
/* Sleeps until o->start_at. Returns the seconds by which it came too late: 0 when it did not. */
double bench_start(const bench_options *o);
/* The middle one of v[n], which is sorted on the way; 0 of none. */
double bench_median(double *v, size_t n);

int bench_train(const bench_options *o, err *e);     /* training steps */
int bench_decode(const bench_options *o, err *e);    /* beam search to a known length */
int bench_attention(const bench_options *o, err *e); /* ATTEND and ATTEND_BACK alone */
int bench_variants(const bench_options *o, err *e);  /* training with each of o->plugins beside scaled_dot */
#endif
