/* device.c - compares a device with the CPU: loss and gradient with dropout (both drop the same elements), and an
 * optimizer's update. */
#include "network/check/internal.h"
#include "network/train/optim.h"
#include <math.h>
#include <string.h>

void check_use_device(const backend *b)
{
    check_given.device = on_device(b) ? b : NULL;
    if (check_given.device) check_given.composing = *check_given.device, check_given.composing.embeds_tokens = false;
}
bool check_has_device(check_result *r)
{
    if (!check_given.device) check_none(r, "no device was requested (--device cuda)");
    return check_given.device != NULL;
}
const backend *check_the_composing_device(void) { return check_given.device ? &check_given.composing : NULL; }
const backend *check_the_devices_cpu(void)
{
    check_given.cpu = cpu_backend;
    check_given.cpu.takes_tables = check_given.device->takes_tables,
    check_given.cpu.takes_weights = check_given.device->takes_weights;
    check_given.cpu.takes_sinks = check_given.device->takes_sinks;
    check_given.cpu.takes_maps = check_given.device->takes_maps;
    for (int o = 0; o < OP_COUNT; o++) /* composes what the device lacks; LONG_CONV cannot be composed */
        if (!check_given.device->kernels[o] && o != OP_LONG_CONV && o != OP_LONG_CONV_FILTER)
            check_given.cpu.kernels[o] = NULL;
    return &check_given.cpu;
}

static void compare_devices(const pairing *w, bool generic, check_result *r)
{
    /* Both sides fuse the same operations, because fusion decides which elements dropout drops. */
    model_kind here = {.compute = F32, .dropout = 0.2, .generic = generic}, there = here;
    CLEANUP(pass_outcome_free) pass_outcome a = {0}, b = {0};
    here.on = check_the_devices_cpu();
    there.on = check_given.device;
    const double allowed = 1e-4;
    bool done = check_compute(NULL, w, &here, &a, r) && check_compute(NULL, w, &there, &b, r);
    double d = done ? check_distance(w, &a, &b) : 0;
    if (done && check_beyond(r, d / allowed))
        check_fail(r,
                   "%s%s: in fp32 on %s loss or gradient differs from the CPU's by %.2g (relative): losses %.9g and "
                   "%.9g, allowed %.0e",
                   w->name, generic ? ", never fused" : "", check_given.device->name, d, b.loss, a.loss, allowed);
}

static void compare_all(const pairing *w, check_result *r)
{
    compare_devices(w, false, r);
    if (r->outcome != CHECK_FAIL) compare_devices(w, true, r);
    check_note(r, "the difference divided by the tolerance, which is 1e-4 in fp32");
}

void check_device(const plugin *p, check_result *r)
{
    if (check_has_device(r)) check_each_pairing(p, r, compare_all);
}

/* ---- updates ---- */

/* Runs three updates of a small model with made-up gradients. Returns the model's parameters; the caller frees them. */
static float *update(const plugin *p, const backend *on, size_t *n, check_result *r)
{
    settings set = {0};
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(model_free) model m;
    err e = {0};
    float *out = NULL;
    const char *const pairs[][2] = {{"optimizer", p->path}, {"layers", "1"}, {"d_model", "12"},   {"d_ff", "16"},
                                    {"heads", "2"},         {"seed", "7"},   {"clip_norm", "0.5"}};
    for (size_t i = 0; i < LENGTH(pairs); i++) settings_set(&set, pairs[i][0], pairs[i][1], &a);
    if (model_open(&m, &set, CHECK_VOCAB, CHECK_VOCAB, F32, on, &e)) {
        check_fail(r, "%s", e.text);
        return NULL;
    }
    optimizer *o = optim_open(&m, &e);
    AUTOFREE float *grad = xmalloc(m.params.total * sizeof *grad);
    for (int64_t step = 1; step <= 3 && o && !e.text[0]; step++) {
        for (size_t i = 0; i < m.params.total; i++) grad[i] = (float)check_hashed((uint64_t)step, i);
        backend_write(on, m.params.grad, grad, m.params.total * sizeof *grad);
        optim_update(o, m.params.grad, 0.5, 0.01, step, NULL, &e);
    }
    *n = m.params.total;
    float *values = e.text[0] ? NULL : params_host(&m.params, 0, &e);
    if (values) {
        memcpy(out = xmalloc(*n * sizeof *out), values, *n * sizeof *out);
        params_host_done(&m.params, 0, values, false);
    }
    if (e.text[0]) check_fail(r, "on %s: %s", on->name, e.text);
    optim_close(o);
    return out;
}

void check_device_update(const plugin *p, check_result *r)
{
    size_t n = 0, m = 0;
    if (!check_has_device(r)) return;
    AUTOFREE float *a = update(p, &cpu_backend, &n, r), *b = update(p, check_given.device, &m, r);
    double worst = 0;
    for (size_t i = 0; a && b && i < n; i++) worst = check_larger(worst, fabs((double)a[i] - (double)b[i]));
    if (a && b && check_beyond(r, worst))
        check_fail(r, "after three updates a value on %s differs from the CPU's by %.2g", check_given.device->name,
                   worst);
}
