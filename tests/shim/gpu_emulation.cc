/* gpu_emulation.cc - runs kernels on the CPU, and implements runtime.h over plain memory, for tests only (see gpu.h).
 *
 * A launch runs its blocks one after another. gpu_fibers.cc runs the threads of a block; gpu_streams.cc decides when a
 * launch is run. */
#include "gpu_watch.h"
#include "tensor/cuda/runtime.h"
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <numeric>
#include <string>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <vector>

extern "C" {
int gpu_reversed, gpu_dry;
gpu_tally gpu_done;
const char *gpu_label = "";
}

/* ---- memory: inaccessible to the host between launches, under the address sanitizer ---- */

namespace
{
std::map<char *, size_t> blocks;
std::string error;
bool has_error, refused;
std::map<std::pair<std::string, std::string>, int64_t> tally; /* number of launches by label and name */
struct scratch_block {
    void *data;
    size_t bytes;
} scratch[GPU_LANES][16];
std::vector<void *> outgrown; /* scratch memory that was replaced by a larger one; captured graphs may still use it */
gpu_counter counter;
unsigned tickets[GPU_LANES][GPU_TICKETS];
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

bool gpu_memory_block(const void *at, uintptr_t *from, size_t *bytes)
{
    auto b = blocks.upper_bound((char *)at);
    if (b == blocks.begin() || (--b, (size_t)((char *)at - b->first) >= b->second)) return false;
    *from = (uintptr_t)b->first, *bytes = b->second;
    return true;
}
void gpu_in_device_memory(const void *p)
{
    uintptr_t from;
    size_t bytes;
    if (!gpu_memory_block(p, &from, &bytes)) broken_kernel("a store to device memory at an address that is elsewhere");
}
std::string gpu_memory_name(const void *at)
{
    uintptr_t from;
    size_t bytes;
    if (!gpu_memory_block(at, &from, &bytes)) return "device memory";
    return "device memory of " + std::to_string(bytes) + " bytes, byte " + std::to_string((uintptr_t)at - from);
}

void gpu_run_work(const gpu_work &w)
{
    bool launch = !w.name.empty();
    if (launch) gpu_done.launches++, gpu_done.warps += w.warps, tally[{w.label, w.name}]++;
    if (launch && gpu_dry) return;
    lock(false);
    static bool known = false; /* has memory that bypassed gpu_alloc been reported to the race detector? */
    if (gpu_watch && !known) gpu_watch->memory(tickets, sizeof tickets), gpu_watch->memory(&counter, sizeof counter);
    known = true;
    if (gpu_watch) gpu_watch->work(w);
    w.run();
    if (gpu_watch) gpu_watch->work_done();
    lock(true);
}

static void do_or_write(const char *name, std::function<void()> what, int64_t warps = 0)
{
    if (!gpu_capturing()) gpu_flush();
    gpu_give({gpu_label, name, warps, what, 0, {}});
}

/* Refuses more shared memory than a block can have. On a GPU nvcc refuses too much static memory, and the driver
 * refuses too large a sum of static and dynamic memory. The static part is known after the first block has run. */
static bool too_much(const std::string &name, size_t fixed, size_t dynamic)
{
    char words[256];
    if (fixed <= GPU_SHARED && fixed + dynamic <= (size_t)gpu_shared_most(gpu_capability())) return false;
    snprintf(words, sizeof words,
             "%.80s: %zu bytes of static and %zu of dynamic shared memory, at most %d and %d in all", name.c_str(),
             fixed, dynamic, GPU_SHARED, gpu_shared_most(gpu_capability()));
    gpu_refuse(words);
    return true;
}

static void run_grid(const std::string &name, const void *kernel, dim3 grid, dim3 block, size_t smem,
                     const std::function<void()> &what)
{
    bool refused_here = false;
    blockDim = block, gridDim = grid;
    char *shared = (char *)aligned_alloc(64, (smem + 127) / 64 * 64);
    /* ends where the allocation's last 64 bytes begin, so that accesses past it are found */
    char *start = shared + (smem + 63) / 64 * 64 - smem;
    start -= (size_t)start % 16;
    gpu_dynamic = (unsigned char *)start, gpu_dynamic_bytes = smem;
    if (gpu_watch) gpu_watch->grid(kernel, gpu_dynamic, smem);
    std::vector<unsigned> order(gpu_shuffled() ? (size_t)grid.x * grid.y * grid.z : 0);
    std::iota(order.begin(), order.end(), 0u);
    for (unsigned i = 0, n = grid.x * grid.y * grid.z; i < n && !refused_here; i++) {
        if (gpu_shuffled()) std::swap(order[i], order[i + gpu_draw(n - i)]);
        unsigned k = gpu_shuffled() ? order[i] : i;
        blockIdx = {k % grid.x, k / grid.x % grid.y, k / grid.x / grid.y};
        memset(start, 0xff, smem); /* makes every number NaN */
#ifdef GPU_ASAN
        ASAN_POISON_MEMORY_REGION(start + smem, (size_t)(shared + (smem + 127) / 64 * 64 - (start + smem)));
#endif
        gpu_shared_poison(kernel);
        if (gpu_watch) gpu_watch->block();
        gpu_run_block((int)(block.x * block.y * block.z), what);
        refused_here = too_much(name, gpu_shared_used(kernel), smem);
#ifdef GPU_ASAN
        ASAN_UNPOISON_MEMORY_REGION(shared, (smem + 127) / 64 * 64);
#endif
    }
    free(shared);
}

/* Kernels with blocks of more than 256 threads, which could run out of registers: a block has 65,536 registers, enough
 * for 256 threads with 255 registers each. tests/cuda/spills.sh reads this list and multiplies by the registers that
 * nvcc assigned. */
static const struct {
    const char *name;
    size_t threads;
} large_blocks[] = {
    {"sum_up", 1024},       {"select_best", 512},  {"ce_rows", 512},
    {"k_add_columns", 512}, {"attend_wgmma", 384}, /* starts with 168 registers, which warp groups redistribute */
};
static size_t most_threads(const char *name)
{
    for (auto &k : large_blocks)
        if (strstr(name, k.name)) return k.threads;
    return 256;
}

void gpu_launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t smem, std::function<void()> what)
{
    size_t threads = (size_t)block.x * block.y * block.z;
    char words[256] = "";
    if (!threads || threads > most_threads(name) || threads % 32 || block.z > 64)
        snprintf(words, sizeof words,
                 "%.80s: blocks of %u x %u x %u threads, expected whole warps, at most %zu (large_blocks)", name,
                 block.x, block.y, block.z, most_threads(name));
    else if (!grid.x || !grid.y || !grid.z || grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
        snprintf(words, sizeof words, "%.80s: a grid of %u x %u x %u blocks, expected 1 to 2147483647 x 65535 x 65535",
                 name, grid.x, grid.y, grid.z);
    else if (smem > (size_t)gpu_shared_most(gpu_capability()))
        snprintf(words, sizeof words, "%.80s: %zu bytes of dynamic shared memory, at most %d", name, smem,
                 gpu_shared_most(gpu_capability()));
    if (words[0]) {
        gpu_refuse(words);
        return;
    }
    std::string own = name;
    do_or_write(
        name, [=] { run_grid(own, kernel, grid, block, smem, what); },
        (int64_t)grid.x * grid.y * grid.z * (int64_t)(threads / 32));
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
    const char *bytes = getenv("ABLATE_EMULATED_MEMORY"); /* lets tests run out of memory */
    return bytes ? strtoull(bytes, NULL, 10) : (size_t)1 << 30;
}
int gpu_describe(int, gpu_device *out)
{
    *out = gpu_device();
    snprintf(out->name, sizeof out->name, "kernels on the CPU, for tests");
    out->major = gpu_capability() / 10, out->minor = gpu_capability() % 10;
    out->multiprocessors = 4, out->memory = out->free_memory = gpu_free_memory();
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
    for (auto &of_lane : scratch)
        for (auto &s : of_lane)
            if (s.data) gpu_release(s.data), s = scratch_block();
    for (void *p : outgrown) gpu_release(p);
    outgrown.clear();
    has_error = refused = false, error.clear();
    if (getenv("ABLATE_TEST_LEAKS")) fprintf(stderr, "closed with %zu blocks of memory in use\n", blocks.size());
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
    gpu_done.blocks = (int64_t)blocks.size();
    if (gpu_watch) gpu_watch->memory(p, size);
    lock(true);
    return p;
}
void gpu_release(void *p)
{
    if (!p) return;
    gpu_flush();
    gpu_finish_all();
    auto at = blocks.find((char *)p);
    if (at == blocks.end()) broken_kernel("gpu_release of something else");
#ifdef GPU_ASAN
    ASAN_UNPOISON_MEMORY_REGION(at->first, at->second);
#endif
    blocks.erase(at);
    gpu_done.blocks = (int64_t)blocks.size();
    free(p);
}
void *gpu_stage(void)
{
    static char bytes[GPU_STAGE_BYTES];
    return bytes;
}
void gpu_send(void *to, const void *stage, size_t bytes)
{
    std::vector<char> copy((const char *)stage, (const char *)stage + bytes);
    gpu_done.copies_in++;
    gpu_give({"", "", 0, [=] { gpu_touches(to, copy.size(), 1), memcpy(to, copy.data(), copy.size()); }, 0, {}});
}
int gpu_copy_out(void *to, const void *from, size_t bytes)
{
    if (gpu_capturing()) return gpu_refuse("a copy to the host during graph capture");
    gpu_flush();
    gpu_give({"", "", 0, [=] { gpu_touches(from, bytes, 0), memcpy(to, from, bytes); }, 0, {}});
    gpu_finish(gpu_current());
    return gpu_launched();
}
void gpu_copy(void *to, const void *from, size_t bytes)
{
    do_or_write("copy", [=] { gpu_touches(from, bytes, 0), gpu_touches(to, bytes, 1), memmove(to, from, bytes); });
}
void gpu_zero(void *at, size_t bytes)
{
    do_or_write("zero", [=] { gpu_touches(at, bytes, 1), memset(at, 0, bytes); });
}
void *gpu_scratch(int slot, size_t bytes)
{
    scratch_block *s = &scratch[gpu_current()][slot];
    if (s->bytes >= bytes) return s->data;
    if (s->data) outgrown.push_back(s->data);
    *s = scratch_block{gpu_alloc(bytes), bytes};
    return s->data;
}
void gpu_touches(const void *p, size_t bytes, int writes)
{
    if (gpu_watch) gpu_watch->touch(p, bytes, writes != 0);
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
    if (gpu_capturing()) return gpu_refuse("a measurement during graph capture");
    struct timespec from, to;
    gpu_flush();
    gpu_finish_all();
    /* processor time of this thread, so that other programs do not count */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    if (work(arg)) return -1;
    gpu_finish(gpu_current());
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
}
void gpu_each_launch(void (*f)(void *self, const char *label, const char *name, int64_t n), void *self)
{
    for (auto &t : tally) f(self, t.first.first.c_str(), t.first.second.c_str(), t.second);
    tally.clear();
}
void gpu_wait(void)
{
    gpu_flush();
    gpu_finish(gpu_current());
}
const gpu_counter *gpu_counters(void) { return &counter; }
unsigned *gpu_tickets(void) { return tickets[gpu_current()]; }
void gpu_shared_memory(const void *, size_t) {}
/* Code for the emulation is a shared object, whose section headers come last. A kernel in it is a function that
 * launches itself. */
int gpu_capability(void)
{
    /* for tests of code that depends on the capability */
    const char *capability = getenv("ABLATE_EMULATED_CAPABILITY");
    return capability ? atoi(capability) : 90;
}
void *gpu_load_kernel(const void *image, const char *name)
{
    Elf64_Ehdr head;
    if (strncmp((const char *)image, ELFMAG, SELFMAG))
        return gpu_refuse("code that was compiled at run time is none"), nullptr;
    memcpy(&head, image, sizeof head);
    size_t bytes = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
    int file = memfd_create(name, 0); /* stays open: the loader identifies a library by its path */
    std::string path = "/proc/self/fd/" + std::to_string(file);
    bool there = file >= 0 && write(file, image, bytes) == (ssize_t)bytes;
    void *library = there ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr,
         *kernel = library ? dlsym(library, name) : nullptr;
    if (!kernel) gpu_refuse("code that was compiled at run time is no shared object of the emulation");
    return kernel;
}
int gpu_run_kernel(void *kernel, unsigned blocks, unsigned threads, size_t shared, const void *const *arguments)
{
    int (*run)(unsigned, unsigned, size_t, const void *const *);
    memcpy(&run, &kernel, sizeof run);
    return run(blocks, threads, shared, arguments);
}
const char *gpu_name(void) { return "kernels on the CPU, for tests"; }
int gpu_multiprocessors(void) { return 4; }
}
