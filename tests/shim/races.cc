/* races.cc - a race detector for kernels on the emulated GPU (see docs/gpu.md).
 *
 * The kernels are compiled with -fsanitize=thread, which calls a function before each access to memory. This file
 * defines these functions in place of the compiler's own library. It records the last accesses to each 4 bytes of
 * device and shared memory, or to each byte if smaller accesses occurred. Two accesses race if at least one writes, at
 * least one is not atomic, and neither happens before the other (FastTrack, Flanagan and Freund 2009). Access a
 * happens before access b
 *   in a thread       in program order;
 *   in a warp         if __syncwarp lies between them: shuffles and votes order no memory;
 *   in a block        if __syncthreads lies between them;
 *   between blocks    if a's block executes a __threadfence and then an atomic operation, and b's block afterwards an
 *                     atomic operation on the same number and then a __threadfence, perhaps with __syncthreads between;
 *   between launches  if one stream has both, or an event or the host's waiting orders them.
 * This order does not depend on which access ran first, so races are also found in runs in which nothing goes wrong.
 */
#include "accesses.h"
#include "races.h"
#include <memory>
#include <unordered_map>
#include <vector>

namespace
{
enum { PAGE = 4096, CELLS = PAGE / 4, CACHED = 512 };
struct history {
    race_access written, read[2];
};
struct cell { /* 4 bytes */
    history all;
    std::unique_ptr<history[]> bytes; /* one history per byte, if there was a smaller access */
};
struct page {
    std::unique_ptr<cell[]> cells; /* [CELLS]; allocated when the page is first accessed */
};

/* ---- device memory ---- */

std::unordered_map<uintptr_t, page> pages;
struct {
    uintptr_t number;
    page *found; /* NULL: this address is not in device memory */
} cache[CACHED];

/* ---- the running work ---- */

std::vector<race_launch> launches(1);
uint32_t launch; /* index of the current launch, which is the last of `launches` */
struct thread_state {
    /* fence_epoch: number of the block's barriers that the thread had passed at its last fence */
    uint32_t epoch, warp_epoch, fence_epoch;
    /* arrived: the thread's number of fences at the last barrier before the latest even and the latest odd epoch */
    uint16_t fences, arrived[2];
};
thread_state threads[GPU_MOST_THREADS];
int running = -1; /* the thread that runs; -1 outside of a kernel */
uintptr_t stack;
uint32_t block;
struct region {
    uintptr_t from, bytes;
    std::vector<cell> cells; /* cells of earlier blocks remain: their launch and block tell them apart */
} dynamic, fixed;            /* shared memory */
const void *fixed_kernel;

/* ---- atomics: what each block has released, and which releases this block has acquired ---- */

struct release {
    uint32_t block;
    uint16_t thread;
    uint32_t epoch, fence_epoch;
    /* for each thread of the block: number of its fences that happen before this release */
    std::vector<uint16_t> fences;
    std::vector<std::shared_ptr<const release>> before; /* releases that the thread had acquired before */
};
struct acquired {
    std::shared_ptr<const release> what;
    uint16_t thread;
    uint32_t epoch, fences; /* fences: how many the thread had passed */
    uint32_t fenced;        /* the epoch of the thread's next fence; UINT32_MAX: none yet */
};
std::unordered_map<const void *, std::vector<std::shared_ptr<const release>>> released; /* by number */
/* releases that this block has acquired */
std::vector<acquired> taken;
} // namespace

static bool sees(const acquired &a, const race_access &n)
{
    const thread_state &t = threads[n.thread];
    if (a.thread == n.thread) return n.fences > a.fences;
    return a.fenced < n.epoch || (a.epoch < n.epoch && t.fences && t.fence_epoch > a.epoch);
}

static bool covers(const release &r, const race_access &a)
{
    return r.block == a.block && (r.fences[a.thread] > a.fences || a.epoch < r.fence_epoch);
}

/* Returns whether a happens before n, the current access; if not, sets *missing to the kind of order between them. */
static inline bool before(const race_access &a, const race_access &n, race_class *missing)
{
    if (a.launch != n.launch) {
        const race_launch &of_a = launches[a.launch], &of_n = launches[n.launch];
        *missing = RACE_STREAMS;
        return of_n.clock.of[of_a.lane] >= of_a.clock.of[of_a.lane];
    }
    if (a.block == n.block) {
        if (a.thread == n.thread) return true;
        bool same_warp = a.thread / 32 == n.thread / 32;
        *missing = same_warp ? RACE_WARP : RACE_BLOCK;
        return a.epoch < n.epoch || (same_warp && a.warp_epoch < n.warp_epoch);
    }
    *missing = RACE_GRID;
    for (const acquired &t : taken)
        if (covers(*t.what, a) && sees(t, n)) return true;
    return false;
}

/* ---- an access ---- */

static std::string place_of(uintptr_t p)
{
    if (p - dynamic.from < dynamic.bytes) return "dynamic shared memory, byte " + std::to_string(p - dynamic.from);
    if (p - fixed.from < fixed.bytes) {
        std::string name = gpu_shared_name((const void *)p);
        return "shared memory " + (name.empty() ? "of a generated kernel" : name);
    }
    return gpu_memory_name((const void *)p);
}

static inline void compare(const race_access &a, const race_access &n, uintptr_t p)
{
    race_class missing;
    if (!a.launch || (!a.writes && !n.writes) || (a.atomic && n.atomic) || before(a, n, &missing)) return;
    race_report(missing, a, launches[a.launch], n, launches[n.launch], place_of(p));
}

/* Keeps two readers, in different warps, blocks or launches if possible, so that a later writer differs from one of
 * them. A reader that happens before the new one is dropped. */
static void keep_reader(history *h, const race_access &n)
{
    race_class missing;
    race_access &a = h->read[0], &b = h->read[1];
    auto now = [&](const race_access &x) { return x.launch == n.launch && x.block == n.block && x.epoch == n.epoch; };
    if (now(a) && now(b) && a.thread / 32 != b.thread / 32) return; /* as often */
    if (!a.launch || before(a, n, &missing)) {
        a = n;
        if (b.launch && before(b, n, &missing)) b = race_access();
    } else if (!b.launch || before(b, n, &missing)) {
        b = n;
    } else if (a.launch == b.launch && a.block == b.block &&
               (n.launch != a.launch || n.block != a.block ||
                (a.thread / 32 == b.thread / 32 && n.thread / 32 != a.thread / 32))) {
        b = n;
    }
}

static inline void see(history *h, const race_access &n, bool shared, uintptr_t p)
{
    const race_access &last = h->written.launch ? h->written : h->read[0];
    if (last.launch == n.launch && last.block == n.block && last.thread == n.thread && !h->read[1].launch &&
        (!h->read[0].launch || !h->written.launch)) { /* the common case: only this thread has accessed it */
        /* a repeated access, which changes nothing */
        bool again = last.warp_epoch == n.warp_epoch && last.fences == n.fences;
        if (n.writes) h->read[0].launch = 0;
        if (n.writes || !again || !h->written.launch) (n.writes ? h->written : h->read[0]) = n;
        return;
    }
    /* the cell was recorded by an earlier block, but shared memory starts anew */
    if (shared && (last.launch != n.launch || last.block != n.block)) *h = history();
    compare(h->written, n, p);
    if (!n.writes) {
        keep_reader(h, n);
        return;
    }
    compare(h->read[0], n, p);
    compare(h->read[1], n, p);
    h->written = n, h->read[0] = h->read[1] = race_access();
}

static void see_cell(cell *c, const race_access &n, bool shared, uintptr_t p, size_t bytes)
{
    if (bytes < 4 && !c->bytes) {
        c->bytes.reset(new history[4]);
        for (int i = 0; i < 4; i++) c->bytes[i] = c->all;
    }
    if (!c->bytes) {
        see(&c->all, n, shared, p);
        return;
    }
    for (size_t i = 0; i < bytes; i++) see(&c->bytes[(p + i) % 4], n, shared, p + i);
}

static void see_cells(cell *first, uintptr_t from, const race_access &n, bool shared, uintptr_t p, size_t bytes)
{
    for (uintptr_t end = p + bytes; p < end;) {
        size_t part = 4 - p % 4 < end - p ? 4 - p % 4 : end - p;
        see_cell(first + (p / 4 - from / 4), n, shared, p, part);
        p += part;
    }
}

static page *page_of(uintptr_t p)
{
    auto &c = cache[p / PAGE % CACHED];
    if (c.number != p / PAGE) {
        auto at = pages.find(p / PAGE);
        c.number = p / PAGE, c.found = at == pages.end() ? nullptr : &at->second;
    }
    return c.found;
}

static void see_device(const race_access &n, uintptr_t p, size_t bytes)
{
    for (uintptr_t end = p + bytes; p < end;) {
        size_t part = PAGE - p % PAGE < end - p ? PAGE - p % PAGE : end - p;
        page *of = page_of(p);
        if (of && !of->cells) of->cells.reset(new cell[CELLS]());
        if (of) see_cells(of->cells.get(), p / PAGE * PAGE, n, false, p, part);
        p += part;
    }
}

static bool see_shared(region *r, const race_access &n, uintptr_t p, size_t bytes)
{
    if (p - r->from >= r->bytes) return false;
    if (r->cells.size() < r->bytes / 4 + 2) r->cells.resize(r->bytes / 4 + 2);
    see_cells(r->cells.data(), r->from, n, true, p, bytes);
    return true;
}

static void access(uintptr_t p, size_t bytes, bool writes, bool atomic, const void *pc)
{
    if (running < 0 || p - stack < GPU_STACK) return;
    const thread_state &t = threads[running];
    race_access n = {launch,   block,  t.epoch, t.warp_epoch,   (uint16_t)running,
                     t.fences, writes, atomic,  (uint8_t)bytes, pc};
    if (!see_shared(&dynamic, n, p, bytes) && !see_shared(&fixed, n, p, bytes)) see_device(n, p, bytes);
}

/* ---- events of the emulation ---- */

static void on_work(const gpu_work &w)
{
    launch = (uint32_t)launches.size();
    launches.push_back({w.label, w.name, 1, 1, w.lane, w.clock});
}
static void on_work_done() { dynamic.bytes = 0; }
static void on_grid(const void *kernel, const unsigned char *at, size_t bytes)
{
    launches.back().grid = gridDim, launches.back().block = blockDim;
    dynamic.from = (uintptr_t)at, dynamic.bytes = bytes;
    if (fixed_kernel != kernel) fixed.bytes = 0;
    fixed_kernel = kernel;
    released.clear();
}
static void on_block()
{
    if (!fixed.bytes) { /* the first block of a generated kernel creates its variables */
        memory_region r = static_shared_of(fixed_kernel);
        fixed.from = r.from, fixed.bytes = r.bytes;
    }
    block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    for (thread_state &t : threads) t = thread_state();
    taken.clear();
}
static void on_runs(int thread, const char *its_stack) { running = thread, stack = (uintptr_t)its_stack; }
static void on_arrives(int thread)
{
    thread_state *t = &threads[thread];
    t->arrived[(t->epoch + 1) % 2] = t->fences;
}
static void on_passes(int thread, bool all)
{
    thread_state *t = &threads[thread];
    if (all) t->epoch++;
    t->warp_epoch++;
}
static void on_fence(int thread)
{
    thread_state *t = &threads[thread];
    t->fences++, t->fence_epoch = t->epoch;
    for (acquired &a : taken)
        if (a.thread == thread && a.fenced == UINT32_MAX) a.fenced = t->epoch;
}
static void on_atomic(int thread, const void *p)
{
    const thread_state &t = threads[thread];
    access((uintptr_t)p, 4, true, true, __builtin_return_address(0));
    auto &of = released[p];
    auto mine = std::make_shared<release>();
    *mine = {block, (uint16_t)thread, t.epoch, t.fence_epoch, {}, {}};
    race_access now = {0, block, t.epoch, t.warp_epoch, (uint16_t)thread, t.fences, 0, 1, 0, nullptr};
    for (int i = 0; i < GPU_MOST_THREADS; i++) mine->fences.push_back(threads[i].arrived[t.epoch % 2]);
    mine->fences[(size_t)thread] = t.fences;
    for (const acquired &a : taken)
        if (sees(a, now)) mine->before.push_back(a.what);
    for (auto &r : of) {
        taken.push_back({r, (uint16_t)thread, t.epoch, t.fences, UINT32_MAX});
        for (auto &b : r->before) taken.push_back({b, (uint16_t)thread, t.epoch, t.fences, UINT32_MAX});
    }
    of.push_back(mine);
}
static void on_touch(const void *p, size_t bytes, bool writes)
{
    race_access n = {launch, 0, 0, 0, 0, 0, writes, 0, 0, nullptr};
    threads[0] = thread_state();
    see_device(n, (uintptr_t)p, bytes);
}
static void on_memory(const void *p, size_t bytes)
{
    uintptr_t from = (uintptr_t)p, end = from + bytes;
    for (uintptr_t at = from / PAGE * PAGE; at < end; at += PAGE) {
        page &of = pages[at / PAGE];
        for (uintptr_t c = at < from ? from : at; of.cells && c < end && c < at + PAGE; c += 4)
            of.cells[c % PAGE / 4] = cell();
    }
    for (auto &c : cache) c = {0, nullptr};
}

static void on_reads(const void *p, size_t bytes)
{
    access((uintptr_t)p, bytes, false, false, __builtin_return_address(0));
}

static const gpu_watcher detector = {on_work, on_work_done, on_grid,   on_block, on_runs,   on_arrives, on_passes,
                                     nullptr, on_fence,     on_atomic, on_touch, on_memory, on_reads};
__attribute__((constructor)) static void begin() { gpu_watch = &detector; }
