/* main.c - ablate-bench: measures training steps, decoding, attention and the host. Built by `ninja -C build
 * ablate-bench`; each command prints JSON. */
#include "bench/program/bench.h"
#include "tensor/cpu/cpu.h"
#include "tensor/device/device.h"
#include "network/model/fusion.h"
#include "lab/sweep/setup.h"
#include <time.h>

/* ---- the models ---- */

typedef struct {
    const char *name, *d_model, *d_ff, *heads, *layers;
    int64_t vocab;
} shape;
static const shape shapes[] = {{"mini", "16", "32", "2", "1", 60}, /* smallest sizes, for trying out a measurement */
                               {"tiny", "128", "256", "4", "4", 10000},
                               {"small", "256", "1024", "4", "3", 10000},
                               {"base", "512", "2048", "8", "6", 37000},
                               {"big", "1024", "4096", "16", "6", 37000},
                               /* the base rows of these experiments */
                               {"table3-quarter", "64", "256", "8", "3", 2000},
                               {"table3-core", "128", "512", "4", "3", 4000}};

static const shape *shape_of(const bench_options *o, err *e)
{
    for (size_t i = 0; i < LENGTH(shapes); i++)
        if (same(o->config, shapes[i].name)) return &shapes[i];
    fail(e, "--config %s: expected mini, tiny, small, base, big, table3-quarter or table3-core", o->config);
    return NULL;
}

const backend *bench_device(const bench_options *o, dtype *compute, err *e)
{
    bool bf16 = same(o->precision, "bf16");
    bool int8 = same(o->precision, "int8") && o->decodes;
    if (!bf16 && !int8 && !same(o->precision, "fp32")) {
        fail(e, "--precision %s: expected bf16 or fp32%s", o->precision,
             o->decodes ? ", or int8 on the CPU" : "; int8 is only for decoding");
        return NULL;
    }
    const backend *b = device_open(o->device, e);
    if (b && int8 && on_device(b)) {
        fail(e, "--precision int8 is only for the CPU: expected bf16 or fp32 on %s", o->device);
        return NULL;
    }
    if (b) *compute = device_compute(bf16 ? PRECISION_BF16 : PRECISION_FP32, b);
    return b;
}

int bench_model(model *m, const bench_options *o, const char *plugin, const backend *b, err *e)
{
    const shape *s = shape_of(o, e);
    if (!s) return -1;
    arena a = {0};
    settings set = {0};
    int64_t vocab = o->vocab ? o->vocab : s->vocab;
    for (const ab_option *p = config_params; p->name; p++) settings_set(&set, p->name, param_default(p, &a), &a);
    settings_set(&set, "d_model", s->d_model, &a);
    settings_set(&set, "d_ff", s->d_ff, &a);
    settings_set(&set, "heads", s->heads, &a);
    settings_set(&set, "layers", s->layers, &a);
    if (plugin && (!plugin_open(0, plugin, e) || model_choose_plugin(&set, plugin, &a, e))) {
        arena_free(&a);
        return -1;
    }
    int bad = model_open(m, &set, vocab, vocab, same(o->precision, "bf16") ? BF16 : F32, b, e);
    arena_free(&a);
    return bad;
}

/* ---- time ---- */

double bench_start(const bench_options *o)
{
    double left = o->start_at - now();
    if (o->start_at <= 0) return 0;
    if (left < 0) return -left;
    struct timespec t = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
    nanosleep(&t, NULL);
    return 0;
}

/* ---- options ---- */

static int measure(const invocation *c, void *options, int (*what)(const bench_options *o, err *e))
{
    bench_options *o = options;
    err e = {0};
    if (!o->steps && o->seconds <= 0) o->seconds = 10;
    if (!o->steps) o->steps = 100000;
    cpu_threads((int)o->threads);
    return what(o, &e) ? call_failed(c, &e) : 0;
}
static int train(const invocation *c, void *o) { return measure(c, o, bench_train); }
static int decode(const invocation *c, void *o)
{
    ((bench_options *)o)->decodes = true;
    return measure(c, o, bench_decode);
}
static int attention(const invocation *c, void *o)
{
    return measure(c, o, ((bench_options *)o)->plugins.n ? bench_variants : bench_attention);
}

#define AT(field) offsetof(bench_options, field)
static const bench_options defaults = {.config = "tiny",
                                       .precision = "bf16",
                                       .device = "cpu",
                                       .role = "encoder",
                                       .warmup = 3,
                                       .beam_size = 4,
                                       .heads = 8,
                                       .d_k = 64,
                                       .seed = 1};
static const option options[] = {
    {"--lengths", "FILE",
     "one batch per line: its sentence pairs as source:target lengths in tokens, including EOS (bench/make_lengths.py)",
     OPTION_TEXT, AT(lengths), .required = true},
    {"--config", "mini|tiny|small|base|big|table3-quarter|table3-core", "model size [tiny]", OPTION_TEXT, AT(config)},
    {"--precision", "bf16|fp32|int8", "number format of products [bf16]; int8: only decode, on the CPU", OPTION_TEXT,
     AT(precision)},
    {"--device", "cpu|cuda|cuda:N", "device [cpu]", OPTION_TEXT, AT(device)},
    {"--seconds", "S", "measuring time in seconds [10, unless --steps is given]", OPTION_REAL, AT(seconds), 1e-6, 0},
    {"--steps", "N", "number of steps to measure", OPTION_COUNT, AT(steps), 1, 1e7},
    {"--warmup", "N", "warmup steps, not measured [3]", OPTION_COUNT, AT(warmup), 0, 1e9},
    {"--wait", "each|pass", "wait for every step, or every pass over the batches (GPU)", OPTION_TEXT, AT(wait)},
    {"--tokens", "N", "rows of every batch on each side (GPU)", OPTION_COUNT, AT(tokens), 1, 1e9},
    {"--vocab", "N", "vocabulary size [the configuration's]", OPTION_COUNT, AT(vocab), 16, 1e9},
    {"--beam-size", "N", "decode: hypotheses per sentence [4]", OPTION_COUNT, AT(beam_size), 1, MOST_BEAM},
    {"--batch", "N", "decode: sentences per batch [64, on a GPU 512]", OPTION_COUNT, AT(batch), 1, MOST_BATCH},
    {"--role", "encoder|decoder|cross", "attention: which attention [encoder]", OPTION_TEXT, AT(role)},
    {"--plugin", "NAME",
     "train: use this attention or position; attention: training steps with it, alternating with scaled_dot",
     OPTION_LIST, AT(plugins), .choices = CHOICES_PLUGINS},
    {"--heads", "N", "attention: heads [8]", OPTION_COUNT, AT(heads), 1, 1e6},
    {"--d-k", "N", "attention: width of a head [64]", OPTION_COUNT, AT(d_k), 1, 1e6},
    {"--threads", "N", "processor threads [all]", OPTION_COUNT, AT(threads), 0, MOST_THREADS},
    {"--seed", "N", "seed of the random values [1]", OPTION_COUNT, AT(seed), 0, 1e15},
    {"--start-at", "TIME", "do not measure before this time [seconds since 1970]", OPTION_REAL, AT(start_at), 1e-6, 0},
    {"--profile", NULL, "print the time per operation on standard error", OPTION_FLAG, AT(profile)},
    {0}};
#define BENCH .options = options, .defaults = &defaults, .size = sizeof defaults
static const command train_command = {.name = "train",
                                      .part = FOR_SPEED,
                                      .does = "measure training steps; prints JSON",
                                      BENCH,
                                      .run = train,
                                      .example =
                                          "ablate-bench train --lengths lengths.txt --config base --precision fp32"};
static const command decode_command = {.name = "decode",
                                       .part = FOR_SPEED,
                                       .does = "measure beam search; prints JSON",
                                       BENCH,
                                       .run = decode,
                                       .example = "ablate-bench decode --lengths lengths.txt --beam-size 4"};
static const command attention_command = {.name = "attention",
                                          .part = FOR_SPEED,
                                          .does = "measure attention alone; prints JSON",
                                          BENCH,
                                          .run = attention,
                                          .example = "ablate-bench attention --lengths lengths.txt --role cross"};

/* ---- the program ---- */

const char program_name[] = "ablate-bench";
const command *const all_commands[] = {&attention_command, &decode_command, &host_command, &train_command};
const size_t n_commands = LENGTH(all_commands);

int main(int argc, char **argv)
{
    err e = {0};
    int used = 0;
    program_wait_asleep(argv);
    if (cpu_use(NULL, &e)) {
        fprintf(stderr, "ablate-bench: %s\n", e.text);
        return 2;
    }
    run_setup();
    const command *c = command_find(argc, argv, &used);
    if (c) return command_run(c, argc - used, argv + used, &(places){.program = program_file()});
    for (size_t i = 0; i < n_commands; i++)
        fprintf(stderr, "ablate-bench %-10s %s\n", all_commands[i]->name, all_commands[i]->does);
    return 2;
}
