/* check.h - the conformance check: does a plugin keep what its interface promises?
 *
 * Every check builds something small around the plugin (whole models in double precision, a single attention,
 * a vector of parameters, the task's own examples) and measures. A check that presupposes another one that
 * failed is not made: one mistake gives one failure.
 */
#ifndef ABLATE_CHECK_H
#define ABLATE_CHECK_H
#include "graph/tape.h"
#include "plugin/plugin.h"

typedef enum {
    CHECK_OK,
    CHECK_FAIL,
    CHECK_NONE
} check_outcome; /* CHECK_NONE: does not apply, words say why */
typedef struct {
    const char *name; /* of the check */
    check_outcome outcome;
    double measured, bound; /* the largest figure seen and what is allowed; measured < 0: no figure */
    char words[2048];       /* what is wrong and where to look; or what was looked at */
} check_result;

enum { CHECK_MOST = 24 };
/* All checks of p's kind, in order; returns how many. */
size_t check_plugin(const plugin *p, check_result out[CHECK_MOST]);
/* The same in a child process, so that a plugin that crashes, loops or exits fails in words. */
size_t check_in_child(const plugin *p, check_result out[CHECK_MOST]);
/* "PLUGIN.KEY=VALUE": checks are made with it from here on. */
int check_set(const char *text, err *e);
void check_print(const char *title, const check_result *r, size_t n, FILE *f);

/* Attention is checked with every position it accepts. From here on with the first n of them alone; returns the number before. */
size_t check_pairings_at_most(size_t n);

/* A device to compare with the CPU, from here on; NULL: none. */
void check_use_device(const backend *b);

/* Checks plugins named KIND/NAME, NAME or by file and prints what was found; none named: every plugin at hand. The exit code: 0 all ok;
 * 1 some failed; 2 there is no such plugin. */
int check_plugins(const char *const *names, size_t n);
void check_print_json(bool json); /* print an array of JSON instead of lines */
#endif
