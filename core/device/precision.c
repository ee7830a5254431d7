/* precision.c - which numbers the matrix products of a run use on this machine. */
#include "device/device.h"
#include "config/config.h"
#include "train/checkpoint.h"

int device_compute(int64_t precision, const backend *on, dtype *out, err *e)
{
    *out = precision == PRECISION_FP32 || !device_has_bf16(on) ? F32 : BF16;
    if (precision == PRECISION_BF16 && *out != BF16)
        return fail(e, "precision = bf16, but this processor has no bf16 products; use auto or fp32");
    return 0;
}

int device_model_compute(const char *path, const backend *on, dtype *out, err *e)
{
    checkpoint_meta meta = {0};
    arena a = {0};
    settings set = {0};
    config cfg;
    err missing = {0};
    int bad = checkpoint_read_meta(path, &meta, e);
    if (!bad && !meta_text(&meta, "config"))
        bad = fail(e, "%s: has no settings inside: not a checkpoint of ablate", path);
    if (!bad)
        bad = config_from_json(meta_text(&meta, "config"), &set, &a, e) ||
              config_from_settings(&set, &cfg, &a, e);
    if (!bad && device_compute(cfg.precision, on, out, &missing))
        log_line(LOG_WARN, "%s was trained with bf16 products, which this processor has not: fp32 it is", path);
    meta_free(&meta);
    arena_free(&a);
    return bad ? -1 : 0;
}
