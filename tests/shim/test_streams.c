/* test_streams.c - streams, events and graphs of the emulated GPU: a missing wait changes results in one of its orders,
 * and side streams share no memory that kernels write. */
#include "tensor/cuda/ops.h"
#include "open_device.h"
#include "test.h"

/* ---- streams, events and graphs ---- */

#ifdef GPU_ON_CPU
enum { N = 64 };
static const char *const order_names[] = {"at once", "side streams late", "side streams early"};

static void in_order(gpu_timing order)
{
    gpu_wait();
    gpu_when = order;
}

/* Copies x to y on a side stream while the main stream sets x to 0, with or without a wait between them; returns
 * whether y got the old x. */
static bool copied_before_zeroed(gpu_timing order, bool waits, bool from_graph)
{
    float ones[N], found[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    float *x = gpu_alloc(sizeof ones), *y = gpu_alloc(sizeof ones), *z = gpu_alloc(sizeof ones);
    gpu_copy_in(z, ones, sizeof ones);
    in_order(order);
    gpu_zero(y, sizeof ones);
    if (from_graph) CHECK_THAT(!gpu_capture(), "no graph can be written");
    gpu_copy(x, z, sizeof ones);
    gpu_side_begin(GPU_RANKS);
    gpu_copy(y, x, sizeof ones);
    gpu_side_end();
    if (waits) gpu_side_join(GPU_RANKS);
    gpu_zero(x, sizeof ones);
    gpu_side_join(GPU_RANKS);
    void *graph = from_graph ? gpu_captured() : NULL;
    if (from_graph) CHECK_THAT(graph && !gpu_replay(graph), "no graph was written: %s", gpu_error());
    gpu_copy_out(found, y, sizeof found);
    gpu_graph_free(graph);
    in_order(GPU_AT_ONCE);
    gpu_release(x), gpu_release(y), gpu_release(z);
    return !memcmp(found, ones, sizeof ones);
}

static void check_streams(void)
{
    for (int order = GPU_AT_ONCE; order <= GPU_SIDES_EARLY; order++)
        for (int graph = 0; graph < 2; graph++) {
            bool found = copied_before_zeroed((gpu_timing)order, true, graph),
                 without = copied_before_zeroed((gpu_timing)order, false, graph);
            CHECK_THAT(found, "%s, graph %d: what is waited for has not happened", order_names[order], graph);
            CHECK_THAT(without == (order != GPU_SIDES_LATE), "%s, graph %d: without a wait the copy came %s",
                       order_names[order], graph, without ? "first" : "too late");
        }
}

/* The main stream does its work only when something waits for it. If nothing waits, a side stream must not see this
 * work. */
static void check_early(void)
{
    float one = 1, found = 0;
    float *x = gpu_alloc(sizeof one), *y = gpu_alloc(sizeof one), *z = gpu_alloc(sizeof one);
    gpu_copy_in(z, &one, sizeof one);
    gpu_zero(y, sizeof one);
    in_order(GPU_SIDES_EARLY);
    int64_t before = gpu_done.launches;
    gpu_copy(x, z, sizeof one);
    CHECK_THAT(gpu_done.launches == before, "%lld launches ran that nothing waited for",
               (long long)(gpu_done.launches - before));
    gpu_side_begin(GPU_RANKS);
    CHECK_THAT(gpu_done.launches == before + 1, "%lld launches ran before the side stream's, expected 1",
               (long long)(gpu_done.launches - before));
    gpu_copy(y, x, sizeof one);
    CHECK_THAT(gpu_done.launches == before + 2, "the side stream waits: %lld launches ran, expected 2",
               (long long)(gpu_done.launches - before));
    gpu_side_end();
    gpu_side_join(GPU_RANKS);
    gpu_copy_out(&found, y, sizeof found);
    in_order(GPU_AT_ONCE);
    CHECK_THAT(found == 1, "found %g, expected 1", (double)found);
    gpu_release(x), gpu_release(y), gpu_release(z);
}

static void check_graphs_joined(void)
{
    float *x = gpu_alloc(sizeof *x);
    CHECK_THAT(!gpu_capture() && !gpu_side_begin(GPU_RANKS), "no graph can be written");
    gpu_zero(x, sizeof *x);
    gpu_side_end();
    CHECK(!gpu_captured());
    CHECK_HAS(gpu_error(), "a side stream was not joined in the graph");
    gpu_clear_refusal();
    gpu_release(x);
}
#endif

/* Two streams may run at the same time, so they must not share memory that kernels write. */
static void check_own_memory(void)
{
    void *stream = gpu_stream(), *scratch = gpu_scratch(SCRATCH_SUMS, 1000),
         *workspace = gpu_scratch(SCRATCH_PRODUCT, 1000);
    unsigned *tickets = gpu_tickets();
    for (int s = 0; s < GPU_SIDES; s++) {
        CHECK_THAT(!gpu_side_begin((gpu_side)s), "side stream %d cannot be opened: %s", s, gpu_error());
        CHECK_THAT(gpu_stream() != stream, "side stream %d is the stream", s);
        CHECK_THAT(gpu_scratch(SCRATCH_SUMS, 1000) != scratch, "side stream %d has the stream's scratch memory", s);
        CHECK_THAT(gpu_scratch(SCRATCH_PRODUCT, 1000) != workspace, "side stream %d has the stream's workspace", s);
        CHECK_THAT(gpu_tickets() >= tickets + GPU_TICKETS || gpu_tickets() + GPU_TICKETS <= tickets,
                   "side stream %d has the stream's tickets", s);
        gpu_side_end();
        gpu_side_join((gpu_side)s);
    }
    CHECK_THAT(gpu_stream() == stream && gpu_tickets() == tickets && gpu_scratch(SCRATCH_SUMS, 1000) == scratch,
               "the side streams were not left");
}

int main(void)
{
    const cuda_module *module;
    err e = {0};
    open_device(&module, &e);
    CHECK_TEXT(e.text, "");
#ifdef GPU_ON_CPU
    check_streams();
    check_early();
    check_graphs_joined();
#endif
    check_own_memory();
    CHECK_THAT(!gpu_error(), "the GPU's error: %s", gpu_error());
    module->close();
    return test_end();
}
