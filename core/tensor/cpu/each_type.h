/* each_type.h - includes the file OF_EACH_TYPE for rows of fp32, fp64 and bf16, with S as their names' ending. It has
 * no guard, because a file may include it for several. */
#define S f32
#include OF_EACH_TYPE
#undef S
#define S f64
#include OF_EACH_TYPE
#undef S
#define S bf16
#include OF_EACH_TYPE
#undef S
#undef OF_EACH_TYPE
