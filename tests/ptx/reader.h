/* reader.h - the state of the PTX parser: words.c, instructions.c and read.c. */
#ifndef PTX_READER_H
#define PTX_READER_H
#include "ptx.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 512 };

/* Appends to an array of n elements, growing it if it is full. */
#define APPEND(array, n, ...) ((array) = grown(array, n, sizeof *(array)), (array)[(n)++] = (__VA_ARGS__))

void *grown(void *p, int n, size_t size); /* returns p, with space for element n */

/* ---- a module ---- */

typedef struct {
    char *name;
    const char *after; /* the text behind its name: parameters and body */
    bool entry;
} declared;
typedef struct {
    char *name;
    size_t bytes, align;
    void *data; /* NULL: in shared memory */
} variable;
struct module {
    declared *function;
    variable *variable;
    program **program;
    char *file[64]; /* .file */
    int n_functions, n_variables, n_programs;
};

/* ---- a program that is read ---- */

typedef struct { /* a name and what it stands for */
    char *name;
    int slot, count; /* count > 1: the registers name0, name1 .. */
    size_t at, bytes;
} meaning;
typedef struct {
    char *name;
    int at;
} place;
typedef struct { /* a function that the kernel calls */
    char *name;
    int begin, return_slot;
    meaning *parameter, *result; /* addresses in the frame */
    int n_parameters, n_results;
} inside;
typedef struct {
    module *m;
    program *p;
    const char *s; /* the text that is not yet parsed */
    meaning *name; /* names of registers and of variables in the frame; if names are equal, the last one counts */
    place *label, *jump;
    start_value *known; /* constants that this function has in slots, from first_start on */
    inside *called;
    variable *shared; /* `align` holds the address */
    const char *file;
    int n_names, n_labels, n_jumps, n_called, n_shared, first_start, line, column;
    int self; /* index in `called` of the function that is being read; -1: the kernel itself is */
} reader;

/* ---- words.c ---- */

void skip_space(reader *r);
const char *next_word(reader *r, char word[MOST_NAME]);
bool take(reader *r, const char *what);
void expect(reader *r, const char *what);
bool at_number(reader *r);
word next_number(reader *r);
size_t type_bytes(const char *type);
int new_slot(reader *r);
int start_slot(reader *r, initial what, word value);
void add_name(reader *r, const char *name, int slot, int count, size_t at, size_t bytes);
const meaning *find_name(const reader *r, const char *name, int *index);
size_t aligned(size_t at, size_t to);
size_t in_frame(reader *r, size_t bytes, size_t align);
int operand(reader *r, space *s);
void operands(reader *r, instruction *i, bool to);
void address(reader *r, instruction *i);

typedef struct {
    char name[MOST_NAME];
    size_t bytes, align;
} declaration;

/* ---- instructions.c, read.c ---- */

instruction *add(reader *r, instruction i);
void read_instruction(reader *r, const char *op, int predicate, bool unless, const char *text);
declaration read_declaration(reader *r);
void read_body(reader *r);
int function_of_program(reader *r, const char *name);
#endif
