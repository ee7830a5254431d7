/* `ablate check --device`: operations and plugins on the CUDA backend agree with the CPU, and an operation that is a little wrong is found,
 * by name. */
#include "check/check.h"
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

/* The rows device_ops and device: both `expected`, or the second not made where the first fails. */
static void check_rows(ab_kind kind, const char *name, int expected, const char *words)
{
    check_result r[CHECK_MOST];
    err e = {0};
    const plugin *p = plugin_find(kind, name, &e);
    CHECK_TEXT(e.text, "");
    size_t n = p ? check_plugin(p, r) : 0, seen = 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(r[i].name, "device", 6)) continue;
        printf("%s %s: %.2g of %.2g, %s\n", name, r[i].name, r[i].measured, r[i].bound, r[i].words);
        CHECK_INT(r[i].outcome, seen && expected == CHECK_FAIL ? CHECK_NONE : expected);
        if (!seen++) CHECK_HAS(r[i].words, words);
    }
    CHECK_INT(seen, 2);
}

int main(void)
{
    const cuda_module *m;
    err e = {0};
    device = open_device(&m, &e);
    CHECK_TEXT(e.text, "");
    if (!device) return test_end();
    check_use_device(device);
    check_rows(AB_POSITION, "sinusoid", CHECK_OK, "calls of");
    check_rows(AB_POSITION, "shaw", CHECK_OK, "calls of");
#ifndef __SANITIZE_ADDRESS__
    check_rows(AB_POSITION, "rotary", CHECK_OK, "calls of");
    check_rows(AB_ATTENTION, "recurrent", CHECK_OK, "calls of");
    check_rows(AB_FEED_FORWARD, "moe", CHECK_OK, "calls of");
#endif
    backend wrong = *device;
    wrong.kernels[OP_NORM] = slightly;
    check_use_device(&wrong);
    check_rows(AB_POSITION, "learned", CHECK_FAIL, "learned, training: operation NORM gives");
    check_use_device(NULL);
    m->close();
    return test_end();
}
