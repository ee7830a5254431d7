/* changed.h - detects runs whose plugins have changed since. Hashes plugin files where the run, or the last `ablate
 * run`, found them, without running them; a missing file counts as unchanged. */
#ifndef ABLATE_REPORT_CHANGED_H
#define ABLATE_REPORT_CHANGED_H
#include "base/base.h"

typedef struct changed changed; /* caches hashes */
changed *changed_new(void);
void changed_free(changed *c);
/* plugins_json: as stored with the run's attempt; NULL: unknown, counts as unchanged. loaded: the same by the last
 * `ablate run`, whose files count in place of the attempt's; or NULL. */
bool changed_since(changed *c, const char *plugins_json, const char *loaded);
#endif
