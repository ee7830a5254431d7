#include "cli/results.h"
#include <math.h>
#include <string.h>
#include <time.h>

const char *local_time(double seconds, char out[32])
{
    time_t when = (time_t)seconds;
    struct tm local;
    *out = 0;
    if (isfinite(seconds) && seconds > 0 && localtime_r(&when, &local)) strftime(out, 32, "%Y-%m-%d %H:%M", &local);
    return out;
}

const char *iso_time(double seconds, char out[32])
{
    time_t when = (time_t)seconds;
    struct tm utc;
    *out = 0;
    if (isfinite(seconds) && seconds > 0 && gmtime_r(&when, &utc)) strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return out;
}

void put_local_time(grid *t, size_t column, double seconds)
{
    char text[32];
    grid_put(t, column, "%s", local_time(seconds, text));
}

void print_grid(const grid *t)
{
    str out = {0};
    grid_print(t, TABLE_TEXT, &out);
    fputs(str_text(&out), stdout);
    str_free(&out);
}

void json_key(str *out, const char *key)
{
    if (out->n && !strchr("{[:", out->s[out->n - 1])) str_addc(out, ',');
    json_string(out, key);
    str_addc(out, ':');
}

void json_key_text(str *out, const char *key, const char *value)
{
    json_key(out, key);
    if (value)
        json_string(out, value);
    else
        str_add(out, "null");
}

void json_key_real(str *out, const char *key, double value)
{
    json_key(out, key);
    json_number(out, value);
}

void json_key_whole(str *out, const char *key, int64_t value)
{
    json_key(out, key);
    str_addf(out, "%lld", (long long)value);
}

void json_key_bool(str *out, const char *key, bool value)
{
    json_key(out, key);
    str_add(out, value ? "true" : "false");
}

void json_key_time(str *out, const char *key, double seconds)
{
    char text[32];
    iso_time(seconds, text);
    json_key_text(out, key, *text ? text : NULL);
}
