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

void print_local_time(grid *t, size_t column, double seconds)
{
    char text[32];
    grid_set(t, column, "%s", local_time(seconds, text));
}

void json_key_time(str *out, const char *key, double seconds)
{
    char text[32];
    iso_time(seconds, text);
    json_key_text(out, key, *text ? text : NULL);
}
