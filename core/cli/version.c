#include "cli/results.h"
#include "commit.h" /* made by commit.cmake */
#include "tensor/cpu/cpu.h"
#include "tensor/device/device.h"

int version_print(FILE *f)
{
    const char *commit = *ABLATE_COMMIT ? ABLATE_COMMIT : "unknown";
    fprintf(f, "ablate %s, commit %.12s\n", ABLATE_VERSION, commit);
    fprintf(f, "backends: cpu, %s\n", device_count("cuda") > 0 ? "cuda" : "no CUDA device (ablate list devices)");
    fprintf(f, "instruction set: %s\n", cpu_isa_name(cpu_isa()));
    return 0;
}
