/* seeds.c - runs a fuzz target over files, and over every beginning of each, where there is no fuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int main(int argc, char **argv)
{
    long runs = 0;
    for (int i = 1; i < argc; i++) {
        static uint8_t data[1 << 20];
        FILE *f = fopen(argv[i], "rb");
        size_t n = f ? fread(data, 1, sizeof data, f) : 0;
        if (!f) {
            printf("%s: cannot be read\n", argv[i]);
            return 1;
        }
        fclose(f);
        for (size_t cut = 0; cut <= n; cut += cut < 2000 ? 1 : 997, runs++) LLVMFuzzerTestOneInput(data, cut);
        LLVMFuzzerTestOneInput(data, n);
    }
    printf("%ld inputs from %d files\n", runs, argc - 1);
    return runs ? 0 : 1;
}
