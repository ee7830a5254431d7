/* json.h - opens lists and objects of JSON; base.h has its values and keys. */
#ifndef ABLATE_JSON_H
#define ABLATE_JSON_H
#include "base/base.h"

/* Opens a list or object as a key's value, or, without a key, as a list's next item or the document. */
void json_open(str *b, const char *key, char bracket);
#endif
