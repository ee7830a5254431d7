/* cost.h - counts of the model of cost (cost.cc), for its report (cost_report.cc). */
#ifndef COST_H
#define COST_H
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

enum cost_kind { COST_LOAD, COST_STORE, COST_SHARED, COST_KINDS };
/* A request is one instruction of a warp. Moved: sectors of 32 bytes of device memory, or passes over the banks of
 * shared memory; least: what the same bytes need if they lie side by side. Bytes: of the lanes; wide: of those, the
 * ones that a lane moved 16 at a time. */
struct cost_count {
    uint64_t requests, moved, least, bytes, wide;
    void add(const cost_count &c)
    {
        requests += c.requests, moved += c.moved, least += c.least, bytes += c.bytes, wide += c.wide;
    }
};
struct cost_kernel {
    std::string name; /* as launched; that of generated code says nothing */
    unsigned threads, launches;
    size_t dynamic;                                    /* the most bytes of shared memory that a launch asked for */
    std::map<const void *, cost_count> at[COST_KINDS]; /* by where the access returns to */
};
/* By the address of the kernel. Prints lines for tests/cuda/model.sh, with tabs between:
 *     KERNEL name threads dynamic launches
 *     COUNT name load|store|shared requests moved least bytes wide
 *     LINE name load|store|shared requests moved least file:line, called at file:line */
void cost_report(const std::map<const void *, cost_kernel> &kernels);
extern "C" void cost_print(void); /* covers all launches so far */
#endif
