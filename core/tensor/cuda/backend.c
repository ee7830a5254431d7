/* backend.c - the CUDA backend's table: kernels, memory, and running a tape: the first time kernel by kernel, later as
 * one graph. */
#include "tensor/cuda/ops_attention.h"
#include "tensor/cuda/cudnn/dnn_attend.h"
#include "tensor/cuda/module.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/optim.h"
#include "tensor/cuda/product.h"
#include "tensor/cuda/select.h"
#include "tensor/cuda/services.h"
#include "tensor/cuda/runtime.h"
#include "tensor/graph/profile.h"
#include <stdlib.h>
#include <string.h>

_Static_assert(GPU_PHILOX_ROUNDS == PHILOX_ROUNDS, "the CPU and the GPU drop the same elements");

/* ---- memory ---- */

static int copy_out(void *to, const void *from, size_t bytes, err *e)
{
    return launched(gpu_copy_out(to, from, bytes), e);
}

/* ---- a plugin's fused operation ---- */

/* Runs a plugin's operation that has a CUDA kernel; others are traced as their reference. */
int cuda_CALL(const call *k, err *e)
{
    ab_view in[MAX_IN];
    if (!k->call->cuda) return fail(e, "operation '%s' has no CUDA kernel", k->call->name);
    for (int i = 0; i < k->n_in; i++) in[i] = plugin_view(&k->in[i]);
    ab_run r = {
        .in = in, .n_in = k->n_in, .out = plugin_view(&k->o.CALL.y), .attr = k->call_attr, .stream = gpu_stream()};
    if (k->call->cuda(&r))
        return fail(e, "the CUDA kernel of '%s' declines %s", k->call->name, dtype_name(k->o.CALL.y.type));
    return launched(gpu_launched(), e);
}

/* ---- the bf16 copy of the parameters ---- */

static int cast_values(params *s, err *e)
{
    call k = {.op = OP_CAST, .n_in = 1, .n_out = 1, .params = s};
    k.in[0] = (view){.data = s->value, .dim = {1, 1, 1, (int64_t)s->total}, .type = F32, .param = -1};
    k.out[0] = (view){.data = s->shadow, .dim = {1, 1, 1, (int64_t)s->total}, .type = BF16, .param = -1};
    if (cuda_CAST(&k, e)) return -1;
    s->shadow_version = s->version;
    return 0;
}

static int fresh_shadow(params *s, err *e)
{
    if (!s->shadow)
        s->shadow = gpu_alloc(s->total * dtype_size(BF16));
    else if (s->shadow_version == s->version)
        return 0;
    return cast_values(s, e);
}

/* ---- running ---- */

enum { PHASES = PHASE_STEP + 1, WORTH_A_GRAPH = 16 }; /* calls */
typedef struct {
    int32_t from, to; /* nodes */
    int64_t calls;
    void *graph;
} piece;
/* Runs a tape as one graph, or as several if its caller needs progress (run_options.stops). */
typedef struct {
    int64_t runs, calls;
    piece *piece;
    int n_pieces;
} range;
static int64_t graphs_written; /* since the GPU was opened */
typedef struct {
    range at[PHASES][PHASES];
    int64_t calls; /* calls in all phases */
    attend_tables *tables;
} kept;

static bool is_call(const node *v, phase first, phase last)
{
    return tape_is_call(v) && v->phase >= first && v->phase <= last;
}

static int64_t count_calls(const ab_ctx *c, phase first, phase last, int32_t from, int32_t to)
{
    int64_t n = 0;
    for (int32_t i = from; i <= to; i++) n += is_call(&c->v[i], first, last);
    return n;
}

static void drop_pieces(range *r)
{
    for (int i = 0; i < r->n_pieces; i++) gpu_graph_free(r->piece[i].graph);
    free(r->piece);
    *r = (range){0};
}

static bool cut_as_before(const range *r, const run_options *o)
{
    bool alike = r->n_pieces == o->n_stops + 1;
    for (int i = 0; alike && i < o->n_stops; i++) alike = r->piece[i].to == o->stops[i];
    return alike;
}

static void cut(const ab_ctx *c, const run_options *o, phase first, phase last, range *r)
{
    drop_pieces(r);
    r->n_pieces = o->n_stops + 1;
    r->piece = xcalloc((size_t)r->n_pieces, sizeof *r->piece);
    for (int i = 0; i < r->n_pieces; i++) {
        piece *p = &r->piece[i];
        p->from = i ? o->stops[i - 1] + 1 : 1, p->to = i < o->n_stops ? o->stops[i] : c->n - 1;
        p->calls = count_calls(c, first, last, p->from, p->to);
        r->calls += p->calls;
    }
}

static int run_nodes(ab_ctx *c, const run_options *o, phase first, phase last, const piece *p)
{
    int bad = 0;
    for (int32_t i = p->from; i <= p->to && !bad; i++)
        if (is_call(&c->v[i], first, last)) bad = tape_run_node(c, i, o, gpu_wait);
    return bad ? -1 : 0;
}

static int write_graph(ab_ctx *c, const run_options *o, phase first, phase last, piece *p)
{
    if (gpu_capture()) return -1;
    int bad = run_nodes(c, o, first, last, p);
    p->graph = gpu_captured();
    graphs_written += p->graph != NULL;
    return bad || !p->graph ? -1 : 0;
}

static int run_piece(ab_ctx *c, const run_options *o, phase first, phase last, piece *p, bool graph)
{
    if (!p->calls) return 0;
    if (!graph) return run_nodes(c, o, first, last, p);
    return (!p->graph && write_graph(c, o, first, last, p)) || gpu_replay(p->graph) ? -1 : 0;
}

/* ABLATE_GRAPH=0 launches kernel by kernel, to compare results or to find a failing kernel. The first run of a tape
 * loads kernels, plans products and sizes scratch memory; the second run is captured, one graph per piece. */
static int run(ab_ctx *c, const run_options *o, phase first, phase last)
{
    if (c->compute == BF16 && c->params->value && fresh_shadow(c->params, &c->error)) return -1;
    if (!c->device) {
        kept *k = c->device = xcalloc(1, sizeof *k);
        k->calls = count_calls(c, PHASE_CONST, PHASE_STEP, 1, c->n - 1);
    }
    kept *k = c->device;
    range *r = &k->at[first][last];
    if (!cut_as_before(r, o)) cut(c, o, first, last, r);
    bool graph = r->runs++ > 0 && !same(getenv("ABLATE_GRAPH"), "0") && k->calls >= WORTH_A_GRAPH && !profile_is_on();
    if (r->calls) gpu_set_counter(o->seed, o->step);
    int bad = attend_tables_write(c, &k->tables, first, last);
    if (!r->calls) return bad || gpu_launched() ? launched(-1, &c->error) : 0;
    const attend_tables *outer = attend_tables_use(k->tables);
    for (int i = 0; i < r->n_pieces && !bad; i++) {
        bad = run_piece(c, o, first, last, &r->piece[i], graph);
        if (!bad && i < o->n_stops && o->after) bad = o->after(o->self, o->stops[i], &c->error);
    }
    attend_tables_use(outer);
    if (bad && !c->error.text[0])
        fail(&c->error, "the GPU: %s", gpu_error() ? gpu_error() : "a CUDA graph could not be created");
    return bad || gpu_launched() ? launched(-1, &c->error) : 0;
}

static void forget(ab_ctx *c)
{
    kept *k = c->device;
    for (int i = 0; i < PHASES; i++)
        for (int j = 0; j < PHASES; j++) drop_pieces(&k->at[i][j]);
    attend_tables_free(k->tables);
    free(k);
    c->device = NULL;
}

static void refresh(params *s)
{
    err e = {0};
    if (s->shadow && cast_values(s, &e)) gpu_refuse(e.text);
}

/* ---- the rest of the table ---- */

static void clip(float *scale_at, const void *grad, int64_t n, double scale, double clip_norm)
{
    double *sum = gpu_scratch(SCRATCH_OPTIM, sizeof *sum);
    gpu_sum_squares_to(sum, grad, n);
    gpu_clip_scale(scale_at, sum, (float)scale, (float)clip_norm);
}

static void tell(char *words, size_t n)
{
    product_count c = product_counts();
    dnn_attend_count a = dnn_attend_counts();
    int used = snprintf(words, n, "cuBLASLt %lld, own kernels %lld, attention by cuDNN %lld, own %lld, graphs %lld",
                        (long long)c.library, (long long)c.own, (long long)a.library, (long long)a.own,
                        (long long)graphs_written);
    if (a.wgmma && used > 0 && (size_t)used < n)
        used += snprintf(words + used, n - (size_t)used, ", attention by wgmma %lld", (long long)a.wgmma);
    int64_t failures = product_failures();
    if (failures && used > 0 && (size_t)used < n)
        snprintf(words + used, n - (size_t)used, ", cuBLASLt failed %lld times", (long long)failures);
}

/* ---- beam search ---- */

typedef struct { /* in scratch memory, which does not move between put_choosing and choose */
    continuation *found;
    gpu_choice *best;
    double *log_sum, *log_prob;
    int32_t *line_of;
    uint32_t *line;
} choosing_room;

static choosing_room room_for(const choosing *c)
{
    size_t rows = (size_t)(c->sentences * c->beam), words = (size_t)((c->v + 31) / 32);
    size_t found = (size_t)(c->sentences * c->wanted) * sizeof(continuation),
           best = rows * (size_t)c->k * sizeof(gpu_choice);
    size_t number = rows * sizeof(double);
    char *at = gpu_scratch(SCRATCH_SELECT, found + best + 3 * number + (c->line ? rows * words * sizeof *c->line : 0));
    choosing_room r = {
        .found = (continuation *)at, .best = (gpu_choice *)(at + found), .log_sum = (double *)(at + found + best)};
    r.log_prob = r.log_sum + rows, r.line_of = (int32_t *)(r.log_prob + rows),
    r.line = (uint32_t *)(r.line_of + 2 * rows);
    return r;
}

static int store_choosing(const choosing *c, err *e)
{
    if (c->k > SELECT_MOST || c->beam > SELECT_BEAM)
        return fail(e, "beam_size = %lld on a GPU: expected at most %d (its kernel keeps %d choices per row)",
                    (long long)c->beam, SELECT_BEAM, SELECT_MOST);
    choosing_room r = room_for(c);
    size_t rows = (size_t)(c->sentences * c->beam);
    gpu_copy_in(r.log_prob, c->log_prob, rows * sizeof *c->log_prob);
    if (c->line) {
        gpu_copy_in(r.line_of, c->line_of, rows * sizeof *c->line_of);
        gpu_copy_in(r.line, c->line, (size_t)(c->n_lines * ((c->v + 31) / 32)) * sizeof *c->line);
    }
    return gpu_launched() ? launched(-1, e) : 0;
}

static int choose(const choosing *c, const void *logits, dtype type, continuation *out, err *e)
{
    static const int32_t never[2] = {AB_ID_PAD, AB_ID_START};
    choosing_room r = room_for(c);
    choosing there = *c;
    there.log_prob = r.log_prob, there.line = c->line ? r.line : NULL, there.line_of = r.line_of;
    int bad = gpu_select_best(type, &there, logits, never, r.best, r.log_sum, r.found);
    return bad ? launched(-1, e) : copy_out(out, r.found, (size_t)(c->sentences * c->wanted) * sizeof *out, e);
}

static const backend cuda_backend = {.name = "cuda",
                                     .kernels = {OPS(CUDA_ENTRY)},
                                     .joins_gradients = true,
                                     .joins_norms = true,
                                     .takes_sinks = true,
                                     .alloc = gpu_alloc,
                                     .release = gpu_release,
                                     .copy_in = gpu_copy_in,
                                     .copy_out = copy_out,
                                     .copy = gpu_copy,
                                     .zero = gpu_zero,
                                     .run_tiled = cuda_run_tiled,
                                     .sum_squares = cuda_sum_squares,
                                     .accumulate = cuda_accumulate,
                                     .run = run,
                                     .drop_graph = forget,
                                     .sync_bf16 = refresh,
                                     .clip = clip,
                                     .add_columns = gpu_add_columns,
                                     .stats = tell,
                                     .embeds_tokens = true,
                                     .put_choosing = store_choosing,
                                     .choose = choose,
                                     .follow = gpu_follow,
                                     .free_memory = gpu_free_memory};

/* ---- the module ---- */

/* Announces a wait: the driver compiles the kernels for a GPU for which this build has no machine code. Machine code
 * also runs on later GPUs of the same generation. */
static void tell_of_compiling(void)
{
    static const int built[] = {CUDA_GPUS}; /* cuda.cmake */
    int capability = gpu_capability();
    for (size_t i = 0; i < LENGTH(built); i++)
        if (built[i] / 10 == capability / 10 && built[i] <= capability) return;
    log_line(LOG_WARN,
             "compiling kernels for %s: this build has no machine code for compute capability %d.%d; the "
             "driver needs about half a minute, once",
             gpu_name(), capability / 10, capability % 10);
}
static const backend *open_device(int device, err *e)
{
    const char *why = NULL;
    if (gpu_open(device, &why)) {
        fail(e, "GPU %d cannot be used: %s", device, why ? why : "no reason given");
        return NULL;
    }
    tell_of_compiling();
    if (product_open(e)) {
        gpu_close();
        return NULL;
    }
    return &cuda_backend;
}

static void close_device(void)
{
    dnn_close();
    product_close();
    gpu_close();
    graphs_written = 0;
}

static const char *libraries(void)
{
    static char words[4096];
    snprintf(words, sizeof words, "%s; %s", product_library(), dnn_library());
    return words;
}

const cuda_module *ablate_cuda(void)
{
    static const cuda_module module = {.version = CUDA_MODULE,
                                       .layout = CUDA_MODULE_LAYOUT,
                                       .count = gpu_count,
                                       .describe = gpu_describe,
                                       .open = open_device,
                                       .close = close_device,
                                       .libraries = libraries};
    return &module;
}
