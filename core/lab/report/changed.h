/* changed.h - detects runs whose plugins have changed since training. Hashes the plugin files of the run or of the last
 * `ablate run`, without running them; a missing file counts as unchanged. */
#ifndef ABLATE_REPORT_CHANGED_H
#define ABLATE_REPORT_CHANGED_H
#include "base/base.h"

typedef struct changed changed; /* caches hashes */
changed *changed_new(void);
void changed_free(changed *c);
/* plugins_json: as stored with the run's attempt; NULL: unknown, counts as unchanged. loaded: the plugins of the last
 * `ablate run`, whose files replace the attempt's; or NULL. */
bool changed_since(changed *c, const char *plugins_json, const char *loaded);
#endif
