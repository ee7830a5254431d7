/* check.h - the conformance check: does a plugin keep the promises of its interface?
 *
 * Every check builds something small around the plugin (whole models in double precision, a single attention,
 * a vector of parameters, the task's own examples) and measures it. A check that depends on a failed check is
 * skipped, so that one mistake gives one failure.
 */
#ifndef ABLATE_CHECK_H
#define ABLATE_CHECK_H
#include "tensor/graph/tape.h"
#include "network/plugin/plugin.h"

typedef enum { CHECK_OK, CHECK_FAIL, CHECK_NONE } check_outcome; /* CHECK_NONE: does not apply, `words` says why */
typedef struct {
    const char *name; /* the check's name */
    check_outcome outcome;
    double measured, bound; /* the largest figure measured and its limit; measured < 0: no figure */
    char message[2048];     /* the fault and where to look; or a description of what was checked */
} check_result;

enum { CHECK_MOST = 32 };
/* All checks of p's kind, in order; returns how many. */
size_t check_plugin(const plugin *p, check_result out[CHECK_MOST]);
/* check_plugin in a child process, so that a plugin that crashes, hangs or exits is reported as a failure. */
size_t check_in_child(const plugin *p, check_result out[CHECK_MOST]);
/* "PLUGIN.KEY=VALUE": a setting for all later checks. */
int check_set(const char *text, err *e);
void check_print(const char *title, const check_result *r, size_t n, FILE *f);

/* Attention is checked with every position it accepts. Limits this to the first n from now on; returns the previous
 * limit. */
size_t check_pairings_at_most(size_t n);
/* From now on runs only checks whose names begin with `prefix`, without the checks they depend on; NULL: all. */
void check_only(const char *prefix);
/* Limits the tokens of sentences in the check "sizes"; returns the previous limit. */
int32_t check_tokens_at_most(int32_t n);

/* Sets the device that later checks compare with the CPU; NULL: none. */
void check_use_device(const backend *b);

/* Checks plugins given as KIND/NAME, NAME or file and prints the results; n = 0: every loaded plugin. Returns the exit
 * code: 0 all ok; 1 some failed; 2 no such plugin. */
int check_plugins(const char *const *names, size_t n);
/* Checks run in a sandbox (base/sandbox.h) that may write nowhere, where the kernel has it, except with a device. */
void check_without_sandbox(void);
void check_print_json(bool json); /* print an array of JSON instead of lines */
#endif
