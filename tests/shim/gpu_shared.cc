/* gpu_shared.cc - static shared memory of the emulated GPU: filled with NaN before each block, and measured.
 *
 * Kernels' __shared__ arrays are the program's only thread-local variables (gpu_emulation.h), so its symbol table lists
 * them. An array belongs to the kernels whose blocks write to it. Does nothing without a symbol table, or under the
 * address sanitizer, which guards plain static variables. */
#include "gpu_watch.h"
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

thread_local char gpu_shared_anchor = 1; /* locates this module's variables in the thread's memory */

#ifdef GPU_ASAN
std::string gpu_shared_name(const void *) { return ""; }
void gpu_shared_poison(const void *) {}
size_t gpu_shared_used(const void *) { return 0; }
#else
namespace
{
enum { BLOCKS = 16 /* after so many blocks of a kernel the kernel's arrays are known */, POISON = 0xff };
struct array {
    size_t at, bytes;
    std::string name; /* mangled */
};
struct table {
    std::vector<array> arrays;
    size_t anchor = 0;
};
struct use {
    int blocks = 0;
    std::vector<size_t> arrays; /* arrays that a block of the kernel has written */
    size_t bytes = 0;
};

/* Path of the object, program or module, that contains this function. */
std::string file_of_object()
{
    std::string file = "/proc/self/exe";
    dl_iterate_phdr(
        [](dl_phdr_info *o, size_t, void *to) {
            uintptr_t here = (uintptr_t)(void *)file_of_object;
            for (int i = 0; i < o->dlpi_phnum; i++) {
                uintptr_t from = o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;
                bool inside =
                    o->dlpi_phdr[i].p_type == PT_LOAD && here >= from && here - from < o->dlpi_phdr[i].p_memsz;
                if (inside && o->dlpi_name[0]) *(std::string *)to = o->dlpi_name;
            }
            return 0;
        },
        &file);
    return file;
}

void read_symbols(const char *image, table *t)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr &s = sections[i];
        if (s.sh_type != SHT_SYMTAB) continue;
        const char *names = image + sections[s.sh_link].sh_offset;
        for (size_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
            const Elf64_Sym *y = (const Elf64_Sym *)(image + s.sh_offset + at);
            if (ELF64_ST_TYPE(y->st_info) != STT_TLS || y->st_shndx == SHN_UNDEF) continue;
            if (!strcmp(names + y->st_name, "gpu_shared_anchor")) t->anchor = y->st_value;
            if (!strncmp(names + y->st_name, "_ZZ", 3))
                t->arrays.push_back({y->st_value, y->st_size, names + y->st_name});
        }
    }
}

const table &all()
{
    static const table found = [] {
        table t;
        int file = open(file_of_object().c_str(), O_RDONLY | O_CLOEXEC);
        struct stat s;
        if (file < 0) return t;
        void *image = fstat(file, &s) ? MAP_FAILED : mmap(nullptr, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        close(file);
        if (image == MAP_FAILED) return t;
        read_symbols((const char *)image, &t);
        munmap(image, (size_t)s.st_size);
        return t;
    }();
    return found;
}

char *memory_of(const array &a) { return &gpu_shared_anchor + ((ptrdiff_t)a.at - (ptrdiff_t)all().anchor); }

std::unordered_map<const void *, use> uses;
} // namespace

std::string gpu_shared_name(const void *at)
{
    for (const array &a : all().arrays) {
        ptrdiff_t byte = (const char *)at - memory_of(a);
        if (byte < 0 || (size_t)byte >= a.bytes) continue;
        char *words = abi::__cxa_demangle(a.name.c_str(), nullptr, nullptr, nullptr);
        std::string name = words ? words : a.name; /* "kernel(arguments)::array" */
        free(words);
        size_t colons = name.rfind("::");
        return name.substr(colons == std::string::npos ? 0 : colons + 2) + ", byte " + std::to_string(byte);
    }
    return "";
}

void gpu_shared_poison(const void *kernel)
{
    use &u = uses[kernel];
    if (u.blocks < BLOCKS)
        for (const array &a : all().arrays) memset(memory_of(a), POISON, a.bytes);
    else
        for (size_t i : u.arrays) memset(memory_of(all().arrays[i]), POISON, all().arrays[i].bytes);
}

size_t gpu_shared_used(const void *kernel)
{
    use &u = uses[kernel];
    if (u.blocks++ >= BLOCKS) return u.bytes;
    u.arrays.clear(), u.bytes = 0;
    static std::unordered_map<const void *, std::vector<bool>> written;
    std::vector<bool> &w = written[kernel];
    w.resize(all().arrays.size());
    for (size_t i = 0; i < all().arrays.size(); i++) {
        const array &a = all().arrays[i];
        const char *p = memory_of(a);
        if (!w[i] && a.bytes) /* written: some byte differs from the poison */
            w[i] = (unsigned char)*p != POISON || memcmp(p, p + 1, a.bytes - 1);
        if (w[i]) u.arrays.push_back(i), u.bytes += (a.bytes + 15) / 16 * 16;
    }
    return u.bytes;
}
#endif
