/* accesses.h - the functions that code compiled with -fsanitize=thread calls before each access to memory, in place of
 * the compiler's own library; and which kind of memory an address is in. Included once in a program, by the file that
 * defines access(): races.cc or cost.cc. */
#ifndef ACCESSES_H
#define ACCESSES_H
#include "gpu_watch.h"
#include <link.h>

struct memory_region {
    uintptr_t from, bytes;
};

/* Static shared memory of a kernel: this thread's variables in the object that has the kernel. Empty until the thread
 * has some. */
static memory_region static_shared_of(const void *kernel)
{
    struct query {
        uintptr_t kernel;
        memory_region found;
    } q = {(uintptr_t)kernel, {0, 0}};
    dl_iterate_phdr(
        [](dl_phdr_info *o, size_t, void *to) {
            query *of = (query *)to;
            bool inside = false;
            uintptr_t bytes = 0;
            for (int i = 0; i < o->dlpi_phnum; i++) {
                const ElfW(Phdr) &h = o->dlpi_phdr[i];
                inside |= h.p_type == PT_LOAD && of->kernel - (o->dlpi_addr + h.p_vaddr) < h.p_memsz;
                if (h.p_type == PT_TLS) bytes = h.p_memsz;
            }
            if (inside && o->dlpi_tls_data) of->found = {(uintptr_t)o->dlpi_tls_data, bytes};
            return (int)inside;
        },
        &q);
    return q.found;
}

/* pc: return address of the access's call */
static void access(uintptr_t p, size_t bytes, bool writes, bool atomic, const void *pc);

#define PLAIN(n)                                                                                                       \
    void __tsan_read##n(void *p) { access((uintptr_t)p, n, false, false, __builtin_return_address(0)); }               \
    void __tsan_write##n(void *p) { access((uintptr_t)p, n, true, false, __builtin_return_address(0)); }
#define ANY(n)                                                                                                         \
    PLAIN(n)                                                                                                           \
    void __tsan_unaligned_read##n(void *p) { access((uintptr_t)p, n, false, false, __builtin_return_address(0)); }     \
    void __tsan_unaligned_write##n(void *p) { access((uintptr_t)p, n, true, false, __builtin_return_address(0)); }
extern "C" {
PLAIN(1)
ANY(2)
ANY(4)
ANY(8)
ANY(16)
void __tsan_read_range(void *p, size_t n) { access((uintptr_t)p, n, false, false, __builtin_return_address(0)); }
void __tsan_write_range(void *p, size_t n) { access((uintptr_t)p, n, true, false, __builtin_return_address(0)); }
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void *, void *) {}
void __tsan_vptr_read(void *) {}
}
#endif
