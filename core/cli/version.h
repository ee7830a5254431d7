/* version.h - the program's version, the commit it was built from, its backends and instruction set. */
#ifndef ABLATE_VERSION_H
#define ABLATE_VERSION_H
#include <stdio.h>

/* Prints the three lines of `ablate --version`. Returns 0. */
int version_print(FILE *f);
#endif
