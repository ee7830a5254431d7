/* ptx.h - an interpreter of the PTX that nvcc and NVRTC emit (PTX ISA 8.0 to 9.0), so that the GPU's tests run without
 * a GPU on the compiler's own output. It shares no code with the emulation of tests/shim.
 *
 *   words.c, instructions.c, read.c   a kernel and the functions that it calls, as a program
 *   break.c       mistakes, planted in what is read
 *   numbers.c     instructions that compute on registers
 *   warp.c        a warp: memory, exchanges between lanes, branches, calls
 *   launch.c      the blocks of a launch, barriers
 *   order.c       device memory, and which accesses to it are ordered
 *   cudart.c      the CUDA runtime's functions that the backend calls
 *   nvrtc.c       NVRTC, asked for PTX instead of machine code
 *
 * A register is a row of 32 words of 64 bits, one for each lane; bits above the register's type have no meaning.
 */
#ifndef PTX_H
#define PTX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 32 };
typedef uint64_t word;
typedef word row[LANES];
static inline float f32_of(word w)
{
    float f;
    memcpy(&f, &w, sizeof f);
    return f;
}
static inline word of_f32(float f)
{
    word w = 0;
    memcpy(&w, &f, sizeof f);
    return w;
}
static inline double f64_of(word w)
{
    double f;
    memcpy(&f, &w, sizeof f);
    return f;
}
static inline word of_f64(double f)
{
    word w;
    memcpy(&w, &f, sizeof f);
    return w;
}

/* ---- programs ---- */

typedef enum { GENERIC, GLOBAL, SHARED, LOCAL, PARAM } space;
typedef enum {
    COMPUTE, /* numbers.c */
    MOVE,    /* mov, with vectors of registers as parts of a larger one */
    LOAD,
    STORE,
    ATOMIC_INC,
    TO_SPACE,   /* cvta: from a generic address to one of the space, or the other way round */
    FENCE,      /* membar.gl */
    COPY_FRAME, /* copies arguments of a call in the frame: from `offset` to in[0], in[1] bytes */
    NOTHING,
    BRANCH, /* from this kind on: lanes may be at different instructions afterwards */
    CALL,
    RETURN,
    EXIT,
    BARRIER,
    WARP_BARRIER, /* from this kind on: lanes wait for each other */
    SHUFFLE,
    VOTE,
    PRODUCT /* mma.m16n8k16 */
} kind;

typedef struct instruction instruction;
/* Computes `to` from x, y, z and v in the lanes of the mask. */
typedef void function(const instruction *i, row *to, row *x, row *y, row *z, row *v, uint32_t lanes);
enum { MOST_TO = 8, MOST_IN = 12 };
struct instruction {
    kind kind;
    function *compute;
    space space;
    uint8_t bytes; /* size of the accessed or moved type */
    bool is_signed, from_generic;
    uint8_t mode;                 /* for shuffles and votes: row of a table in instructions.c */
    uint8_t n_to, n_in;           /* operands */
    bool unless;                  /* runs if the predicate is false */
    int predicate;                /* slot, -1: none */
    int to[MOST_TO], in[MOST_IN]; /* slots, -1: none */
    int64_t offset;               /* added to an address */
    int target;                   /* index of the instruction that a branch or call leads to */
    int line, column;
    const char *file, *text; /* text: the PTX of the instruction, to its semicolon */
};

typedef enum { IS_CONSTANT, IS_SPECIAL, IS_LOCAL, IS_PARAMETER } initial;
typedef struct { /* the initial value of a slot */
    int slot;
    initial what;
    word value; /* for IS_SPECIAL one of TID_X ... */
} start_value;
enum { TID_X, TID_Y, TID_Z, NTID_X, NTID_Y, NTID_Z, CTAID_X, CTAID_Y, CTAID_Z, NCTAID_X, NCTAID_Y, NCTAID_Z, LANEID };

typedef struct {
    const char *name;
    size_t at, bytes;
} parameter;
typedef struct {
    char *name;
    instruction *code;
    bool *label; /* [n_code + 1]: true where a branch leads */
    int n_code;
    start_value *start;
    int n_start, n_slots;
    parameter *parameter;
    int n_parameters;
    size_t parameter_bytes, shared_bytes /* static */, frame_bytes; /* frame: a lane's local memory */
    int most_threads;                                               /* .maxntid; 0: the PTX does not give it */
    uint64_t launches, lane_instructions, products, bytes_moved;    /* counted */
} program;

/* Parses a module's text; the caller must keep the text as long as it uses the module. */
typedef struct module module;
module *ptx_module(const char *text);
program *ptx_program(module *m, const char *name); /* NULL: the module has no such kernel */
/* Finds the function of an operation such as "add.f32" or "setp.lt.s32", or NULL. */
function *numbers_function(const char *name);
/* Ends the program with a message about PTX that this interpreter cannot read. */
_Noreturn void ptx_unknown(const char *what, const char *text);

/* ---- launches ---- */

typedef struct {
    unsigned grid[3], block[3];
    size_t shared;          /* dynamic */
    const void *parameters; /* [parameter_bytes] */
} launch;
/* Runs a kernel. Returns 0, or -1 and in `why` the error with kernel, block, thread and source line. */
int ptx_launch(program *p, const launch *l, char why[512]);

/* ---- the order of accesses ---- */

enum { STREAMS = 8 };
typedef struct { /* for each stream the number of the last operation that has ended */
    uint32_t ended[STREAMS];
} clock_of;
void clock_join(clock_of *to, const clock_of *from);
/* Starts the stream's next operation; operations in `known` end before this operation begins. */
void order_begin(int stream, clock_of *known);

typedef struct { /* the thread or copy that accesses memory */
    const instruction *by;
    uint32_t block;
    int thread; /* number of the thread in its block; -1: the access is a copy */
    int byte;   /* 1 or 2: the first or second byte of a shadow's two; 0: both; set in order.c */
} toucher;

/* A block's logical time, which barriers and fences advance. */
typedef struct {
    /* barrier: time of the last barrier; warp_sync: time of the last __syncwarp of each warp */
    uint32_t now, barrier, *warp_sync;
    /* fence: time of each thread's last fence; fence_barrier: time of the last barrier before that fence */
    uint32_t *fence, *fence_barrier;
    uint32_t *fenced; /* time of each thread's last fence before the last barrier */
    int threads;
} block_time;
void order_block(block_time *t, int threads); /* resets the time for a block; before the first block, *t is all zero */
void order_free(block_time *t);
void order_barrier(block_time *t);
void order_fence(block_time *t, int thread);
/* An atomic operation of a thread on address `at`: publishes what the thread and, by barriers and fences, its block
 * wrote before, and makes visible what other blocks published at this address. */
void order_atomic(block_time *t, toucher who, uint64_t at);

typedef struct { /* a recorded access */
    const instruction *by;
    uint32_t operation, block, time;
    int thread, byte;
} stamp;
typedef struct { /* the recorded accesses to two bytes */
    stamp writer, reader[2];
} shadow;
/* Records an access to shared memory, whose shadows are s [..]. Returns NULL, or a description of a race. */
const char *order_shared(shadow *s, uint64_t at, size_t bytes, bool writes, toucher who, const block_time *t);
extern bool order_watched; /* PTX_RACES is set */

/* ---- device memory ---- */

void *memory_alloc(size_t bytes); /* filled with NaNs */
void memory_free(void *p);
bool memory_has(const void *p, size_t bytes);
/* Records an access to device memory. Returns NULL, or a message about a race or invalid address. t: the block's time;
 * NULL for a copy. */
const char *memory_touch(const void *p, size_t bytes, bool writes, toucher who, const block_time *t);

/* ---- planted mistakes: PTX_BREAK=KIND:FILE:LINE:COLUMN (break.c) ---- */

/* Plants the mistake of PTX_BREAK, if the instruction is at its place: removes a barrier or fence, or shifts a bound by
 * one. */
void break_instruction(instruction *i);
#endif
