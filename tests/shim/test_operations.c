/* test_operations.c - runs every operation's samples with their gradients (op_sample of tensor/graph/grad.h), in fp32
 * and bf16, and compares the CUDA backend with the CPU's. An operation without a CUDA kernel is refused by name. */
#include "graph/samples.h"
#include "open_device.h"

/* Returns the first operation on the sample's tape (as built for the CPU) for which the device has no kernel. Returns
 * NULL if the device has all kernels. */
static const char *without_kernel(const bool *on_tape, const backend *b)
{
    for (int o = 0; o < OP_COUNT; o++)
        if (on_tape[o] && cpu_backend.kernels[o] && !b->kernels[o]) return op_names[o];
    return NULL;
}

int main(void)
{
    const cuda_module *module = NULL;
    err e = {0};
    const backend *b = open_device(&module, &e);
    size_t compared = 0, refused = 0;
    if (!b) return printf("%s\n", e.text), 1;
    for (size_t i = 0; i < LENGTH(all_samples); i++)
        for (const op_sample *o = all_samples[i].list; o->build; o++)
            for (int half = 0; half < 2; half++) {
                bool on_tape[OP_COUNT] = {0};
                dtype type = half ? BF16 : F32;
                sample_outcome cpu = sample_run(o, all_samples[i].casts, &cpu_backend, type, on_tape),
                               gpu = sample_run(o, all_samples[i].casts, b, type, NULL);
                const char *missing = without_kernel(on_tape, b);
                if (missing) {
                    CHECK_HAS(gpu.refused, missing);
                    refused++;
                } else {
                    check_outcome(half ? "bf16" : "fp32", o, &gpu, &cpu, half ? 0.03 : 1e-5);
                    compared++;
                }
            }
    printf("%zu compared, %zu refused by name\n", compared, refused);
    CHECK_THAT(compared > 80, "samples compared: found %zu, expected more than 80", compared);
    CHECK_INT(refused, 42); /* samples whose tape has an operation without a CUDA kernel */
    module->close();
    return test_end();
}
