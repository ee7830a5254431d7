/* each_real.h - includes the file OF_EACH_REAL for rows of fp32 and of fp64, as each_type.h does. */
#define S f32
#include OF_EACH_REAL
#undef S
#define S f64
#include OF_EACH_REAL
#undef S
#undef OF_EACH_REAL
