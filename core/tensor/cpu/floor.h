/* floor.h - measures the peak rates of all threads with the instruction set in use, in some tenths of a second: fp32
 * operations in registers per second (a multiply-add counts as two) and bytes read from memory per second. If bytes is
 * NULL, measures only the operations, once, in less than a millisecond: the present rate, which depends on other guests
 * of the machine. */
#ifndef ABLATE_CPU_FLOOR_H
#define ABLATE_CPU_FLOOR_H
void cpu_floors(double *flops, double *bytes);
#endif
