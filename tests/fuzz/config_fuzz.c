/* config_fuzz.c - fuzzes the settings stored with a run: bytes are read, or refused with a message. Settings that were
 * read are written as JSON that reads back to the same hash. */
#include "network/settings/config.h"
#include "file.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *json = xstrndup((const char *)data, n), was[65], is[65];
    arena a = {0};
    settings s = {0}, back = {0};
    str text = {0};
    err e = {0}, none = {0};
    config c;
    if (config_from_json(json, &s, &a, &e)) {
        must(e.text[0], "refused without a word");
    } else {
        config_hash(&s, was);
        config_to_json(&s, NULL, NULL, &text);
        if (!strstr(str_text(&text), "\xef\xbf\xbd")) { /* U+FFFD, which replaces bytes that are not UTF-8 */
            must(!config_from_json(str_text(&text), &back, &a, &none), none.text);
            config_hash(&back, is);
            must(same(was, is), "settings come back with another hash");
        }
        if (config_from_settings(&s, &c, &a, &e)) must(e.text[0], "refused without a word");
    }
    str_free(&text);
    arena_free(&a);
    free(json);
    return 0;
}
