/* gpu_hopper.cc - instructions of compute capability 9.0 on the CPU (hopper.h): TMA, mbarriers, wgmma.
 *
 * A GPU does this work beside its threads; here it happens as late as possible: a tile arrives when a thread waits for
 * its barrier, products are computed when their warp group waits for them. Until then the tile's destination and the
 * accumulators are NaN. So a kernel that fails to wait computes with NaN, in any order of threads.
 *
 * Accesses are also checked for races, independent of their order, with vector clocks. Each 16 bytes of dynamic shared
 * memory record their last writer and the warps that have read them since; a warp records the releases that have
 * reached it through barriers. A clock has an entry for each warp, the number of its releases, and one for the copies
 * of each barrier, the number of its phases. Another thread of the warp releases a thread's stores only after a
 * __syncwarp; products belong to their whole warp. */
#include "gpu_watch.h"
#include "tensor/cuda/hopper.h"
#include <array>
#include <map>
#include <vector>

namespace
{
enum {
    FIRST = 1024 + 16, /* address of dynamic shared memory, no better aligned than a GPU guarantees */
    PART = 16,
    MOST_WARPS = GPU_MOST_THREADS / 32,
    MOST_BARRIERS = 32,
    GROUP = 128,
    NAN_BITS = 0x7fc0dead
};
const uint64_t MAP = 0x70616d2d726f736e; /* first word of a tensor map */
typedef std::array<uint32_t, MOST_WARPS + MOST_BARRIERS> vector_clock;

struct part {         /* 16 bytes of dynamic shared memory */
    int writer = -1;  /* writer: entry of the vector clocks; written: value of this entry */
    uint32_t written; /* its count */
    bool unfenced;    /* threads have written these bytes: TMA and wgmma see them only after a fence */
    int lands;        /* number of unfinished copies that write these bytes */
    int products;     /* number of unfinished products that read these bytes */
    std::array<uint32_t, MOST_WARPS> read = {};
};
struct tile_copy {
    const gpu_tensor_map *map;
    unsigned to;
    int column, row, bytes;
};
struct mbarrier {
    int arrivals = 0, missing = 0;                   /* arrivals of a phase, and how many of them are still missing */
    long expected = 0, on_their_way = 0, landed = 0; /* bytes in this phase */
    unsigned phase = 0, news = 0;
    bool fenced = false;
    int place = 0, starter = 0; /* place: entry of the vector clocks; starter: the warp that initialised the barrier */
    std::vector<tile_copy> copies;
    /* next: joined clocks of this phase's arrivals; ended: joined clocks of the last phase's arrivals */
    vector_clock next = {}, ended = {};
    /* for each waiting thread: the number of phases that had ended when the thread began to wait */
    std::map<int, unsigned> seen;
};
struct product {
    float (*d)[4];
    const unsigned *a;
    std::array<unsigned, 4> a_was;
    uint64_t b;
    int turned, add;
    bool committed;
};
struct thread_state {
    std::vector<product> products;
    std::map<float (*)[4], std::array<float, 32>> sums; /* values of the accumulators before the products */
    bool fenced = false;
};
struct stored {         /* a store that no arrival has released yet */
    unsigned at, syncs; /* syncs: how many __syncwarps the storing thread had reached */
    int thread;
};
struct warp_group {
    int there = 0;
    unsigned round = 0;
};

std::vector<part> parts;
std::map<unsigned, mbarrier> barriers;
thread_state threads[GPU_MOST_THREADS];
warp_group groups[GPU_MOST_THREADS / GROUP];
vector_clock knows[MOST_WARPS];
uint32_t counts[MOST_WARPS]; /* releases that each warp has counted */
std::vector<stored> stores[MOST_WARPS];
unsigned syncs[GPU_MOST_THREADS];        /* how many __syncwarps each thread has reached */
int registers[GPU_MOST_THREADS / GROUP]; /* registers per thread of each group, once the group has set them */
} // namespace

/* ---- blocks ---- */

void gpu_hopper_begins()
{
    if (parts.empty() && barriers.empty()) return; /* no earlier block used any of this */
    parts.clear(), barriers.clear();
    for (auto &t : threads) t = thread_state();
    for (auto &g : groups) g = warp_group();
    for (auto &k : knows) k = vector_clock();
    for (auto &c : counts) c = 0;
    for (auto &w : stores) w.clear();
    for (auto &r : registers) r = 0;
}
void gpu_hopper_syncs(int thread) { syncs[thread]++; }
void gpu_hopper_leaves(int thread)
{
    /* empty() would use iterators, which the sanitizer checks: a tenth of the tests' time, as every thread comes
     * here */
    if (threads[thread].products.size()) broken_kernel("a thread ends while products of wgmma are under way");
}
void gpu_hopper_ends()
{
    for (auto &b : barriers)
        if (!b.second.copies.empty()) broken_kernel("a block ends while TMA copies tiles to its shared memory");
}

/* ---- shared memory ---- */

unsigned gpu_shared_address(const void *p)
{
    size_t at = (size_t)((const unsigned char *)p - gpu_dynamic);
    if (at > gpu_dynamic_bytes) broken_kernel("the address of something that is not in dynamic shared memory");
    return FIRST + (unsigned)at;
}
static unsigned char *shared_at(unsigned at, unsigned bytes, const char *what)
{
    char words[128];
    snprintf(words, sizeof words, "%s: %u bytes at %u are not in dynamic shared memory, %u to %zu", what, bytes, at,
             FIRST, FIRST + gpu_dynamic_bytes);
    if (at < FIRST || at - FIRST + bytes > gpu_dynamic_bytes) broken_kernel(words);
    return gpu_dynamic + (at - FIRST);
}
static part &part_at(unsigned at)
{
    if (parts.empty()) parts.resize(gpu_dynamic_bytes / PART + 1);
    return parts[(at - FIRST) / PART];
}
static int my_warp() { return gpu_running() / 32; }
static bool knows_of(int warp, int place, uint32_t count)
{
    return place == warp || knows[warp][(size_t)place] >= count;
}

/* Checks a write to these 16 bytes by this warp's threads, or by a copy that they begin. */
static void check_write(unsigned at, const char *copy)
{
    part &p = part_at(at);
    std::string who = copy, words;
    if (p.lands) broken_kernel((who + " to shared memory to which another one is under way").c_str());
    if (p.products) broken_kernel((who + " to shared memory that products of wgmma under way read").c_str());
    if (p.writer >= 0 && !knows_of(my_warp(), p.writer, p.written))
        broken_kernel((who + " to shared memory whose last writer nobody has waited for").c_str());
    for (int w = 0; w < MOST_WARPS; w++)
        if (p.read[(size_t)w] && !knows_of(my_warp(), w, p.read[(size_t)w]))
            broken_kernel((who + " to shared memory without waiting for those who read it").c_str());
}

void gpu_shared_clear(unsigned at)
{
    if (at % PART) broken_kernel("a store of 16 bytes to shared memory at an address that is no multiple of 16");
    memset(shared_at(at, PART, "a store"), 0, PART);
    check_write(at, "a store");
    part &p = part_at(at);
    p.read = {};
    p.writer = my_warp(), p.written = counts[my_warp()] + 1, p.unfenced = true;
    stores[my_warp()].push_back({at, syncs[gpu_running()], gpu_running()});
}
void gpu_fence_async()
{
    for (auto &p : parts)
        if (p.writer == my_warp()) p.unfenced = false;
    for (auto &b : barriers)
        if (b.second.starter == my_warp()) b.second.fenced = true;
}

/* ---- mbarriers ---- */

static mbarrier &barrier_at(unsigned at)
{
    auto b = barriers.find(at);
    if (b == barriers.end()) broken_kernel("an mbarrier that nobody has started");
    return b->second;
}
static void join(vector_clock &to, const vector_clock &from)
{
    for (size_t i = 0; i < to.size(); i++) to[i] = to[i] > from[i] ? to[i] : from[i];
}

void gpu_mbarrier_start(unsigned at, int arrivals)
{
    if (at % 8) broken_kernel("an mbarrier at an address that is no multiple of 8");
    if (arrivals < 1) broken_kernel("an mbarrier that expects nobody");
    if (barriers.count(at) || barriers.size() == MOST_BARRIERS) broken_kernel("an mbarrier that was started before");
    shared_at(at, 8, "an mbarrier");
    mbarrier &b = barriers[at];
    b.place = MOST_WARPS + (int)barriers.size() - 1;
    b.arrivals = b.missing = arrivals, b.starter = my_warp();
}

/* Ends the phase if no arrival and no byte is missing. */
static void look(mbarrier &b)
{
    b.news++, gpu_progress++;
    if (b.missing || b.landed != b.expected) return;
    b.ended = b.next, b.next = {};
    b.phase++;
    b.missing = b.arrivals, b.expected = b.on_their_way = b.landed = 0;
}
void gpu_mbarrier_arrive(unsigned at, int bytes)
{
    mbarrier &b = barrier_at(at);
    if (!b.missing) broken_kernel("more arrivals at an mbarrier than its phase expects");
    int w = my_warp();
    join(b.next, knows[w]);
    uint32_t &mine = b.next[(size_t)w];
    counts[w]++;
    if (counts[w] > mine) mine = counts[w];
    for (const stored &x : stores[w]) /* no __syncwarp since: only the warp's next arrival can release this store */
        if (x.thread != gpu_running() && x.syncs == syncs[x.thread]) part_at(x.at).written = counts[w] + 1;
    stores[w].clear();
    b.missing--, b.expected += bytes;
    look(b);
}

static void land(mbarrier &b, size_t i)
{
    tile_copy c = b.copies[i];
    b.copies.erase(b.copies.begin() + (long)i);
    const uint64_t *m = c.map->words; /* words of a map: mark, address, rows, columns, stride, rows of a tile */
    for (int r = 0; r < (int)m[5]; r++)
        for (int p = 0; p < HOPPER_ROW / PART; p++) {
            unsigned at = c.to + (unsigned)(r * HOPPER_ROW + p * PART);
            at ^= (at / HOPPER_ROW % 8) * PART;
            unsigned char *to = shared_at(at, PART, "a tile");
            memset(to, 0, PART);
            for (int x = 0; x < PART / 2; x++) {
                int64_t row = c.row + r, column = c.column + p * (PART / 2) + x;
                if (row < 0 || column < 0 || row >= (int64_t)m[2] || column >= (int64_t)m[3]) continue;
                const char *from = (const char *)m[1] + row * (int64_t)m[4] + 2 * column;
                gpu_in_device_memory(from);
                memcpy(to + 2 * x, from, 2);
            }
            part &of = part_at(at);
            of.lands--, of.writer = b.place, of.written = b.phase + 1;
            of.unfenced = false;
        }
    b.next[(size_t)b.place] = b.phase + 1;
    b.landed += c.bytes;
    look(b);
}

void gpu_mbarrier_wait(unsigned at, unsigned parity)
{
    mbarrier &b = barrier_at(at);
    if (parity > 1) broken_kernel("the parity of an mbarrier's phase is 0 or 1");
    while ((b.phase & 1) == parity) {
        if (b.copies.empty())
            gpu_give_way(&b.news, b.news);
        else
            land(b, gpu_shuffled() ? gpu_draw((unsigned)b.copies.size()) : 0);
    }
    unsigned &seen = b.seen[gpu_running()];
    if (b.phase > seen + 1) broken_kernel("two phases of an mbarrier have ended while a thread waited for the first");
    seen = b.phase;
    join(knows[my_warp()], b.ended);
}

/* ---- TMA ---- */

extern "C" int gpu_map_rows(gpu_tensor_map *to, void *at, int64_t rows, int64_t columns, int64_t stride,
                            unsigned tile_rows)
{
    if ((uintptr_t)at % 16 || stride % 16 || rows < 1 || columns < HOPPER_COLUMNS || tile_rows < 1 || tile_rows > 256)
        return gpu_refuse("rows of which TMA makes no tiles");
    *to = {{MAP, (uint64_t)(uintptr_t)at, (uint64_t)rows, (uint64_t)columns, (uint64_t)stride, tile_rows}};
    return 0;
}

void gpu_tile_load(unsigned to, const gpu_tensor_map *map, int column, int row, unsigned barrier)
{
    mbarrier &b = barrier_at(barrier);
    int bytes = (int)map->words[5] * HOPPER_ROW;
    if (map->words[0] != MAP || (uintptr_t)map % alignof(gpu_tensor_map)) broken_kernel("a tile of no map");
    if (to % 128) broken_kernel("TMA writes to shared memory at an address that is no multiple of 128");
    if (!b.fenced) broken_kernel("TMA uses an mbarrier without fence.proxy.async since it was started");
    memset(shared_at(to, (unsigned)bytes, "a tile"), 0xff, (size_t)bytes);
    for (unsigned at = to; at < to + (unsigned)bytes; at += PART) {
        check_write(at, "TMA copies");
        part_at(at).read = {};
        part_at(at).lands++;
    }
    b.on_their_way += bytes;
    if (b.on_their_way > b.expected) {
        char words[128];
        snprintf(words, sizeof words, "TMA copies %ld bytes for a phase of an mbarrier that expects %ld",
                 b.on_their_way, b.expected);
        broken_kernel(words);
    }
    const uint64_t *m = map->words; /* as in land() */
    for (int64_t r = row; gpu_watch && gpu_watch->reads && r < row + (int64_t)m[5]; r++)
        if (r >= 0 && r < (int64_t)m[2])
            gpu_watch->reads((const char *)m[1] + r * (int64_t)m[4] + 2 * column, HOPPER_ROW);
    b.copies.push_back({map, to, column, row, bytes});
    b.news++, gpu_progress++;
}

/* ---- wgmma ---- */

/* Address of row k, column n in the right factor [16, 64]. turned: the factor's rows are contiguous; otherwise its
 * columns are. */
static unsigned place_in_factor(uint64_t b, int turned, int k, int n)
{
    unsigned at = (unsigned)(b & 0x3fff) << 4, leading = (unsigned)(b >> 16 & 0x3fff) << 4,
             stride = (unsigned)(b >> 32 & 0x3fff) << 4;
    if (turned)
        at += (unsigned)(2 * (n % 64)) + (unsigned)(n / 64) * leading + (unsigned)(k % 8 * HOPPER_ROW) +
              (unsigned)(k / 8) * stride;
    else
        at += (unsigned)(n % 8 * HOPPER_ROW) + (unsigned)(n / 8) * stride + (unsigned)(2 * k);
    return at ^ (at / HOPPER_ROW % 8) * PART;
}
/* Calls f(address, k, n) for each 16 bytes of the factor, which begin at row k, column n. */
template <class F> static void each_part(uint64_t b, int turned, F f)
{
    for (int k = 0; k < 16; k += turned ? 1 : 8)
        for (int n = 0; n < 64; n += turned ? 8 : 1) f(place_in_factor(b, turned, k, n), k, n);
}
static void check_factor(uint64_t b)
{
    unsigned at = (unsigned)(b & 0x3fff) << 4, stride = (unsigned)(b >> 32 & 0x3fff) << 4;
    char words[160];
    snprintf(words, sizeof words,
             "wgmma's matrix descriptor %016llx: swizzle mode %u, base offset %u, start at %u, stride of %u bytes",
             (unsigned long long)b, (unsigned)(b >> 62), (unsigned)(b >> 49 & 7), at, stride);
    std::string found = words;
    if (b >> 62 != 1) broken_kernel((found + "; the emulation has mode 1, 128 bytes").c_str());
    if (b >> 52 & 0x3ff) broken_kernel((found + "; bits that must be 0 are not").c_str());
    if ((at / HOPPER_ROW & 7) != (b >> 49 & 7))
        broken_kernel((found + "; rows of eight start at a multiple of 1024, or at the base offset").c_str());
    if (!stride || stride % HOPPER_EIGHT)
        broken_kernel((found + "; eight rows are a multiple of 1024 bytes apart").c_str());
}

void gpu_wgmma_fence() { threads[gpu_running()].fenced = true; }
void gpu_wgmma(float (*d)[4], const unsigned *a, uint64_t b, int turned, int add)
{
    thread_state &t = threads[gpu_running()];
    if (!t.fenced) broken_kernel("wgmma without wgmma.fence since its registers were last the threads' own");
    check_factor(b);
    if (gpu_running() % 32 == 0) /* only one thread of the warp counts */
        each_part(b, turned, [](unsigned at, int, int) {
            shared_at(at, PART, "a factor of wgmma");
            part &p = part_at(at);
            if (p.lands) broken_kernel("wgmma reads a tile that is still on its way");
            if (p.writer < 0) broken_kernel("wgmma reads shared memory that nobody has written");
            if (p.unfenced) broken_kernel("wgmma reads what threads have written without fence.proxy.async");
            if (!knows_of(my_warp(), p.writer, p.written))
                broken_kernel("wgmma reads shared memory whose writer its warp has not waited for");
            p.products++;
        });
    const uint32_t *bits = (const uint32_t *)d;
    auto sums = t.sums.find(d);
    for (int i = 0; i < 32 && sums != t.sums.end(); i++)
        if (bits[i] != NAN_BITS) broken_kernel("an accumulator was written while products of wgmma are under way");
    if (sums == t.sums.end()) memcpy(t.sums[d].data(), d, sizeof(float[32]));
    for (int i = 0; i < 32; i++) ((uint32_t *)d)[i] = NAN_BITS;
    t.products.push_back({d, a, {a[0], a[1], a[2], a[3]}, b, turned, add, false});
}
void gpu_wgmma_commit()
{
    for (product &p : threads[gpu_running()].products) p.committed = true;
}

/* Computes product i of the warp group whose first thread is `first`. */
static void multiply(int first, size_t i)
{
    const product &p = threads[first].products[i];
    float A[64][16], B[16][64], D[64][64];
    auto half = [](unsigned x) { return to_float(bf16{(uint16_t)x}); };
    each_part(p.b, p.turned, [&](unsigned at, int k, int n) {
        uint16_t bits[PART / 2];
        memcpy(bits, shared_at(at, PART, "a factor of wgmma"), PART);
        for (int x = 0; x < PART / 2; x++) (p.turned ? B[k][n + x] : B[k + x][n]) = half(bits[x]);
        part &of = part_at(at);
        of.products -= 4; /* each of the four warps had counted this product */
        for (int w = first / 32; w < first / 32 + 4; w++) of.read[(size_t)w] = counts[w] + 1;
    });
    auto row_of = [](int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + 8 * i; };
    auto column_of = [](int thread, int i) { return 8 * i + 2 * (thread % 4); };
    for (int l = 0; l < GROUP; l++) {
        const product &q = threads[first + l].products[i];
        if (q.b != p.b || q.turned != p.turned || q.add != p.add)
            broken_kernel("wgmma: the threads of a warp group multiply by different matrices");
        if (memcmp(q.a, q.a_was.data(), sizeof q.a_was))
            broken_kernel("wgmma's left factor was written while the product was under way");
        for (int j = 0; j < 4; j++) {
            float *to = A[row_of(l, j % 2)] + column_of(l, j / 2);
            to[0] = half(q.a[j]), to[1] = half(q.a[j] >> 16);
        }
        const auto &sums = threads[first + l].sums[q.d];
        for (int j = 0; j < 32; j++) D[row_of(l, j % 4 / 2)][column_of(l, j / 4) + j % 2] = q.add ? sums[(size_t)j] : 0;
    }
    for (int row = 0; row < 64; row++)
        for (int k = 0; k < 16; k++)
            for (int n = 0; n < 64; n++) D[row][n] += A[row][k] * B[k][n];
    for (int l = 0; l < GROUP; l++) {
        auto &sums = threads[first + l].sums[threads[first + l].products[i].d];
        for (int j = 0; j < 32; j++) sums[(size_t)j] = D[row_of(l, j % 4 / 2)][column_of(l, j / 4) + j % 2];
    }
}

/* Computes all products that the threads of this group have committed. */
static void multiply_all(int first)
{
    size_t n = 0;
    for (const product &p : threads[first].products) n += p.committed;
    for (int l = 0; l < GROUP; l++) {
        size_t its = 0;
        for (const product &p : threads[first + l].products) its += p.committed;
        if (its != n) broken_kernel("wgmma: the threads of a warp group have begun different products");
    }
    for (size_t i = 0; i < n; i++) multiply(first, i);
    for (int l = 0; l < GROUP; l++) {
        thread_state &t = threads[first + l];
        t.products.erase(t.products.begin(), t.products.begin() + (long)n);
        if (!t.products.empty()) continue; /* some are not committed: the accumulators stay NaN */
        for (auto &s : t.sums) {
            for (int i = 0; i < 32; i++)
                if (((uint32_t *)s.first)[i] != NAN_BITS)
                    broken_kernel("an accumulator was written while products of wgmma are under way");
            memcpy(s.first, s.second.data(), sizeof(float[32]));
        }
        t.sums.clear();
    }
}

/* All threads of a group call this function; the group's last thread to do so computes the products. */
void gpu_wgmma_wait()
{
    int first = gpu_running() / GROUP * GROUP;
    warp_group &g = groups[first / GROUP];
    unsigned round = g.round;
    if (++g.there == GROUP) {
        multiply_all(first);
        g.there = 0, g.round++, gpu_progress++;
    } else {
        gpu_give_way(&g.round, round);
    }
    threads[gpu_running()].fenced = false;
}

/* setmaxnreg: a multiprocessor has 65,536 registers for a block's threads. On a GPU, a group that takes more registers
 * waits until other groups release some. Here the sum must fit as soon as all groups have set their number. */
void gpu_registers(int n, int takes)
{
    int all = 0;
    if (n % 8 || n < 24 || n > 256) broken_kernel("setmaxnreg: a multiple of 8 from 24 to 256 is expected");
    if (blockDim.x % GROUP) broken_kernel("setmaxnreg in a warp group of less than four warps");
    (void)takes;
    registers[gpu_running() / GROUP] = n;
    for (unsigned g = 0; g < blockDim.x / GROUP; g++) all += GROUP * registers[g];
    if (all > 65536) broken_kernel("setmaxnreg: more registers than a multiprocessor has");
}
