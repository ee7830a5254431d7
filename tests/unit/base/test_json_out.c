/* test_json_out.c - writes strings and numbers as JSON (RFC 8259). */
#include "base/base.h"
#include "test.h"

static void strings(void)
{
    static const struct {
        const char *text, *json;
    } cases[] = {{"", "\"\""},
                 {"heads", "\"heads\""},
                 {"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
                 {"\n\r\t\b\f\x01\x1f\x7f", "\"\\n\\r\\t\\b\\f\\u0001\\u001f\x7f\""},
                 {"M\xc3\xa4nner \xe2\x86\x92 \xf0\x9f\x98\x80", "\"M\xc3\xa4nner \xe2\x86\x92 \xf0\x9f\x98\x80\""},
                 {"\xff", "\"\xef\xbf\xbd\""},                                 /* invalid UTF-8 */
                 {"\xc3", "\"\xef\xbf\xbd\""},                                 /* cut short */
                 {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
                 {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
                 {"\xe2\x86q", "\"\xef\xbf\xbd\xef\xbf\xbdq\""},
                 /* a code point above U+10FFFF */
                 {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
                 {NULL, "null"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        str b = {0};
        json_string(&b, cases[i].text);
        CHECK_TEXT(str_text(&b), cases[i].json);
        str_free(&b);
    }
}

static void numbers(void)
{
    str b = {0};
    json_number(&b, 0.1);
    str_addc(&b, ' ');
    json_number(&b, -100000);
    str_addc(&b, ' ');
    json_number(&b, NAN);
    str_addc(&b, ' ');
    json_number(&b, INFINITY);
    CHECK_TEXT(str_text(&b), "0.1 -100000 null null");
    str_free(&b);
}

int main(void)
{
    strings();
    numbers();
    return test_end();
}
