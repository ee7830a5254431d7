/* program.c - what lies beside the program. */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *file_of_program(const char *const *paths, size_t n)
{
    char program[4096], *found = NULL;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(program, '/');
    if (slash) *slash = 0;
    for (size_t i = 0; i < n && !found; i++) {
        char *path = path_join(program, paths[i]);
        if (file_exists(path))
            found = path;
        else
            free(path);
    }
    return found;
}
