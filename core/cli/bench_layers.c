/* bench_layers.c - ablate bench layers: measures the columns of the paper's Table 1. For a single layer and one
 * sentence of n tokens (or --sentences of them), forward and backward in fp32: time, memory, FLOPs, and the longest
 * chain of dependent operations; over several n, with the exponent of n fitted to the longer half. --into adds the
 * figures to the rows of an experiment (bench_layers_into.c). */
#include "cli/bench_layers.h"
#include "network/check/block.h"
#include "tensor/device/device.h"
#include "tensor/graph/profile.h"
#include "text/metric/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one layer at one length ---- */

/* Counts a node's operations that must run one after the other: a recurrence has one for each position. */
static int64_t chain_of(const ab_ctx *c, const node *v)
{
    if (v->op == OP_RECURRENT) return v->dim[2] / (c->v[v->i.RECURRENT.offsets].dim[3] - 1);
    return v->live && v->n_in && v->op != OP_PART && v->op != OP_RESHAPE;
}

/* Counts the operations of the longest path through the forward pass, which no hardware can run in parallel. */
static int64_t longest_chain(const ab_ctx *c, int32_t n)
{
    int64_t *depth = xcalloc((size_t)n, sizeof *depth), most = 0;
    for (int32_t i = 1; i < n; i++) {
        const node *v = &c->v[i];
        for (int k = 0; k < v->n_in; k++)
            if (v->in[k] && v->in[k] < n && depth[v->in[k]] > depth[i]) depth[i] = depth[v->in[k]];
        depth[i] += chain_of(c, v);
        if (v->live && depth[i] > most) most = depth[i];
    }
    free(depth);
    return most;
}

typedef struct {
    block *b;
    layer_point *out;
} counting;

/* Adds the cost of each operation after it ran, because the size of a window depends on the values. */
static int count_node(void *self, int32_t id, err *e)
{
    counting *k = self;
    ab_ctx *c = k->b->c;
    call did;
    (void)e;
    while (c->v[id].op == OP_PART) id--;
    tape_call(c, id, &(run_options){0}, &did);
    double f = call_flops(&did, c->backend);
    k->out->flops += f;
    if (id < k->b->forward_nodes) k->out->forward_flops += f;
    return 0;
}

/* Runs once, which also computes tables and touches all memory. */
static int count(block *b, layer_point *out, err *e)
{
    counting k = {b, out};
    out->bytes = b->c->buffer_size;
    out->chain = longest_chain(b->c, b->forward_nodes);
    out->flops = out->forward_flops = 0;
    b->values.version++;
    return tape_run(b->c, &(run_options){.from = PHASE_CONST, .after = count_node, .self = &k})
               ? fail(e, "%s", b->c->error.text)
               : 0;
}

static void fill(block *b, int64_t count_of, int64_t seed)
{
    rng r = rng_seed((uint64_t)seed, 3);
    float *x = (float *)(void *)b->x;
    for (int64_t i = 0; x && i < count_of; i++) x[i] = (float)(2 * rng_uniform(&r) - 1);
}

/* Returns the requested role, or the other role of self-attention if the plugin has only that. */
static uint32_t role_of(const layer *l, const layers_options *o)
{
    uint32_t has = l->p->iface.attention.roles, wanted = same(o->role, "decoder") ? AB_CAUSAL : AB_SELF;
    return has & wanted ? wanted : wanted ^ (AB_SELF | AB_CAUSAL);
}

/* Returns seconds; with one thread processor time, on which other programs have no effect. */
static double time_of(const layers_options *o) { return o->threads == 1 ? processor_ticks() : ticks(); }

static int measure(const layer *l, const void *cfg, const layers_options *o, layer_point *out, err *e)
{
    enum { MOST_RUNS = 1000, FEWEST = 3, LONG = 2 }; /* LONG: above this time [s], fewer runs are enough */
    block b;
    block_spec s = {.attention = l->p,
                    .attention_cfg = cfg,
                    .role = role_of(l, o),
                    .heads = o->heads,
                    .d_k = o->d_model / o->heads,
                    .d_v = o->d_model / o->heads,
                    .d_model = o->d_model,
                    .batch = o->sentences,
                    .time = out->n,
                    .measured = true,
                    .layer = l->layer};
    if (block_trace(&b, &s, e)) return -1;
    int bad = block_plan(&b, (uint64_t)o->seed, e);
    if (!bad) fill(&b, o->sentences * out->n * o->d_model, o->seed);
    if (!bad) bad = count(&b, out, e);
    double ms[MOST_RUNS], spent = 0;
    size_t runs = 0;
    profile_enable(o->profile);
    while (!bad && runs < MOST_RUNS && (runs < FEWEST ? runs == 0 || spent < LONG : spent < o->seconds)) {
        double start = time_of(o);
        bad = block_run(&b, e);
        ms[runs] = (time_of(o) - start) * 1e3;
        spent += ms[runs++] / 1e3;
    }
    out->ms = stats_median(ms, runs);
    if (!bad && o->profile) {
        fprintf(stderr, "%s at n = %lld\n", l->label, (long long)out->n);
        profile_print(stderr, 0, 0);
    }
    block_close(&b);
    return bad;
}

/* ---- over lengths ---- */

double layer_number_at(const layer_point *p, layer_number k)
{
    return (const double[]){p->ms, p->flops, (double)p->bytes, (double)p->chain}[k];
}

double layer_exponent(const layer *l, layer_number k)
{
    size_t from = l->n > 5 ? l->n / 2 : l->n > 3 ? l->n - 3 : 0, n = l->n - from;
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    if (n < 2) return NAN;
    for (size_t i = from; i < l->n; i++) {
        double u = log((double)l->at[i].n), v = log(layer_number_at(&l->at[i], k));
        sx += u, sy += v, sxx += u * u, sxy += u * v;
    }
    return ((double)n * sxy - sx * sy) / ((double)n * sxx - sx * sx);
}

double layer_crossover(const layer *l, const layer *other)
{
    for (size_t i = 1; i < l->n && i < other->n; i++) {
        double a = log(l->at[i - 1].ms / other->at[i - 1].ms), b = log(l->at[i].ms / other->at[i].ms);
        if ((a < 0) == (b < 0)) continue;
        double u = log((double)l->at[i - 1].n), v = log((double)l->at[i].n);
        return exp(u + (v - u) * a / (a - b));
    }
    return 0;
}

static void print_json(const layer *l, const layers_options *o)
{
    CLEANUP(str_free) str device = {0}, label = {0};
    json_string(&device, cpu_description());
    json_string(&label, l->label);
    for (size_t i = 0; i < l->n; i++)
        printf("{\"who\":\"ablate\",\"what\":\"layer\",\"layer\":%s,\"device\":%s,\"n\":%lld,\"sentences\":%lld,"
               "\"d_model\":%lld,\"heads\":%lld,\"ms\":%.5f,"
               "\"forward_flops\":%.0f,\"flops\":%.0f,\"bytes\":%zu,\"chain\":%lld,\"threads\":%lld}\n",
               str_text(&label), str_text(&device), (long long)l->at[i].n, (long long)o->sentences,
               (long long)o->d_model, (long long)o->heads, l->at[i].ms, l->at[i].forward_flops, l->at[i].flops,
               l->at[i].bytes, (long long)l->at[i].chain, (long long)o->threads);
}

const layer *layers_recurrent(const layer *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (same(l[i].p->desc.name, "recurrent")) return &l[i];
    return NULL;
}

static void print_table(const layer *l, size_t n, const layers_options *o)
{
    const layer *recurrent = layers_recurrent(l, n), *longest = l;
    for (size_t i = 0; i < n; i++)
        if (l[i].n > longest->n) longest = &l[i];
    printf("d_model %lld, %lld heads, ", (long long)o->d_model, (long long)o->heads);
    if (o->sentences == 1)
        printf("one sentence of n tokens");
    else
        printf("%lld sentences of n tokens each", (long long)o->sentences);
    printf(", forward and backward in fp32, %s\n\n", cpu_description());
    printf("%-16s", "ms at n =");
    for (size_t k = 0; k < longest->n; k++) printf(" %8lld", (long long)longest->at[k].n);
    printf("   time~  FLOPs~ memory~ chain~  as recurrent at n\n");
    for (size_t i = 0; i < n; i++) {
        printf("%-16s", l[i].label);
        for (size_t k = 0; k < l[i].n; k++) printf(" %8.3f", l[i].at[k].ms);
        for (size_t k = l[i].n; k < longest->n; k++) printf(" %8s", "-");
        for (layer_number k = 0; k < LAYER_NUMBERS; k++) {
            double exponent = layer_exponent(&l[i], k);
            if (isnan(exponent))
                printf("%s%6s", k ? "  " : "   ", "-"); /* one length has no exponent */
            else
                printf("%sn^%.2f", k ? "  " : "   ", exponent);
        }
        double meet = recurrent && recurrent != &l[i] ? layer_crossover(&l[i], recurrent) : 0;
        if (meet > 0) printf("  %.0f", meet);
        putchar('\n');
    }
    printf("\nExponents are fitted to the longer half of the lengths. chain: length of the longest chain of dependent "
           "operations in the forward pass.\n");
}

/* ---- the command ---- */

static int parse_lengths(const layers_options *o, int64_t *n, size_t *count_of, err *e)
{
    static const int64_t usual[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
    *count_of = o->lengths.n ? o->lengths.n : LENGTH(usual);
    if (*count_of > MOST_POINTS)
        return fail(e, "--length: found %zu lengths, expected at most %d", *count_of, MOST_POINTS);
    for (size_t i = 0; i < *count_of; i++) {
        if (!o->lengths.n)
            n[i] = usual[i];
        else if (!parse_int(o->lengths.at[i], &n[i]) || n[i] < 1 || n[i] > 1 << 20)
            return fail(e, "--length %s: expected a whole number from 1 to %d", o->lengths.at[i], 1 << 20);
        if (i && n[i] <= n[i - 1]) return fail(e, "--length %lld: lengths must ascend", (long long)n[i]);
    }
    return 0;
}

/* Does length n fit into the memory limit? Memory grows at most with the square of the length. */
static bool fits(const layer *l, int64_t n, const layers_options *o)
{
    if (!l->n) return true;
    double more = (double)n / (double)l->at[l->n - 1].n;
    return (double)l->at[l->n - 1].bytes * more * more <= (double)o->memory * 1048576;
}

/* Binds the plugin's settings: the row's, or defaults without a row; those of -s replace them. */
static int bind(layer *l, const settings *row, const layers_options *o, void *cfg, arena *a, err *e)
{
    settings set = {0};
    size_t n = strlen(l->p->desc.name);
    for (const ab_option *p = l->p->desc.params; p && p->name; p++) {
        char *key = arena_printf(a, "%s.%s", l->p->desc.name, p->name);
        const char *given = row ? settings_get(row, key) : NULL;
        settings_set(&set, key, given ? given : param_default(p, a), a);
    }
    for (size_t i = 0; i < o->set.n; i++) {
        const char *text = o->set.at[i], *equals = strchr(text, '=');
        if (!equals) return fail(e, "-s %s: expected PLUGIN.KEY=VALUE", text);
        if (has_prefix(text, l->p->desc.name) && text[n] == '.')
            settings_set(&set, arena_strndup(a, text, (size_t)(equals - text)), equals + 1, a);
    }
    return l->p->desc.params ? config_bind(&set, l->p->desc.name, l->p->desc.params, cfg, a, e) : 0;
}

int layer_measure(layer *l, const char *name, const settings *row, const int64_t *n, size_t n_lengths,
                  const layers_options *o, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    if (!(l->p = plugin_find(AB_ATTENTION, name, e))) return -1;
    if (!l->label) l->label = l->p->desc.name;
    void *cfg = arena_alloc(&a, l->p->desc.cfg_size + 16);
    int bad = bind(l, row, o, cfg, &a, e);
    for (size_t i = 0; i < n_lengths && !bad && fits(l, n[i], o); i++) {
        l->at[i].n = n[i];
        bad = plugin_check_reach(l->p, cfg, n[i], "of the sentence's length", e) || measure(l, cfg, o, &l->at[i], e);
        if (bad) fail_in(e, "%s at n = %lld: ", name, (long long)n[i]);
        l->n = i + 1;
    }
    return bad ? -1 : 0;
}

static int check_set(const layers_options *o, const layer *l, size_t n, err *e)
{
    for (size_t i = 0; i < o->set.n; i++) {
        bool known = false;
        for (size_t k = 0; k < n; k++) {
            size_t length = strlen(l[k].p->desc.name);
            known |= has_prefix(o->set.at[i], l[k].p->desc.name) && o->set.at[i][length] == '.';
        }
        if (!known)
            return fail(e, "-s %s: expected a parameter of a measured plugin, such as convolutional.separable=true",
                        o->set.at[i]);
    }
    return 0;
}

static int layers(const invocation *c, void *options)
{
    static const char *const usual[] = {"scaled_dot", "recurrent", "convolutional", "restricted", "linear", "additive"};
    layers_options *o = options;
    size_t n = 0, n_lengths;
    int64_t lengths[MOST_POINTS];
    err e = {0};
    layer *l = NULL;
    CLEANUP(arena_free) arena a = {0};
    int bad = parse_lengths(o, lengths, &n_lengths, &e);
    if (!bad && o->d_model % o->heads)
        bad = fail(&e, "--d-model %lld: expected a multiple of the %lld heads", (long long)o->d_model,
                   (long long)o->heads);
    if (!bad && o->into && o->plugins.n)
        bad = fail(&e, "--plugin cannot be combined with --into, which measures the layers of the experiment's rows");
    if (!bad && !same(o->role, "encoder") && !same(o->role, "decoder"))
        bad = fail(&e, "--role %s: expected encoder or decoder", o->role);
    if (!bad && o->into && same(o->role, "decoder"))
        bad = fail(&e, "--role decoder cannot be combined with --into, which measures encoder layers");
    if (!bad && o->into && o->sentences != 1)
        bad = fail(&e, "--sentences cannot be combined with --into, which measures one sentence");
    cpu_threads((int)o->threads);
    if (!bad && o->into) {
        bad = layers_into(o, &c->p, lengths, n_lengths, &a, &l, &n, &e);
    } else if (!bad) {
        l = arena_alloc(&a, (o->plugins.n + LENGTH(usual)) * sizeof *l);
        size_t wanted = o->plugins.n ? o->plugins.n : LENGTH(usual);
        for (; n < wanted && !bad; n++) {
            const char *name = o->plugins.n ? o->plugins.at[n] : usual[n];
            bad = !plugin_open(AB_ATTENTION, name, &e) || layer_measure(&l[n], name, NULL, lengths, n_lengths, o, &e);
        }
    }
    if (!bad) bad = check_set(o, l, n, &e);
    for (size_t i = 0; i < n && !bad && o->json; i++) print_json(&l[i], o);
    if (!bad && !o->json) print_table(l, n, o);
    return bad ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(layers_options, field)
static const layers_options defaults = {.role = "encoder",
                                        .sentences = 1,
                                        .d_model = 128,
                                        .heads = 8,
                                        .seconds = 0.2,
                                        .seed = 1,
                                        .threads = 1,
                                        .memory = 4096};
static const option options[] = {
    {"--plugin", "NAME", "attention plugins [scaled_dot, recurrent, convolutional, restricted, linear, additive]",
     OPTION_LIST, AT(plugins), .choices = CHOICES_PLUGINS},
    {"--sentences", "N", "sentences measured at once [1]", OPTION_COUNT, AT(sentences), 1, BLOCK_SENTENCES},
    {"--length", "N", "sentence lengths in tokens, in ascending order [16, 32, ... 4096]", OPTION_LIST, AT(lengths)},
    {"-s", "PLUGIN.KEY=VALUE", "a parameter of the plugin", OPTION_LIST, AT(set)},
    {"--into", "EXPERIMENT",
     "measure the encoder layer of each row of this experiment, and add the figures to its runs", OPTION_TEXT, AT(into),
     .choices = CHOICES_EXPERIMENTS},
    {"--role", "encoder|decoder", "encoder's or decoder's self-attention [encoder]", OPTION_TEXT, AT(role)},
    {"--memory", "MB", "memory limit: skip lengths that might need more memory [4096]", OPTION_COUNT, AT(memory), 1,
     1e9},
    {"--d-model", "N", "width of a token's vector [128]", OPTION_COUNT, AT(d_model), 1, 65536},
    {"--heads", "N", "heads; d_k = d_model / heads [8]", OPTION_COUNT, AT(heads), 1, 4096},
    {"--seconds", "S", "measuring time per point in seconds [0.2]", OPTION_REAL, AT(seconds), 1e-6, 0},
    {"--threads", "N", "processor threads; 0: all [1]", OPTION_COUNT, AT(threads), 0, MOST_THREADS},
    {"--seed", "N", "seed of the random values [1]", OPTION_COUNT, AT(seed), 0, 1e15},
    {"--profile", NULL, "print the time per operation on standard error", OPTION_FLAG, AT(profile)},
    OPTION_JSON(AT(json)),
    OPTION_DATABASE,
    {0}};
const command bench_layers_command = {
    .name = "bench layers",
    .part = FOR_SPEED,
    .does = "measure time, FLOPs and memory of layer types over sentence length (the paper's Table 1)",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = layers,
    .example = "ablate bench layers --plugin scaled_dot --plugin recurrent --length 64 --length 128 --length 256"};
