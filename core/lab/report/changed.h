/* changed.h - detects runs whose plugins have changed since. Hashes plugin files where the run found them, without
 * opening them; a missing file counts as unchanged. */
#ifndef ABLATE_REPORT_CHANGED_H
#define ABLATE_REPORT_CHANGED_H
#include "base/base.h"

typedef struct changed changed; /* caches hashes */
changed *changed_new(void);
void changed_free(changed *c);
/* plugins_json: as stored with the run's attempt; NULL: unknown, counts as unchanged. */
bool changed_since(changed *c, const char *plugins_json);
#endif
