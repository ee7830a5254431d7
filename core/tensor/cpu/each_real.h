/* each_real.h - each_type.h for fp32 and fp64 alone. */
#define S f32
#include OF_EACH_REAL
#undef S
#define S f64
#include OF_EACH_REAL
#undef S
#undef OF_EACH_REAL
