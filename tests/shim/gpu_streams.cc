/* gpu_streams.cc - streams, events and graphs of the emulated GPU (see gpu_streams.h). */
#include "gpu_streams.h"
#include "tensor/cuda/runtime.h"
#include <deque>
#include <unistd.h>
#include <vector>

extern "C" {
gpu_timing gpu_when;
int gpu_side_stuck;
}

namespace
{
enum { MOST_WAIT = 20 /* seconds */ };
enum { SEES = 0 /* number of side_sees in runtime.cu */, SEEN = GPU_SIDES, EVENTS = 2 * GPU_SIDES };
enum what { WORK, RECORD, WAIT };
struct action {
    what kind;
    int lane, event;
    gpu_work work;
};
typedef std::vector<action> graph;

/* ---- the streams' queues and their progress ---- */

struct item { /* an item is work, or a wait until stream `lane` has done `until` items */
    gpu_work work;
    int lane;
    uint64_t until;
};
struct stream_state {
    std::deque<item> queue;
    uint64_t given, done;
    gpu_clock clock; /* clock of the last item */
} streams[GPU_LANES];
struct {
    int lane;
    uint64_t at;
    gpu_clock clock;
} events[EVENTS];
gpu_clock host; /* work that the host has waited for */
int lane;
void (*watch)(double seconds); /* set by gpu_while_waiting */

/* ---- the graph that is being captured: checks what CUDA would refuse ---- */

graph *written;
unsigned number; /* number of the graph */
struct {
    bool in;
    uint64_t given, joined;
} part[GPU_LANES];
struct {
    unsigned graph;
    int lane;
    uint64_t at;
} recorded[EVENTS]; /* graph: number of the graph in which the event was recorded; 0: in no graph */
} // namespace

static void run_until(int of, uint64_t n)
{
    stream_state *s = &streams[of];
    while (s->done < n) {
        item x = s->queue.front();
        s->queue.pop_front();
        if (!x.work.run) {
            run_until(x.lane, x.until);
        } else {
            gpu_run_work(x.work);
        }
        s->done++;
    }
}

static void join(gpu_clock *c, const gpu_clock &other)
{
    for (int i = 0; i < GPU_LANES; i++)
        if (c->of[i] < other.of[i]) c->of[i] = other.of[i];
}

/* Does stream `of` wait for all work given to a side stream? */
static bool waits_for_sides(int of)
{
    for (int i = 1; i < GPU_LANES; i++)
        if (streams[i].clock.of[i] && (of == i || streams[of].clock.of[i] == streams[i].clock.of[i])) return true;
    return false;
}

static void do_all(int of)
{
    run_until(of, streams[of].given);
    join(&host, streams[of].clock);
}

int gpu_current() { return lane; }
void gpu_finish(int of)
{
    do_all(of);
    for (double waited = 0; gpu_side_stuck && waits_for_sides(of); waited += 1e-3) {
        if (!watch || waited > MOST_WAIT) broken_kernel("the host waits for ever: a side stream's work does not end");
        watch(waited);
        usleep(1000);
    }
}
void gpu_finish_all()
{
    for (int i = 0; i < GPU_LANES; i++) gpu_finish(i);
}

static void perform(const action &a)
{
    stream_state *s = &streams[a.lane];
    if (a.kind == RECORD) {
        events[a.event] = {a.lane, s->given, s->clock};
        return;
    }
    join(&s->clock, a.kind == WORK ? host : events[a.event].clock);
    s->queue.push_back(a.kind == WORK ? item{a.work, 0, 0}
                                      : item{gpu_work(), events[a.event].lane, events[a.event].at});
    if (a.kind == WORK) {
        s->clock.of[a.lane]++;
        s->queue.back().work.lane = a.lane, s->queue.back().work.clock = s->clock;
    }
    s->given++;
    if (gpu_when == GPU_AT_ONCE || (gpu_when == GPU_SIDES_LATE) == !a.lane) run_until(a.lane, s->given);
}

static void note_in_graph(const action &a)
{
    auto *e = &recorded[a.event];
    if (a.kind == WAIT) {
        if (e->graph != number) gpu_refuse("a stream waits for what is not in the graph that is being written");
        if (!a.lane && part[e->lane].joined < e->at) part[e->lane].joined = e->at;
        part[a.lane].in = true;
    }
    if (!part[a.lane].in) gpu_refuse("work for a stream that is not in the graph that is being written");
    if (a.kind == RECORD)
        *e = {number, a.lane, part[a.lane].given};
    else
        part[a.lane].given++;
    written->push_back(a);
}

static void act(const action &a)
{
    if (written) {
        note_in_graph(a);
        return;
    }
    if (a.kind == RECORD) recorded[a.event].graph = 0;
    if (a.kind == WAIT && recorded[a.event].graph) gpu_refuse("a stream waits for what is in a graph");
    perform(a);
}

void gpu_give(const gpu_work &w) { act({WORK, lane, 0, w}); }

/* ---- runtime.h ---- */

extern "C" {
void *gpu_stream(void) { return lane ? &streams[lane] : NULL; }

int gpu_side_begin(gpu_side s)
{
    gpu_flush();
    act({RECORD, 0, SEES + s, {}});
    act({WAIT, 1 + s, SEES + s, {}});
    lane = 1 + s;
    return gpu_launched();
}
void gpu_while_waiting(void (*f)(double seconds)) { watch = f; }
void gpu_side_end(void)
{
    gpu_flush();
    lane = 0;
}
int gpu_side_join(gpu_side s)
{
    act({RECORD, 1 + s, SEEN + s, {}});
    act({WAIT, 0, SEEN + s, {}});
    return gpu_launched();
}
int gpu_side_done(gpu_side s) /* the host calls this repeatedly while it waits */
{
    do_all(1 + s);
    return gpu_launched() ? -1 : !gpu_side_stuck;
}

int gpu_capture(void)
{
    gpu_flush();
    if (gpu_launched() || written) return -1;
    written = new graph;
    number++;
    for (auto &p : part) p = {};
    part[0].in = true;
    return 0;
}
void *gpu_captured(void)
{
    graph *g = written;
    written = NULL;
    for (int i = 1; i < GPU_LANES; i++)
        if (part[i].joined != part[i].given) gpu_refuse("a side stream was not joined in the graph that was written");
    if (!gpu_launched()) return g;
    delete g;
    return NULL;
}
int gpu_replay(void *g)
{
    gpu_flush();
    for (auto &a : *(graph *)g) perform(a);
    return gpu_launched();
}
void gpu_graph_free(void *g)
{
    gpu_finish(lane);
    delete (graph *)g;
}
int gpu_capturing(void) { return written != NULL; }
}
