/* device.c - the CPU, and the GPUs of the CUDA module if that can be opened. */
#include "tensor/device/device.h"
#include "tensor/comm/open_module.h"
#include "tensor/cuda/module.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const cuda_module *module; /* NULL: it cannot be opened; `why` says why */
    bool asked;
    err why;
    char name[160]; /* the GPU that this process uses */
} gpu;

/* The CUDA module; NULL if it cannot be opened. Tried once. */
static const cuda_module *cuda(void)
{
    if (!gpu.asked) {
        gpu.asked = true;
        void *h = open_module(&cuda_module_file, &gpu.why);
        ablate_cuda_fn *entry = NULL;
        if (h) *(void **)&entry = dlsym(h, "ablate_cuda");
        const cuda_module *m = entry ? entry() : NULL;
        if (m && m->version == CUDA_MODULE && m->layout == CUDA_MODULE_LAYOUT)
            gpu.module = m;
        else if (h)
            fail(&gpu.why, "the CUDA module was built from another version of ablate; rebuild it");
    }
    return gpu.module;
}

static int gpus(const char **why)
{
    if (cuda()) return gpu.module->count(why);
    *why = gpu.why.text;
    return -1;
}

/* "cuda" and "gpu" are GPU 0. device -1: not a GPU. */
static int parse(const char *name, int *device, err *e)
{
    int64_t n = 0;
    *device = -1;
    if (same(name, "cpu") || same(name, "auto")) return 0;
    const char *rest = has_prefix(name, "cuda") ? name + 4 : has_prefix(name, "gpu") ? name + 3 : "?";
    if (*rest && (*rest != ':' || !parse_int(rest + 1, &n) || n < 0 || n >= 1024))
        return fail(e, "device '%s': expected auto, cpu, cuda (or gpu) or cuda:N", name);
    *device = (int)n;
    return 0;
}

int device_check(const char *name, err *e)
{
    const char *why = NULL;
    int device;
    if (parse(name, &device, e)) return -1;
    if (device < 0) return 0;
    int n = gpus(&why);
    if (n < 0) return fail(e, "device %s is not available: %s; `ablate list devices` lists what is", name, why);
    if (device >= n)
        return fail(e, "device %s does not exist: the driver sees %d GPU%s, starting with cuda:0", name, n,
                    n == 1 ? "" : "s");
    return 0;
}

int device_count(const char *name)
{
    const char *why;
    if (same(name, "cpu") || strchr(name, ':')) return 0;
    int n = gpus(&why);
    return n > 0 ? n : 0;
}

int device_gpus(const char *name, double *free_bytes)
{
    int device, n = device_count(name), first = 0;
    err none = {0};
    gpu_device d;
    *free_bytes = 0;
    if (parse(name, &device, &none)) return 0;
    if (!n && device >= 0 && !device_check(name, &none)) first = device, n = 1;
    for (int i = first; i < first + n; i++)
        if (!gpu.module->describe(i, &d) && (i == first || (double)d.free_memory < *free_bytes))
            *free_bytes = (double)d.free_memory;
    return n;
}

const backend *device_open(const char *name, err *e)
{
    const char *why = NULL;
    int device;
    if (parse(name, &device, e)) return NULL;
    if (same(name, "auto") && gpus(&why) > 0) device = 0;
    if (device < 0) return &cpu_backend;
    if (device_check(name, e)) return NULL;
    const backend *b = gpu.module->open(device, e);
    gpu_device d;
    if (b && !gpu.module->describe(device, &d)) snprintf(gpu.name, sizeof gpu.name, "cuda:%d %s", device, d.name);
    return b;
}

void device_close(const backend *b)
{
    if (b && on_device(b)) cuda()->close();
}

const backend *device_open_rank(const char *name, int here, err *e)
{
    const char *why = NULL;
    char own[24];
    int first, n = same(name, "cpu") ? 0 : gpus(&why);
    if (parse(name, &first, e) || device_check(name, e)) return NULL;
    if (n <= 0) return device_open(name, e);
    snprintf(own, sizeof own, "cuda:%d", ((first < 0 ? 0 : first) + here) % n);
    return device_open(own, e);
}

const char *device_description(const backend *b) { return on_device(b) ? gpu.name : cpu_description(); }
bool device_has_bf16(const backend *b) { return on_device(b) || cpu_has_bf16(); }

int devices_print(FILE *f)
{
    const char *why = NULL;
    fprintf(f, "cpu     %s%s\n", cpu_description(), cpu_has_bf16() ? ", bf16 products" : "");
    fprintf(f, "        int8 in decoding: %s\n",
            cpu_has_vnni() ? "by vpdpbusd (VNNI)" : "widened to 16 bits (no VNNI)");
    for (int i = cpu_isa() + 1; cpu_isa_name(i); i++) {
        const char *not = cpu_isa_lacks(i) ? cpu_isa_lacks(i) : cpu_isa_slower(i);
        fprintf(f, "        not %s: %s\n", cpu_isa_name(i), not ? not : "ABLATE_ISA selects another");
    }
    int n = gpus(&why);
    if (n < 0) fprintf(f, "cuda    none: %s\n", why);
    for (int i = 0; i < n; i++) {
        gpu_device d;
        if (gpu.module->describe(i, &d))
            fprintf(f, "cuda:%d  properties cannot be read\n", i);
        else
            fprintf(f, "cuda:%d  %s, compute capability %d.%d, %.1f GiB (%.1f free), %d multiprocessors\n", i, d.name,
                    d.major, d.minor, (double)d.memory / (1 << 30), (double)d.free_memory / (1 << 30),
                    d.multiprocessors);
    }
    if (n > 0) fprintf(f, "        %s\n", gpu.module->libraries());
    return 0;
}

int devices_json(FILE *f)
{
    const char *why = NULL;
    str out = {0};
    str_add(&out, "{\"cpu\":{");
    json_key_text(&out, "about", cpu_description());
    json_key_text(&out, "instruction_set", cpu_isa_name(cpu_isa()));
    json_key_bool(&out, "bf16", cpu_has_bf16());
    json_key_bool(&out, "vnni", cpu_has_vnni());
    str_add(&out, "},\"cuda\":[");
    int n = gpus(&why);
    for (int i = 0; i < n; i++) {
        gpu_device d;
        if (gpu.module->describe(i, &d)) continue;
        str_add(&out, i ? ",{\"name\":" : "{\"name\":"), json_string(&out, d.name);
        str_addf(&out, ",\"capability\":\"%d.%d\",\"memory\":%lld,\"free_memory\":%lld}", d.major, d.minor,
                 (long long)d.memory, (long long)d.free_memory);
    }
    str_add(&out, "],\"cuda_absent\":");
    json_string(&out, n > 0 ? NULL : why ? why : "");
    fprintf(f, "%s}\n", str_text(&out));
    str_free(&out);
    return 0;
}
