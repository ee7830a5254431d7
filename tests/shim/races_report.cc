/* races_report.cc - describes a race: kernel, memory, both source lines, and the missing order. */
#include "races.h"
#include <dlfcn.h>
#include <link.h>
#include <set>
#include <unistd.h>

enum { EXIT_RACES = 66 };
static int64_t found;

/* Returns "file.cu:12" of the instruction before pc, from addr2line; without that program, the object and the
 * offset. */
static std::string line_of(const void *pc)
{
    Dl_info info;
    struct link_map *map = nullptr;
    if (!pc) return "the whole of it";
    if (!dladdr1(pc, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return "an unknown place";
    const char *file = map->l_name[0] ? map->l_name : "/proc/self/exe";
    char path[4096], command[4400], text[512], line[4200];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (!map->l_name[0] && n > 0) path[n] = 0, file = path;
    size_t at = (size_t)((uintptr_t)pc - map->l_addr - 1);
    snprintf(command, sizeof command, "addr2line -i -e '%s' %#zx 2>/dev/null", file, at);
    FILE *lines = popen(command, "r");
    std::string all;
    while (lines && fgets(text, sizeof text, lines)) {
        text[strcspn(text, " \n")] = 0; /* " (discriminator 3)" */
        if (strstr(text, "gpu_emulation.h") || strstr(text, "/c++/") || text[0] == '?') continue;
        const char *tail = strstr(text, "/core/tensor/cuda/") ? strstr(text, "/core/tensor/cuda/") + 18 : text;
        const char *name = strrchr(tail, '/') ? strrchr(tail, '/') + 1 : tail;
        if (all.size() < 200) all += (all.empty() ? "" : ", called at ") + std::string(name);
    }
    if (lines) pclose(lines);
    if (!all.empty()) return all;
    snprintf(line, sizeof line, "%s+%#zx", file, at);
    return line;
}

static std::string describe(const race_access &a, const race_launch &of)
{
    char words[256];
    if (!a.pc)
        snprintf(words, sizeof words, "%s by %.60s, stream %d", a.writes ? "written" : "read",
                 of.name.empty() ? "a copy from or to the host" : of.name.c_str(), of.lane);
    else
        snprintf(words, sizeof words,
                 "%s%s, %d bytes, by block %u,%u,%u thread %u (warp %u, lane %u), stream %d, %.60s",
                 a.atomic ? "atomically " : "", a.writes ? "written" : "read", a.bytes, a.block % of.grid.x,
                 a.block / of.grid.x % of.grid.y, a.block / of.grid.x / of.grid.y, a.thread, a.thread / 32u,
                 a.thread % 32u, of.lane, of.name.c_str());
    return std::string(words) + (a.pc ? ": " + line_of(a.pc) : "");
}

void race_report(race_class c, const race_access &a, const race_launch &of_a, const race_access &b,
                 const race_launch &of_b, const std::string &place)
{
    static const char *const missing[] = {
        "no __syncthreads between two warps of a block", "no __syncwarp between two threads of a warp",
        "no __threadfence and atomic between two blocks", "no event between two streams"};
    static std::set<std::pair<const void *, const void *>> known;
    if (!known.insert({a.pc, b.pc}).second) return;
    found++;
    fprintf(stderr, "RACE: %s%s%s: %s\n  %s\n  %s\n  %s\n", of_b.label.c_str(), of_b.label.empty() ? "" : ": ",
            of_b.name.c_str(), missing[c], place.c_str(), describe(a, of_a).c_str(), describe(b, of_b).c_str());
    if (getenv("ABLATE_RACES_ALL")) return;
    fflush(nullptr);
    _exit(EXIT_RACES);
}

__attribute__((destructor)) static void end()
{
    if (!found) return;
    fprintf(stderr, "%lld races\n", (long long)found);
    fflush(nullptr);
    _exit(EXIT_RACES);
}
