/* floor.h - what all threads together can do a second with the instruction set in use: fp32 operations in registers (a multiply-add counts
 * as two), bytes read from memory. Measures, for some tenths of a second. */
#ifndef ABLATE_CPU_FLOOR_H
#define ABLATE_CPU_FLOOR_H
void cpu_floors(double *flops, double *bytes);
#endif
