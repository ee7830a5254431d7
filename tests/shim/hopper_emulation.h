/* hopper_emulation.h - the instructions of hopper.h on the CPU (gpu_hopper.cc). Only hopper.h includes it. */
#ifndef ABLATE_HOPPER_EMULATION_H
#define ABLATE_HOPPER_EMULATION_H

unsigned gpu_shared_address(const void *p);
void gpu_mbarrier_start(unsigned barrier, int arrivals);
void gpu_mbarrier_arrive(unsigned barrier, int bytes);
void gpu_mbarrier_wait(unsigned barrier, unsigned parity);
void gpu_tile_load(unsigned to, const gpu_tensor_map *map, int column, int row, unsigned barrier);
void gpu_shared_clear(unsigned at);
void gpu_fence_async();
void gpu_wgmma_fence();
void gpu_wgmma_commit();
void gpu_wgmma_wait();
void gpu_wgmma(float (*d)[4], const unsigned *a, uint64_t b, int turned, int add);
void gpu_registers(int n, int takes);

static inline unsigned shared_address(const void *p) { return gpu_shared_address(p); }
static inline void barrier_start(unsigned barrier, int arrivals) { gpu_mbarrier_start(barrier, arrivals); }
static inline void barrier_arrive(unsigned barrier) { gpu_mbarrier_arrive(barrier, 0); }
static inline void barrier_arrive_expecting(unsigned barrier, int bytes) { gpu_mbarrier_arrive(barrier, bytes); }
static inline void barrier_wait(unsigned barrier, unsigned parity)
{
    gpu_mbarrier_wait(barrier, parity);
    __syncwarp();
}
static inline void tile_load(unsigned to, const gpu_tensor_map &map, int column, int row, unsigned barrier)
{
    gpu_tile_load(to, &map, column, row, barrier);
}
static inline void shared_clear(unsigned at) { gpu_shared_clear(at); }
static inline void fence_async() { gpu_fence_async(); }
static inline void wgmma_fence() { gpu_wgmma_fence(); }
static inline void wgmma_commit() { gpu_wgmma_commit(); }
static inline void wgmma_wait(float (&)[8][4]) { gpu_wgmma_wait(); }
template <int TURNED> static inline void wgmma(float (&d)[8][4], const unsigned (&a)[4], uint64_t b, int add)
{
    gpu_wgmma(d, a, b, TURNED, add);
}
template <int N> static inline void registers_leave() { gpu_registers(N, 0); }
template <int N> static inline void registers_take() { gpu_registers(N, 1); }
#endif
