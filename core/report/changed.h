/* changed.h - runs whose plugins have changed since. Plugins are hashed where the run found them, never opened; one that is
 * no longer there says nothing. */
#ifndef ABLATE_REPORT_CHANGED_H
#define ABLATE_REPORT_CHANGED_H
#include "base/base.h"

typedef struct changed changed; /* remembers what it has hashed */
changed *changed_new(void);
void changed_free(changed *c);
/* plugins_json: as the run's attempt has it; NULL: unknown, which is no change. */
bool changed_since(changed *c, const char *plugins_json);
#endif
