/* seeds.c - runs a target without a fuzzer: over all files of a folder, and over every prefix of each. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Returns the number of inputs made from the file, or -1 if it cannot be read. */
static long run(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) return -1;
    size_t n = fread(data, 1, sizeof data, f), step = n / 2000 + 1;
    long runs = 1;
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
    for (size_t cut = 0; cut < n; cut += step, runs++) {
        /* exactly as long as the data, so that a sanitizer reports reads past the end */
        uint8_t *exact = malloc(cut + 1);
        if (!exact) return -1;
        memcpy(exact, data, cut);
        LLVMFuzzerTestOneInput(exact, cut);
        free(exact);
    }
    return runs;
}

int main(int argc, char **argv)
{
    long runs = 0, files = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        printf("usage: %s FOLDER_OF_SEEDS\n", argv[0]);
        return 2;
    }
    for (struct dirent *x; (x = readdir(folder));) {
        char path[4096];
        if (x->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], x->d_name);
        long n = run(path);
        if (n < 0) {
            printf("%s: cannot be read\n", path);
            return 1;
        }
        runs += n, files++;
    }
    closedir(folder);
    printf("%ld inputs from %ld files\n", runs, files);
    return files ? 0 : 1;
}
