/* reader.h - the state in which PTX is read, for words.c, instructions.c and read.c. */
#ifndef PTX_READER_H
#define PTX_READER_H
#include "ptx.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 512 };

/* Appends to an array of n elements, whose room doubles. */
#define APPEND(array, n, ...) ((array) = grown(array, n, sizeof *(array)), (array)[(n)++] = (__VA_ARGS__))

void *grown(void *p, int n, size_t size); /* room for element n */

/* ---- a module ---- */

typedef struct {
    char *name;
    const char *after; /* its parameters and body */
    bool entry;
} declared;
typedef struct {
    char *name;
    size_t bytes, align;
    void *data; /* NULL: shared memory */
} variable;
struct module {
    declared *function;
    variable *variable;
    program **program;
    char *file[64]; /* .file */
    int n_functions, n_variables, n_programs;
};

/* ---- a program that is read ---- */

typedef struct { /* a name that the text around gives a meaning */
    char *name;
    int slot, count; /* count > 1: name0 .. */
    size_t at, bytes;
} meaning;
typedef struct {
    char *name;
    int at;
} place;
typedef struct { /* a function inside of the program */
    char *name;
    int begin, return_slot;
    meaning *parameter, *result; /* in the frame */
    int n_parameters, n_results;
} inside;
typedef struct {
    module *m;
    program *p;
    const char *s; /* the text that is left */
    meaning *name; /* registers, variables in the frame; the last one wins */
    place *label, *jump;
    start_value *known; /* the start values of this function's slots begin at first_start */
    inside *called;
    variable *shared; /* .at is `align` */
    const char *file;
    int n_names, n_labels, n_jumps, n_called, n_shared, first_start, line, column;
    int self; /* index in `called`, -1: the kernel */
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
