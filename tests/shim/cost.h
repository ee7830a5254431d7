/* cost.h - the counts that the cost model (cost.cc) makes and its report (cost_report.cc) prints. */
#ifndef COST_H
#define COST_H
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

enum cost_kind { COST_LOAD, COST_STORE, COST_SHARED, COST_KINDS };
/* Counts over requests, where a request is one instruction of a warp. moved: sectors of 32 bytes of device memory, or
 * passes over the banks of shared memory; least: what the same bytes would need if they lay side by side; bytes: sum
 * over lanes; wide: the bytes that a lane moved 16 at a time. */
struct cost_count {
    uint64_t requests, moved, least, bytes, wide;
    void add(const cost_count &c)
    {
        requests += c.requests, moved += c.moved, least += c.least, bytes += c.bytes, wide += c.wide;
    }
};
struct cost_kernel {
    std::string name; /* its name at the launch, which says nothing for generated code */
    unsigned threads, launches;
    size_t dynamic;                                    /* largest dynamic shared memory of a launch [bytes] */
    std::map<const void *, cost_count> at[COST_KINDS]; /* by return address of the access */
};
/* Prints lines for tests/cuda/model.sh, with tabs between. `kernels` is keyed by the kernel's address.
 *     KERNEL name threads dynamic launches
 *     COUNT name load|store|shared requests moved least bytes wide
 *     LINE name load|store|shared requests moved least file:line, called at file:line */
void cost_report(const std::map<const void *, cost_kernel> &kernels);
extern "C" void cost_print(void); /* prints the counts of all launches so far */
#endif
