/* tensorboard.c - writes event files: TFRecords (length, its checksum, data, its checksum) of tensorflow.Event
 * messages. Field numbers come from TensorBoard's event.proto, summary.proto and the HParams plugin's
 * plugin_data.proto. */
#include "lab/export/protobuf.h"
#include "lab/export/run_files.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

uint32_t tfrecord_crc(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t c = 0xFFFFFFFF;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0x82F63B78 : 0);
    }
    c = ~c;
    return (c >> 15 | c << 17) + 0xA282EAD8;
}

static void record(str *out, str *event)
{
    size_t at = out->n;
    little_endian(out, event->n, 8);
    little_endian(out, tfrecord_crc(out->s + at, 8), 4);
    str_addn(out, str_text(event), event->n);
    little_endian(out, tfrecord_crc(str_text(event), event->n), 4);
    str_free(event);
}

/* Field numbers. Event: wall_time 1, step 2, file_version 3, summary 5. Summary: value 1. Value: tag 1, simple_value 2,
 * tensor 8, metadata 9. */
static void scalar(str *out, double wall_time, int64_t step, const char *tag, double v)
{
    str value = {0}, summary = {0}, event = {0};
    pb_text(&value, 1, tag);
    pb_float(&value, 2, (float)v);
    pb_message(&summary, 1, &value);
    if (isfinite(wall_time)) pb_double(&event, 1, wall_time);
    pb_int(&event, 2, step);
    pb_message(&event, 5, &summary);
    record(out, &event);
}

/* Appends HParamsPluginData as a summary without data: its content is in the plugin's metadata. */
static void hparams(str *out, double wall_time, const char *tag, int field, str *info)
{
    str data = {0}, plugin = {0}, metadata = {0}, value = {0}, summary = {0}, event = {0}, size = {0}, shape = {0},
        tensor = {0};
    pb_int(&data, 1, 0); /* version */
    pb_message(&data, field, info);
    pb_text(&plugin, 1, "hparams");
    pb_message(&plugin, 2, &data);
    pb_message(&metadata, 1, &plugin);
    pb_int(&size, 1, 1);
    pb_message(&shape, 2, &size);
    pb_int(&tensor, 1, 1); /* DT_FLOAT */
    pb_message(&tensor, 2, &shape);
    pb_float(&tensor, 5, 0);
    pb_text(&value, 1, tag);
    pb_message(&value, 8, &tensor);
    pb_message(&value, 9, &metadata);
    pb_message(&summary, 1, &value);
    if (isfinite(wall_time)) pb_double(&event, 1, wall_time);
    pb_message(&event, 5, &summary);
    record(out, &event);
}

/* Field numbers. SessionStartInfo: hparams 1, a map of google.protobuf.Value (number_value 2, string_value 3,
 * bool_value 4); group_name 4; start_time_secs 5. */
static void settings(const run_record *r, str *out)
{
    str info = {0};
    for (size_t i = 0; i < r->n_settings; i++) {
        cJSON *v = cJSON_Parse(r->settings[i].value);
        str value = {0}, entry = {0};
        if (cJSON_IsNumber(v))
            pb_double(&value, 2, v->valuedouble);
        else if (cJSON_IsBool(v))
            pb_int(&value, 4, cJSON_IsTrue(v));
        else
            pb_text(&value, 3, cJSON_IsString(v) ? v->valuestring : r->settings[i].value);
        pb_text(&entry, 1, r->settings[i].key);
        pb_message(&entry, 2, &value);
        pb_message(&info, 1, &entry);
        cJSON_Delete(v);
    }
    pb_text(&info, 4, r->row);
    if (isfinite(r->run->started_at)) pb_double(&info, 5, r->run->started_at);
    hparams(out, r->run->started_at, "_hparams_/session_start_info", 3, &info);
}

void tensorboard_events(const run_record *r, str *out)
{
    enum { SUCCESS = 1, FAILURE = 2, RUNNING = 3 };
    str event = {0}, info = {0};
    double at = r->run->started_at;
    if (isfinite(at)) pb_double(&event, 1, at);
    pb_text(&event, 3, "brain.Event:2");
    record(out, &event);
    settings(r, out);
    for (size_t i = 0; i < r->n_curves; i++)
        for (size_t k = 0; k < r->curves[i].n; k++) {
            const read_point *p = &r->curves[i].points[k];
            scalar(out, isfinite(p->t) ? p->t : at, p->step, r->curves[i].metric, p->value);
        }
    for (size_t i = 0; i < r->run->n_results; i++) {
        char *tag = xprintf("result/%s", r->run->results[i].metric);
        scalar(out, isfinite(r->run->ended_at) ? r->run->ended_at : at,
               r->run->results[i].step > 0 ? r->run->results[i].step : 0, tag, r->run->results[i].value);
        free(tag);
    }
    pb_int(&info, 1, r->run->status == DB_DONE ? SUCCESS : r->run->status == DB_FAILED ? FAILURE : RUNNING);
    if (isfinite(r->run->ended_at)) pb_double(&info, 2, r->run->ended_at);
    hparams(out, r->run->ended_at, "_hparams_/session_end_info", 4, &info);
}
