/* gpu_fibers.cc - runs the threads of a block as fibers on the CPU: barriers, warp exchanges, and the order of threads.
 *
 * Each thread of a block is a fiber with its own stack; a fiber yields at a barrier or a warp exchange until all
 * threads have arrived. ABLATE_SCHEDULE seeds a random order, which is drawn anew at each barrier. */
#include "gpu_watch.h"
#include <algorithm>
#include <numeric>
#include <sys/mman.h>
#include <ucontext.h>

gpu_index threadIdx, blockIdx;
dim3 blockDim, gridDim;
unsigned char *gpu_dynamic;
size_t gpu_dynamic_bytes;
unsigned gpu_progress;
const gpu_watcher *gpu_watch;
[[noreturn]] void broken_kernel(const char *what)
{
    fprintf(stderr, "kernel on the CPU: %s (block %u,%u,%u thread %u)\n", what, blockIdx.x, blockIdx.y, blockIdx.z,
            threadIdx.x);
    abort();
}

/* ---- fibers ---- */

enum { MOST = GPU_MOST_THREADS, STACK = GPU_STACK };

#ifdef __x86_64__
/* Pushes the callee-saved registers on this stack, stores its top in *from, and continues at `to`. swapcontext would
 * make a system call for the signal mask each time, which would take most of a test's time. */
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
    /* the stack is aligned to 16 bytes before a call, which pushes 8 */
    void **top = (void **)(stack + size - 64);
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

namespace
{
struct fiber {
    gpu_place at; /* the saved stack top */
    char *stack;
    bool made, done;
    const unsigned *waits; /* the fiber waits until this number differs from `seen`; NULL: it does not wait */
    unsigned seen;
};
/* Values that lanes exchange, in two halves used alternately. While some lanes still read one half, the first lane of
 * the next exchange may write the other; no lane reaches the exchange after that before all have read. */
struct warp {
    alignas(16) char slot[2][32][16]; /* each lane's value */
    int votes[2][32];
    float A[2][16][16], B[2][16][8]; /* operands of gpu_mma */
    unsigned char half[32];          /* the half that each lane writes next */
    int live, there;
    unsigned round;
};
fiber fibers[MOST];
gpu_index places[MOST]; /* threadIdx of each thread */
warp warps[MOST / 32];
gpu_place scheduler;
int running, live, at_barrier, n_threads;
unsigned barrier_round;
const std::function<void()> *body;
} // namespace

/* The current pass over the threads: their order, and the index of the next one. */
static int order[MOST], next;
static bool shuffled, reversed;

/* Returns the next thread of the pass that can run; -1: the pass is over. */
static int next_thread()
{
    while (next < n_threads) {
        int k = next++;
        if (shuffled) std::swap(order[k], order[k + (int)gpu_draw((unsigned)(n_threads - k))]);
        int t = reversed ? n_threads - 1 - k : order[k];
        const fiber *f = &fibers[t];
        if (!f->done && (!f->waits || *f->waits != f->seen)) return t;
    }
    return -1;
}

static void make(fiber *f);

/* Returns to the scheduler; without a watcher, switches directly to the next thread. */
static void to_scheduler(fiber *f)
{
    int t = gpu_watch ? -1 : next_thread();
    if (t >= 0) {
        running = t;
        threadIdx = places[t];
        if (!fibers[t].made) make(&fibers[t]);
    }
    gpu_swap(&f->at, t >= 0 ? &fibers[t].at : &scheduler);
}

static void set_places(int n)
{
    for (int t = 0; t < n; t++)
        places[t] = {(unsigned)t % blockDim.x, (unsigned)t / blockDim.x % blockDim.y,
                     (unsigned)t / (blockDim.x * blockDim.y)};
}

/* Yields until *number differs from `seen`. */
static void give_way(const unsigned *number, unsigned seen)
{
    fiber *f = &fibers[running];
    f->waits = number, f->seen = seen;
    if (*number == seen) to_scheduler(f);
    f->waits = nullptr;
}

int gpu_running() { return running; }
void gpu_give_way(const unsigned *number, unsigned seen) { give_way(number, seen); }

static void fiber_main()
{
    fiber *f = &fibers[running];
    for (;;) { /* each iteration runs one thread of a block */
        (*body)();
        f = &fibers[running];
        gpu_hopper_leaves(running);
        f->done = true;
        live--;
        warp *w = &warps[running / 32];
        w->live--;
        if (gpu_watch) gpu_watch->arrives(running);
        if (at_barrier && at_barrier == live) at_barrier = 0, barrier_round++;
        if (w->there && w->there == w->live) w->there = 0, w->round++;
        to_scheduler(f);
    }
}

static void make(fiber *f)
{
    f->stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->stack == MAP_FAILED) broken_kernel("no memory for the stack of a thread");
    make_place(&f->at, f->stack, STACK, fiber_main);
    f->made = true;
}

static void switch_to(int t)
{
    fiber *f = &fibers[t];
    running = t;
    threadIdx = places[t];
    if (!f->made) make(f);
    if (gpu_watch) gpu_watch->runs(t, f->stack);
    gpu_swap(&scheduler, &f->at);
    if (gpu_watch) gpu_watch->runs(-1, nullptr);
}

void gpu_barrier()
{
    unsigned round = barrier_round;
    if (gpu_watch) gpu_watch->arrives(running);
    if (++at_barrier == live) at_barrier = 0, barrier_round++;
    give_way(&barrier_round, round);
    if (gpu_watch) gpu_watch->passes(running, true);
}

/* Lets the threads of a warp wait for each other. Shuffles and votes do no more than this: they do not order accesses
 * to memory. */
static void meet(unsigned mask)
{
    warp *w = &warps[running / 32];
    if (mask != 0xffffffffu) broken_kernel("a warp operation for a part of the warp");
    unsigned round = w->round;
    if (++w->there == w->live) w->there = 0, w->round++;
    give_way(&w->round, round);
    if (gpu_watch && gpu_watch->meets) gpu_watch->meets(running);
}

void gpu_warp_barrier(unsigned mask)
{
    gpu_hopper_syncs(running);
    meet(mask);
    if (gpu_watch) gpu_watch->passes(running, false);
}

void gpu_fence()
{
    if (gpu_watch) gpu_watch->fence(running);
}

unsigned gpu_atomic_inc(unsigned *p, unsigned most) /* atomic because fibers switch only at barriers and exchanges */
{
    if (gpu_watch) gpu_watch->atomic(running, p);
    unsigned before = *p;
    *p = before >= most ? 0 : before + 1;
    return before;
}

/* Uses a memcpy of constant size for the usual 4 bytes, since the sanitizer checks each memcpy of unknown size. */
static void copy_value(void *to, const void *from, size_t bytes)
{
    if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

void gpu_exchange(unsigned mask, const void *mine, int from, void *out, size_t bytes)
{
    warp *w = &warps[running / 32];
    int lane = running % 32;
    if (w->live != 32) broken_kernel("a shuffle in a warp that some threads have left");
    if (bytes > sizeof w->slot[0][0]) broken_kernel("a shuffle of more than 16 bytes");
    int half = w->half[lane] ^= 1;
    copy_value(w->slot[half][lane], mine, bytes);
    meet(mask);
    copy_value(out, w->slot[half][from & 31], bytes);
}

unsigned gpu_vote(unsigned mask, int yes)
{
    warp *w = &warps[running / 32];
    int half = w->half[running % 32] ^= 1;
    w->votes[half][running % 32] = yes;
    meet(mask);
    unsigned bits = 0;
    for (int i = 0; i < 32; i++) bits |= (unsigned)(w->votes[half][i] != 0) << i;
    return bits;
}

/* ---- the order ---- */

static uint64_t seed()
{
    static const uint64_t given = getenv("ABLATE_SCHEDULE") ? strtoull(getenv("ABLATE_SCHEDULE"), nullptr, 10) : 0;
    return given;
}
bool gpu_shuffled() { return seed() != 0; }
unsigned gpu_draw(unsigned n)
{
    static uint64_t state = seed() * 0x9e3779b97f4a7c15u;
    state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth, TAOCP 2, 3.3.4 */
    return (unsigned)((state >> 32) * n >> 32);
}

/* Product of tensor cores: fragments have the layout of gpu.h; each lane collects the rows and columns that it needs
 * from the other lanes. */
void gpu_mma(float d[4], const unsigned a[4], const unsigned b[2])
{
    warp *w = &warps[running / 32];
    int lane = running % 32, g = lane / 4, t = lane % 4, half = w->half[lane] ^= 1;
    auto low = [](unsigned x) { return to_float(bf16{(uint16_t)x}); };
    auto high = [](unsigned x) { return to_float(bf16{(uint16_t)(x >> 16)}); };
    float(*A)[16] = w->A[half], (*B)[8] = w->B[half];
    for (int i = 0; i < 4; i++) {
        int row = g + 8 * (i % 2), column = 2 * t + 8 * (i / 2);
        A[row][column] = low(a[i]), A[row][column + 1] = high(a[i]);
    }
    for (int i = 0; i < 2; i++) {
        int row = 2 * t + 8 * i;
        B[row][g] = low(b[i]), B[row + 1][g] = high(b[i]);
    }
    meet(0xffffffffu);
    for (int i = 0; i < 4; i++) {
        int row = g + 8 * (i / 2), column = 2 * t + i % 2;
        for (int k = 0; k < 16; k++) d[i] += A[row][k] * B[k][column];
    }
}

void gpu_run_block(int threads, const std::function<void()> &what)
{
    n_threads = threads, body = &what;
    live = n_threads, at_barrier = 0;
    set_places(n_threads);
    for (int i = 0; i < n_threads; i++) fibers[i].done = false, fibers[i].waits = nullptr;
    for (int w = 0; w < n_threads / 32; w++) {
        warps[w].live = 32, warps[w].there = 0;
        memset(warps[w].half, 0, sizeof warps[w].half);
    }
    std::iota(order, order + n_threads, 0);
    shuffled = gpu_shuffled(), reversed = gpu_reversed && !shuffled;
    gpu_hopper_begins();
    while (live) {
        int before = live;
        unsigned rounds = barrier_round + gpu_progress;
        for (int w = 0; w < n_threads / 32; w++) rounds += warps[w].round;
        next = 0;
        for (int t = next_thread(); t >= 0; t = next_thread()) switch_to(t);
        unsigned now = barrier_round + gpu_progress;
        for (int w = 0; w < n_threads / 32; w++) now += warps[w].round;
        if (live == before && rounds == now)
            broken_kernel("its threads wait for each other: a barrier that not all reach");
    }
    gpu_hopper_ends();
}
