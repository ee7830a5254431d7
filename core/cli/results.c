#include "cli/results.h"
#include <math.h>
#include <time.h>

const char *local_time(double seconds, char out[32])
{
    time_t when = (time_t)seconds;
    struct tm local;
    *out = 0;
    if (isfinite(seconds) && seconds > 0 && localtime_r(&when, &local)) strftime(out, 32, "%Y-%m-%d %H:%M", &local);
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
    time_t when = (time_t)seconds;
    struct tm utc;
    bool known = isfinite(seconds) && seconds > 0 && gmtime_r(&when, &utc);
    if (known) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_key_text(out, key, known ? text : NULL);
}

void json_line(str *out) { str_add(out, out->n ? ",\n" : "[\n"); }

void json_print_lines(str *out)
{
    printf("%s\n]\n", out->n ? str_text(out) : "[");
    str_free(out);
}
