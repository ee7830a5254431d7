/* version.h - what this program is: its version, the commit that it was built from, what it computes with. */
#ifndef ABLATE_VERSION_H
#define ABLATE_VERSION_H
#include <stdio.h>

/* Of `ablate --version`: three lines. Returns 0. */
int version_print(FILE *f);
#endif
