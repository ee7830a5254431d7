/* known.h - plugins outside the program's own folder are checked before they first train; what came of it is kept by their sha256. */
#ifndef ABLATE_CHECK_KNOWN_H
#define ABLATE_CHECK_KNOWN_H
#include "plugin/plugin.h"

/* Has this plugin been checked (FOLDER/checked.tsv)? words: of the first check that failed; empty: all passed. */
bool check_known(const char *folder, const char *hash, str *words);
/* Checks it, unless that was done or it is one of the program's own. */
void check_once(const plugin *p, const char *folder, bool talk);
#endif
