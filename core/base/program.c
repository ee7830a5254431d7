/* program.c - finds the program's file and files beside it; starts the program again with other settings. */
#include "base/base.h"
#include "base/cleanup.h"
#include <unistd.h>

const char *program_file(void)
{
    static char program[4096];
    if (!*program && readlink("/proc/self/exe", program, sizeof program - 1) < 0) *program = 0;
    return program;
}

char *file_of_program(const char *const *paths, size_t n)
{
    AUTOFREE char *folder = path_folder(program_file());
    for (size_t i = 0; i < n; i++) {
        char *path = path_join(folder, paths[i]);
        if (file_exists(path)) return path;
        free(path);
    }
    return NULL;
}

void program_wait_asleep(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    setenv("GOMP_SPINCOUNT", "2000", 1);
#if __clang_major__ >= 18
    setenv("KMP_BLOCKTIME", "50us", 1); /* LLVM's OpenMP library; its older versions know milliseconds only */
#endif
    execv("/proc/self/exe", argv);
}
