/* precision.c - chooses the type of a run's matrix products on this machine. */
#include "tensor/device/device.h"
#include "network/settings/config.h"
#include "network/train/checkpoint.h"

dtype device_compute(int64_t precision, const backend *on)
{
    return precision == PRECISION_BF16 || (precision != PRECISION_FP32 && device_has_bf16(on)) ? BF16 : F32;
}

int device_model_compute(const char *path, const backend *on, dtype *out, err *e)
{
    checkpoint_meta meta = {0};
    arena a = {0};
    settings set = {0};
    config cfg;
    int bad = checkpoint_read_meta(path, &meta, e);
    if (!bad && !meta_text(&meta, "config"))
        bad = fail(e, "%s: contains no settings, so it is not a checkpoint of ablate", path);
    if (!bad)
        bad = config_from_json(meta_text(&meta, "config"), &set, &a, e) || config_from_settings(&set, &cfg, &a, e);
    if (!bad) *out = device_compute(cfg.precision, on);
    meta_free(&meta);
    arena_free(&a);
    return bad ? -1 : 0;
}
