/* cost_report.cc - prints the counts of cost.h. Names of kernels and source lines come from addr2line. */
#include "cost.h"
#include <cstdio>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <vector>

namespace
{
struct where {
    std::string function, line;
};
std::map<const void *, where> known;
} // namespace

static std::string object_of(const void *address, uintptr_t *base)
{
    Dl_info info;
    struct link_map *map = nullptr;
    char path[4096];
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return "";
    *base = map->l_addr;
    if (map->l_name[0]) return map->l_name;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    return n > 0 ? std::string(path, (size_t)n) : "";
}

/* Reads the output of addr2line -a -f -i: for each address first the address itself, then function and line of the
 * innermost function at the address, then of that function's callers. */
static void read_lines(FILE *lines, const std::vector<std::pair<const void *, int>> &all)
{
    char function[8192], line[4096];
    where *w = nullptr;
    size_t n = 0;
    while (fgets(function, sizeof function, lines)) {
        if (!strncmp(function, "0x", 2)) {
            w = n < all.size() ? &known[all[n++].first] : nullptr;
            continue;
        }
        if (!fgets(line, sizeof line, lines) || !w) return;
        function[strcspn(function, "\n")] = 0, line[strcspn(line, " \n")] = 0;
        w->function = function;
        const char *name = strrchr(line, '/') ? strrchr(line, '/') + 1 : line;
        if (strstr(name, "gpu_emulation.h") || name[0] == '?') continue;
        if (w->line.size() < 200) w->line += (w->line.empty() ? "" : ", called at ") + std::string(name);
    }
}

/* Looks up all addresses of one object with one addr2line. Each address comes with the number of bytes to subtract. */
static void look_up(const std::string &object, uintptr_t base, const std::vector<std::pair<const void *, int>> &all)
{
    std::string file = "/tmp/ablate_costXXXXXX";
    int made = mkstemp(&file[0]);
    FILE *list = made < 0 ? nullptr : fdopen(made, "w");
    if (!list) return;
    for (auto &a : all) fprintf(list, "%#zx\n", (size_t)((uintptr_t)a.first - base) - (size_t)a.second);
    fclose(list);
    std::string command = "addr2line -a -f -i -e '" + object + "' <" + file + " 2>/dev/null";
    FILE *lines = popen(command.c_str(), "r");
    if (lines) read_lines(lines, all), pclose(lines);
    unlink(file.c_str());
}

/* Returns a kernel's name without namespaces, arguments and return type, such as "norm_rows<bf16, 2, true, true>". */
static std::string kernel_name(const void *kernel, const std::string &launched_as)
{
    char *words = abi::__cxa_demangle(known[kernel].function.c_str(), nullptr, nullptr, nullptr);
    std::string name = words ? words : launched_as;
    free(words);
    for (size_t at; (at = name.find("(anonymous namespace)::")) != std::string::npos;) name.erase(at, 23);
    if (name.compare(0, 5, "void ") == 0) name.erase(0, 5);
    int open = 0;
    for (size_t i = 0; i < name.size(); i++) {
        open += (name[i] == '<') - (name[i] == '>');
        if (name[i] == '(' && !open) name.erase(i);
    }
    return name;
}

void cost_report(const std::map<const void *, cost_kernel> &kernels)
{
    static const char *const kinds[] = {"load", "store", "shared"};
    std::map<std::string, std::pair<uintptr_t, std::vector<std::pair<const void *, int>>>> objects;
    auto want = [&](const void *address, int before) {
        uintptr_t base = 0;
        auto &o = objects[object_of(address, &base)];
        o.first = base;
        if (!known.count(address)) known[address], o.second.push_back({address, before});
    };
    for (auto &k : kernels) {
        want(k.first, 0);
        for (auto &of_kind : k.second.at)
            for (auto &a : of_kind) want(a.first, 1); /* subtracts 1: the return address follows the call */
    }
    for (auto &o : objects) look_up(o.first, o.second.first, o.second.second);
    for (auto &k : kernels) {
        std::string name = kernel_name(k.first, k.second.name);
        printf("KERNEL\t%s\t%u\t%zu\t%u\n", name.c_str(), k.second.threads, k.second.dynamic, k.second.launches);
        for (int i = 0; i < COST_KINDS; i++) {
            cost_count all = {0, 0, 0, 0, 0};
            std::map<std::string, cost_count> by_line;
            for (auto &a : k.second.at[i]) {
                all.add(a.second);
                by_line[known[a.first].line].add(a.second);
            }
            printf("COUNT\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\n", name.c_str(), kinds[i],
                   (unsigned long long)all.requests, (unsigned long long)all.moved, (unsigned long long)all.least,
                   (unsigned long long)all.bytes, (unsigned long long)all.wide);
            for (auto &l : by_line)
                printf("LINE\t%s\t%s\t%llu\t%llu\t%llu\t%s\n", name.c_str(), kinds[i],
                       (unsigned long long)l.second.requests, (unsigned long long)l.second.moved,
                       (unsigned long long)l.second.least, l.first.c_str());
        }
    }
}
