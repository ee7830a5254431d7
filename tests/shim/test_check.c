/* `ablate check --device` on every plugin that comes with ablate: operations, losses, gradients and updates on the CUDA
 * backend agree with the CPU's, and a slightly wrong operation is found and named. Every attention that is fused on the
 * CPU is fused here, too. */
#include "network/check/check.h"
#include "tensor/cpu/cpu.h"
#include "open_device.h"
#include "test.h"

static const backend *device;
static int slightly(const call *k, err *e)
{
    float x;
    if (device->kernels[OP_NORM](k, e) || device->copy_out(&x, k->out[0].data, sizeof x, e)) return -1;
    x += 1e-3f;
    device->copy_in(k->out[0].data, &x, sizeof x);
    return 0;
}

/* Checks the rows `device_ops` and `device` (for an optimizer, `device` alone). If the first fails, the second is
 * skipped; check/test_plugins checks the other rows. */
static void check_rows(const plugin *p, int expected, const char *words)
{
    check_result r[CHECK_MOST];
    size_t n = check_plugin(p, "device", r), seen = 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(r[i].name, "device", 6)) continue;
        printf("%s/%s %s: %.2g of %.2g, %s\n", plugin_kind_name(p->desc.kind), p->desc.name, r[i].name, r[i].measured,
               r[i].bound, r[i].message);
        CHECK_INT(r[i].outcome, seen && expected == CHECK_FAIL ? CHECK_NONE : expected);
        if (!seen++) CHECK_HAS(r[i].message, words);
    }
    CHECK_INT(seen, p->desc.kind == AB_OPTIMIZER ? 1 : 2);
}

/* Plugins of the short suite: three that take little time or cover much. `--all` checks one of each kind and a random
 * ninth of the others, a release all. */
static bool in_short_suite(const char *name)
{
    static const char *const names[] = {"shaw", "geglu", "adamw", "aligned", "rms_norm", "rezero"};
    bool yes = false;
    for (size_t i = 0; i < (test_long() ? LENGTH(names) : 3); i++) yes |= same(name, names[i]);
    return yes;
}

static void check_every_plugin(void)
{
    size_t n = 0, checked = 0, left = 0;
    const plugin *const *all = plugin_list(&n);
    for (size_t i = 0; i < n; i++) {
        const plugin *p = all[i];
        if (p->desc.kind == AB_SCHEDULE || p->desc.kind == AB_TASK) continue; /* schedules and tasks run on the host */
        if (!test_exhaustive() && !in_short_suite(p->desc.name) && !(test_long() && test_drawn(i, 9))) {
            left++;
            continue;
        }
        checked++;
        /* ab_qr, which soap calls, has no CUDA kernel: on a GPU the check must say so */
        if (same(p->desc.name, "soap"))
            check_rows(p, CHECK_FAIL, "the cuda backend has no kernel for QR");
        else if (same(p->desc.name, "hyena")) /* ab_long_conv, which hyena calls, has no CUDA kernel either */
            check_rows(p, CHECK_FAIL, "the cuda backend has no kernel for LONG_CONV");
        else
            check_rows(p, CHECK_OK, p->desc.kind == AB_OPTIMIZER ? "" : "calls of");
    }
    printf("%zu plugins checked, %zu left to `ablate test --all` or `tests/reliability.sh whole`\n", checked, left);
    CHECK(checked > 0 && (left > 0) != test_exhaustive());
}

/* Every attention that is fused on the CPU is fused here. */
static void check_same_fusion(void)
{
    for (op o = 0; o < OP_COUNT; o++)
        if (!strncmp(op_names[o], "ATTEND", 6)) CHECK_INT(device->kernels[o] != NULL, cpu_backend.kernels[o] != NULL);
}

int main(void)
{
    const cuda_module *m;
    err e = {0};
    device = open_device(&m, &e);
    CHECK_TEXT(e.text, "");
    if (!device) return test_end();
    check_use_device(device);
    check_same_fusion();
    check_every_plugin();
    backend wrong = *device;
    wrong.kernels[OP_NORM] = slightly;
    check_use_device(&wrong);
    const plugin *p = plugin_find(AB_POSITION, "learned", &e);
    CHECK_TEXT(e.text, "");
    if (p) check_rows(p, CHECK_FAIL, "learned, training: operation NORM gives");
    check_use_device(NULL);
    m->close();
    return test_end();
}
