/* gpu_emulation.cc - kernels on the CPU, and the runtime of runtime.h over plain memory: for tests only (gpu.h says how it is meant).
 *
 * A launch runs its blocks one after another. Each thread of a block is a fiber with a stack of its own; a fiber gives way at a
 * barrier or a warp exchange until all that must come have come.
 */
#ifndef GPU_ON_CPU
#define GPU_ON_CPU
#endif
#include "cuda/gpu.h"
#include "cuda/uploads.h"
#include <dlfcn.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define GPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GPU_ASAN 1
#endif
#endif
#ifdef GPU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

gpu_index threadIdx, blockIdx;
dim3 blockDim, gridDim;
unsigned char *gpu_dynamic;
extern "C" {
int gpu_reversed, gpu_dry, gpu_side_stuck;
gpu_tally gpu_done;
const char *gpu_label = "";
}

[[noreturn]] static void broken_kernel(const char *what)
{
    fprintf(stderr, "kernel on the CPU: %s (block %u,%u,%u thread %u)\n", what, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x);
    abort();
}

/* ---- fibers ---- */

enum { MOST = 1024, STACK = 256 << 10 };

#ifdef __x86_64__
/* Leaves the registers that a call preserves on this stack, this stack's top in *from, and goes on at `to`. swapcontext would ask
 * the kernel for the signal mask each time, which is most of the time of a test. */
typedef void *gpu_place;
extern "C" void gpu_swap(gpu_place *from, gpu_place *to);
asm(R"(
.text
gpu_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
static void make_place(gpu_place *p, char *stack, size_t size, void (*start)())
{
    void **top = (void **)(stack + size - 64); /* 16-byte aligned: at its first instruction a function has 8 bytes less */
    *--top = nullptr;
    *--top = (void *)start;
    for (int i = 0; i < 6; i++) *--top = nullptr;
    *p = top;
}
#else
typedef ucontext_t gpu_place;
static void gpu_swap(gpu_place *from, gpu_place *to) { swapcontext(from, to); }
static void make_place(gpu_place *p, char *stack, size_t size, void (*start)())
{
    getcontext(p);
    p->uc_stack.ss_sp = stack;
    p->uc_stack.ss_size = size;
    p->uc_link = nullptr;
    makecontext(p, start, 0);
}
#endif

namespace {
struct fiber {
    gpu_place at; /* where it goes on */
    char *stack;
    bool made, done;
    int waits; /* 0 runs, 1 at the block's barrier, 2 at its warp's */
    void *fake; /* the address sanitizer's */
};
struct warp {
    alignas(16) char slot[32][16]; /* what each lane offers */
    int votes[32];
    int live, there;
    unsigned round;
};
fiber fibers[MOST];
warp warps[MOST / 32];
gpu_place scheduler;
int running, live, at_barrier, n_threads;
unsigned barrier_round;
const std::function<void()> *body;
#ifdef GPU_ASAN
const void *home_bottom;
size_t home_size;
void *home_fake;
#endif
} // namespace

static void to_scheduler(fiber *f)
{
#ifdef GPU_ASAN
    __sanitizer_start_switch_fiber(&f->fake, home_bottom, home_size);
#endif
    gpu_swap(&f->at, &scheduler);
#ifdef GPU_ASAN
    __sanitizer_finish_switch_fiber(f->fake, nullptr, nullptr);
#endif
}

static void set_thread(int t)
{
    threadIdx.x = (unsigned)t % blockDim.x;
    threadIdx.y = (unsigned)t / blockDim.x % blockDim.y;
    threadIdx.z = (unsigned)t / (blockDim.x * blockDim.y);
}

static void give_way()
{
    int me = running;
    to_scheduler(&fibers[me]);
    set_thread(me);
}

static void fiber_main()
{
    fiber *f = &fibers[running];
#ifdef GPU_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &home_bottom, &home_size);
#endif
    for (;;) { /* one turn of this loop is one thread of one block */
        (*body)();
        f = &fibers[running];
        f->done = true;
        live--;
        warp *w = &warps[running / 32];
        w->live--;
        if (at_barrier && at_barrier == live) at_barrier = 0, barrier_round++;
        if (w->there && w->there == w->live) w->there = 0, w->round++;
        to_scheduler(f);
    }
}

static void switch_to(int t)
{
    fiber *f = &fibers[t];
    running = t;
    set_thread(t);
    if (!f->made) {
        f->stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (f->stack == MAP_FAILED) broken_kernel("no memory for the stack of a thread");
        make_place(&f->at, f->stack, STACK, fiber_main);
        f->made = true;
        f->fake = nullptr;
    }
#ifdef GPU_ASAN
    __sanitizer_start_switch_fiber(&home_fake, f->stack, STACK);
#endif
    gpu_swap(&scheduler, &f->at);
#ifdef GPU_ASAN
    __sanitizer_finish_switch_fiber(home_fake, nullptr, nullptr);
#endif
}

void gpu_barrier()
{
    unsigned round = barrier_round;
    if (++at_barrier == live) at_barrier = 0, barrier_round++;
    while (barrier_round == round) give_way();
}

void gpu_warp_barrier(unsigned mask)
{
    warp *w = &warps[running / 32];
    if (mask != 0xffffffffu) broken_kernel("a warp operation for a part of the warp");
    unsigned round = w->round;
    if (++w->there == w->live) w->there = 0, w->round++;
    while (w->round == round) give_way();
}

void gpu_exchange(unsigned mask, const void *mine, int from, void *out, size_t bytes)
{
    warp *w = &warps[running / 32];
    if (w->live != 32) broken_kernel("a shuffle in a warp that some threads have left");
    if (bytes > sizeof w->slot[0]) broken_kernel("a shuffle of more than 16 bytes");
    memcpy(w->slot[running % 32], mine, bytes);
    gpu_warp_barrier(mask);
    memcpy(out, w->slot[from & 31], bytes);
    gpu_warp_barrier(mask);
}

unsigned gpu_vote(unsigned mask, int yes)
{
    warp *w = &warps[running / 32];
    w->votes[running % 32] = yes;
    gpu_warp_barrier(mask);
    unsigned bits = 0;
    for (int i = 0; i < 32; i++) bits |= (unsigned)(w->votes[i] != 0) << i;
    gpu_warp_barrier(mask);
    return bits;
}

/* The fragments' layout is that of gpu.h; every lane gathers the rows and columns it needs from the others. */
void gpu_mma(float d[4], const unsigned a[4], const unsigned b[2])
{
    static float A[MOST / 32][16][16], B[MOST / 32][16][8];
    int w = running / 32, lane = running % 32, g = lane / 4, t = lane % 4;
    auto low = [](unsigned x) { return to_float(bf16{(uint16_t)x}); };
    auto high = [](unsigned x) { return to_float(bf16{(uint16_t)(x >> 16)}); };
    for (int i = 0; i < 4; i++) {
        int row = g + 8 * (i % 2), column = 2 * t + 8 * (i / 2);
        A[w][row][column] = low(a[i]), A[w][row][column + 1] = high(a[i]);
    }
    for (int i = 0; i < 2; i++) {
        int row = 2 * t + 8 * i;
        B[w][row][g] = low(b[i]), B[w][row + 1][g] = high(b[i]);
    }
    gpu_warp_barrier(0xffffffffu);
    for (int i = 0; i < 4; i++) {
        int row = g + 8 * (i / 2), column = 2 * t + i % 2;
        for (int k = 0; k < 16; k++) d[i] += A[w][row][k] * B[w][k][column];
    }
    gpu_warp_barrier(0xffffffffu);
}

static void run_block()
{
    live = n_threads, at_barrier = 0;
    for (int i = 0; i < n_threads; i++) fibers[i].done = false;
    for (int w = 0; w < n_threads / 32; w++) warps[w].live = 32, warps[w].there = 0;
    while (live) {
        int before = live;
        unsigned rounds = barrier_round;
        for (int w = 0; w < n_threads / 32; w++) rounds += warps[w].round;
        for (int k = 0; k < n_threads; k++) {
            int t = gpu_reversed ? n_threads - 1 - k : k;
            if (!fibers[t].done) switch_to(t);
        }
        unsigned now = barrier_round;
        for (int w = 0; w < n_threads / 32; w++) now += warps[w].round;
        if (live == before && rounds == now) broken_kernel("its threads wait for each other: a barrier that not all reach");
    }
}

/* ---- memory: out of the host's reach between launches, where the address sanitizer can see to that ---- */

namespace {
std::map<char *, size_t> blocks;
std::string error;
bool has_error, refused, capturing;
struct graph_step { /* a launch */
    std::string label, name;
    std::function<void()> run;
};
struct graph { std::vector<graph_step> steps; };
std::map<std::pair<std::string, std::string>, int64_t> tally; /* launches by label and name */
graph *written;
struct scratch_block { void *data; size_t bytes; } scratch[16];
std::vector<void *> outgrown; /* scratch that written graphs may still name */
gpu_counter counter;
unsigned tickets[GPU_TICKETS];
} // namespace

static void lock(bool locked)
{
#ifdef GPU_ASAN
    for (auto &b : blocks)
        if (locked)
            ASAN_POISON_MEMORY_REGION(b.first, b.second);
        else
            ASAN_UNPOISON_MEMORY_REGION(b.first, b.second);
#else
    (void)locked;
#endif
}

static void run_step(const graph_step &s)
{
    gpu_done.launches++;
    tally[{s.label, s.name}]++;
    if (gpu_dry) return;
    lock(false);
    s.run();
    lock(true);
}

static void do_or_write(const char *name, std::function<void()> what)
{
    graph_step s = {gpu_label, name, what};
    if (!capturing) gpu_flush();
    if (capturing)
        written->steps.push_back(s);
    else
        run_step(s);
}

static void run_grid(dim3 grid, dim3 block, size_t smem, const std::function<void()> &what)
{
    n_threads = (int)(block.x * block.y * block.z);
    blockDim = block, gridDim = grid, body = &what;
    char *shared = (char *)aligned_alloc(64, (smem + 127) / 64 * 64);
    char *start = shared + (smem + 63) / 64 * 64 - smem; /* ends where the allocation's last 64 bytes begin ... */
    start -= (size_t)start % 16;
    gpu_dynamic = (unsigned char *)start;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = {x, y, z};
                memset(start, 0xff, smem); /* every number in it is none */
#ifdef GPU_ASAN
                ASAN_POISON_MEMORY_REGION(start + smem, (size_t)(shared + (smem + 127) / 64 * 64 - (start + smem)));
#endif
                run_block();
#ifdef GPU_ASAN
                ASAN_UNPOISON_MEMORY_REGION(shared, (smem + 127) / 64 * 64);
#endif
            }
    free(shared);
}

void gpu_launch(const char *name, dim3 grid, dim3 block, size_t smem, std::function<void()> what)
{
    size_t threads = (size_t)block.x * block.y * block.z;
    if (!threads || threads > MOST || threads % 32 || !grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 ||
        smem > 227 << 10) {
        gpu_refuse("a launch with a grid, a block or shared memory that no GPU takes");
        return;
    }
    do_or_write(name, [=] { run_grid(grid, block, smem, what); });
}

/* ---- runtime.h ---- */

extern "C" {
int gpu_count(const char **why)
{
    *why = NULL;
    return 1;
}
size_t gpu_free_memory(void)
{
    const char *bytes = getenv("ABLATE_EMULATED_MEMORY"); /* for tests of what fits */
    return bytes ? strtoull(bytes, NULL, 10) : (size_t)1 << 30;
}
int gpu_describe(int, gpu_device *out)
{
    *out = gpu_device();
    snprintf(out->name, sizeof out->name, "kernels on the CPU, for tests");
    out->major = 9, out->multiprocessors = 4, out->memory = out->free_memory = gpu_free_memory();
    return 0;
}
int gpu_open(int, const char **why)
{
    *why = NULL;
    return 0;
}
void gpu_close(void)
{
    gpu_forget_uploads();
    for (auto &s : scratch)
        if (s.data) gpu_release(s.data), s = scratch_block();
    for (void *p : outgrown) gpu_release(p);
    outgrown.clear();
    has_error = refused = false, error.clear();
}
int gpu_launched(void) { return has_error ? -1 : 0; }
const char *gpu_error(void) { return has_error ? error.c_str() : NULL; }
int gpu_refuse(const char *words)
{
    if (!has_error) error = words, refused = true;
    has_error = true;
    return -1;
}
void gpu_clear_refusal(void)
{
    if (refused) has_error = refused = false, error.clear();
}
int gpu_forgive(void) { return gpu_launched(); }
void *gpu_alloc(size_t bytes)
{
    size_t size = bytes ? bytes : 1;
    void *p = NULL;
    if (posix_memalign(&p, 256, size)) broken_kernel("out of memory");
    memset(p, 0xff, size);
    blocks[(char *)p] = size;
    lock(true);
    return p;
}
void gpu_release(void *p)
{
    if (!p) return;
    gpu_flush();
    auto at = blocks.find((char *)p);
    if (at == blocks.end()) broken_kernel("gpu_release of something else");
#ifdef GPU_ASAN
    ASAN_UNPOISON_MEMORY_REGION(at->first, at->second);
#endif
    blocks.erase(at);
    free(p);
}
void *gpu_stage(void)
{
    static char bytes[GPU_STAGE_BYTES];
    return bytes;
}
void gpu_send(void *to, const void *stage, size_t bytes)
{
    gpu_done.copies_in++;
    lock(false);
    memcpy(to, stage, bytes);
    lock(true);
}
int gpu_copy_out(void *to, const void *from, size_t bytes)
{
    if (capturing) return gpu_refuse("a copy to the host during graph capture");
    gpu_flush();
    lock(false);
    memcpy(to, from, bytes);
    lock(true);
    return gpu_launched();
}
void gpu_copy(void *to, const void *from, size_t bytes)
{
    do_or_write("copy", [=] { memmove(to, from, bytes); });
}
void gpu_zero(void *at, size_t bytes)
{
    do_or_write("zero", [=] { memset(at, 0, bytes); });
}
void *gpu_scratch(int slot, size_t bytes)
{
    scratch_block *s = &scratch[slot];
    if (s->bytes >= bytes) return s->data;
    if (s->data) outgrown.push_back(s->data);
    *s = scratch_block{gpu_alloc(bytes), bytes};
    return s->data;
}
void gpu_host_call(void (*body)(void *), const void *arg, size_t bytes)
{
    std::vector<char> copy((const char *)arg, (const char *)arg + bytes);
    do_or_write("library", [=] {
        std::vector<char> mine = copy;
        body(mine.data());
    });
}
double gpu_milliseconds(int (*work)(void *), void *arg)
{
    if (capturing) return gpu_refuse("a measurement during graph capture");
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (work(arg)) return -1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
}
void gpu_each_launch(void (*f)(void *self, const char *label, const char *name, int64_t n), void *self)
{
    for (auto &t : tally) f(self, t.first.first.c_str(), t.first.second.c_str(), t.second);
    tally.clear();
}
void gpu_wait(void) { gpu_flush(); }
void *gpu_stream(void) { return NULL; }
const gpu_counter *gpu_counters(void) { return &counter; }
unsigned *gpu_tickets(void) { return tickets; }
void gpu_set_counter(uint64_t seed, uint64_t step)
{
    gpu_counter c = {seed, step};
    gpu_copy_in(&counter, &c, sizeof c);
}
void gpu_shared_memory(const void *, size_t) {}
int gpu_capture(void)
{
    gpu_flush();
    if (has_error || capturing) return -1;
    written = new graph;
    capturing = true;
    return 0;
}
void *gpu_captured(void)
{
    graph *g = written;
    written = NULL, capturing = false;
    if (!has_error) return g;
    delete g;
    return NULL;
}
int gpu_replay(void *g)
{
    gpu_flush();
    for (auto &step : ((graph *)g)->steps) run_step(step);
    return gpu_launched();
}
void gpu_graph_free(void *g) { delete (graph *)g; }
int gpu_capturing(void) { return capturing; }
/* Code for the emulation is a shared object, named by its path; a kernel in it is a function that launches itself. */
int gpu_capability(void) { return 90; }
void *gpu_load_kernel(const void *image, const char *name)
{
    void *library = dlopen((const char *)image, RTLD_NOW | RTLD_LOCAL), *kernel = library ? dlsym(library, name) : NULL;
    if (!kernel) gpu_refuse("code that was compiled at run time is no shared object of the emulation");
    return kernel;
}
int gpu_run_kernel(void *kernel, unsigned blocks, unsigned threads, const void *const *arguments)
{
    int (*run)(unsigned, unsigned, const void *const *);
    memcpy(&run, &kernel, sizeof run);
    return run(blocks, threads, arguments);
}
const char *gpu_name(void) { return "kernels on the CPU, for tests"; }
int gpu_side_begin(void) { return gpu_launched(); } /* launches run at once, so there is nothing to wait for */
void gpu_side_end(void) {}
int gpu_side_join(void) { return gpu_launched(); }
int gpu_side_done(void) { return gpu_launched() ? -1 : !gpu_side_stuck; }
int gpu_multiprocessors(void) { return 4; }
}
