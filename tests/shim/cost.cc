/* cost.cc - a model of what kernels on the emulated GPU cost (see docs/gpu.md): memory moved, bank conflicts, widths.
 *
 * The hooks are the race detector's (accesses.h). The model groups accesses into instructions of a warp: the n-th
 * access of each lane from one place in the code, counted since the warp last met (barriers, shuffles, votes, products
 * of tensor cores), belongs to one instruction. On a GPU that holds unless lanes take turns in a loop. Only launches
 * under a label are counted (gpu_label).
 *
 * Device memory moves in sectors of 32 bytes (CUDA C++ Best Practices Guide, "Coalesced access to global memory").
 * Shared memory has 32 banks of 4 bytes; words of 8 bytes are served to half a warp at a time, words of 16 to a quarter
 * (CUDA C++ Programming Guide, "Shared memory" of compute capabilities 5.x and later). */
#include "cost.h"
#include "accesses.h"
#include <algorithm>
#include <unordered_map>
#include <vector>

namespace
{
enum { LANES = 32, WARPS = GPU_MOST_THREADS / LANES, SECTOR = 32, BANKS = 32, WIDEST = 16 };

struct request {
    unsigned lanes;
    uintptr_t at[LANES];
    unsigned bytes; /* per lane */
    cost_kind kind;
};
struct place { /* one place in the code, with a warp's accesses there since the warp's lanes last met */
    unsigned done[LANES];
    std::vector<request> requests;
};
struct warp_state {
    std::unordered_map<const void *, place> places;
    unsigned met, lane_met[LANES];
} warps[WARPS];

std::map<const void *, cost_kernel> kernels;
cost_kernel *now; /* NULL: the current launch is not counted */
const void *kernel;
int running = -1;
uintptr_t stack;
memory_region dynamic, fixed, last; /* last: the block of device memory that was accessed last */
} // namespace

/* ---- a request ---- */

static cost_count sectors_of(const request &r)
{
    cost_count c = {1, 0, 0, 0, 0};
    std::pair<uintptr_t, uintptr_t> span[LANES];
    unsigned n = 0;
    for (unsigned i = 0; i < LANES; i++)
        if (r.lanes >> i & 1) span[n++] = {r.at[i], r.at[i] + r.bytes};
    std::sort(span, span + n);
    uintptr_t end = 0, next = 0, distinct = 0; /* ends of the bytes and sectors counted so far */
    for (unsigned i = 0; i < n; i++) {
        uintptr_t from = std::max(span[i].first, end);
        if (span[i].second > from) distinct += span[i].second - from, end = span[i].second;
        uintptr_t first = std::max(span[i].first / SECTOR, next), past = (span[i].second - 1) / SECTOR + 1;
        if (past > first) c.moved += past - first, next = past;
    }
    c.least = (distinct + SECTOR - 1) / SECTOR;
    c.bytes = (uint64_t)n * r.bytes, c.wide = r.bytes == WIDEST ? c.bytes : 0;
    return c;
}

/* Returns the passes that a request takes: the largest number of different words in one bank. */
static cost_count passes_of(const request &r)
{
    cost_count c = {1, 0, 0, 0, 0};
    unsigned together = r.bytes <= 4 ? LANES : r.bytes <= 8 ? LANES / 2 : LANES / 4;
    for (unsigned from = 0; from < LANES; from += together) {
        std::vector<uintptr_t> words[BANKS];
        size_t most = 0;
        for (unsigned i = from; i < from + together; i++)
            for (uintptr_t w = r.at[i] / 4; r.lanes >> i & 1 && w <= (r.at[i] + r.bytes - 1) / 4; w++) {
                auto &bank = words[w % BANKS];
                if (std::find(bank.begin(), bank.end(), w) == bank.end()) bank.push_back(w);
                most = std::max(most, bank.size());
            }
        c.moved += most, c.least += most > 0;
        c.bytes += (uint64_t)__builtin_popcountll(((1ull << together) - 1) << from & r.lanes) * r.bytes;
    }
    c.wide = r.bytes == WIDEST ? c.bytes : 0;
    return c;
}

static void count_requests(warp_state *w)
{
    for (auto &p : w->places) {
        for (const request &r : p.second.requests)
            now->at[r.kind][p.first].add(r.kind == COST_SHARED ? passes_of(r) : sectors_of(r));
        p.second.requests.clear();
        for (unsigned &n : p.second.done) n = 0;
    }
}

/* ---- accesses ---- */

static bool inside(const memory_region &r, uintptr_t p) { return p - r.from < r.bytes; }

static bool in_device_memory(uintptr_t p)
{
    if (inside(last, p)) return true;
    size_t bytes;
    if (!gpu_memory_block((const void *)p, &last.from, &bytes)) return false;
    last.bytes = bytes;
    return true;
}

static void note(const void *pc, uintptr_t p, unsigned bytes, cost_kind kind)
{
    place *of = &warps[running / LANES].places[pc];
    unsigned lane = (unsigned)running % LANES, n = of->done[lane]++;
    if (of->requests.size() <= n) of->requests.push_back(request{0, {0}, bytes, kind});
    request *r = &of->requests[n];
    r->lanes |= 1u << lane, r->at[lane] = p;
    if (r->bytes < bytes) r->bytes = bytes;
}

static void access(uintptr_t p, size_t bytes, bool writes, bool, const void *pc)
{
    if (!now || running < 0 || p - stack < GPU_STACK) return;
    bool shared = inside(dynamic, p) || inside(fixed, p);
    if (!shared && !in_device_memory(p)) return;
    cost_kind kind = shared ? COST_SHARED : writes ? COST_STORE : COST_LOAD;
    /* splits longer accesses, such as memcpy, since no instruction moves more */
    for (; bytes > WIDEST; bytes -= WIDEST, p += WIDEST) note(pc, p, WIDEST, kind);
    note(pc, p, (unsigned)bytes, kind);
}

/* ---- events of the emulation ---- */

static bool labelled;
static std::string launched_as;

static void end_block()
{
    for (warp_state &w : warps) {
        if (now) count_requests(&w);
        w.places.clear();
        w.met = 0;
        std::fill(w.lane_met, w.lane_met + LANES, 0u);
    }
}
static void on_work(const gpu_work &w) { labelled = !w.label.empty(), launched_as = w.name; }
static void on_work_done()
{
    end_block();
    now = nullptr, dynamic.bytes = 0;
}
static void on_grid(const void *which, const unsigned char *at, size_t bytes)
{
    if (!labelled) return;
    now = &kernels[which];
    now->name = launched_as, now->launches++;
    now->threads = std::max(now->threads, blockDim.x * blockDim.y * blockDim.z);
    now->dynamic = std::max(now->dynamic, bytes);
    dynamic = {(uintptr_t)at, bytes}, last = {0, 0};
    if (kernel != which) fixed.bytes = 0;
    kernel = which;
}
static void on_block()
{
    if (now && !fixed.bytes) fixed = static_shared_of(kernel);
    end_block();
}
static void on_runs(int thread, const char *its_stack) { running = thread, stack = (uintptr_t)its_stack; }
static void on_meets(int thread)
{
    warp_state *w = &warps[thread / LANES];
    if (!now) return;
    /* the first lane that goes on: all others have arrived */
    if (w->lane_met[thread % LANES]++ == w->met) count_requests(w), w->met++;
}
static void on_passes(int thread, bool) { on_meets(thread); }
static void on_atomic(int, const void *p) { access((uintptr_t)p, 4, true, true, __builtin_return_address(0)); }

static const gpu_watcher model = {on_work,
                                  on_work_done,
                                  on_grid,
                                  on_block,
                                  on_runs,
                                  [](int) {},
                                  on_passes,
                                  on_meets,
                                  [](int) {},
                                  on_atomic,
                                  [](const void *, size_t, bool) {},
                                  [](const void *, size_t) {},
                                  nullptr}; /* copies that a whole block makes have no sectors */
__attribute__((constructor)) static void begin() { gpu_watch = &model; }
void cost_print(void) { cost_report(kernels); }
