/* check.h - the conformance check: does a plugin keep the promises of its interface?
 *
 * Every check runs the plugin in a small setting (a whole model in double precision, one attention call, a vector of
 * parameters, the task's own examples) and measures the result. A check that depends on a failed check is skipped, so
 * that one mistake causes one failure only.
 */
#ifndef ABLATE_CHECK_H
#define ABLATE_CHECK_H
#include "tensor/graph/tape.h"
#include "network/plugin/plugin.h"

typedef enum { CHECK_OK, CHECK_FAIL, CHECK_NONE } check_outcome; /* CHECK_NONE: does not apply; `message` says why */
typedef struct {
    const char *name; /* the check's name */
    check_outcome outcome;
    double measured, bound; /* measured: the largest figure, < 0: no figure; bound: its limit */
    char message[2048];     /* the fault and where to look for it, or a description of what was checked */
    bool late;              /* the check ran out of time; it may pass on an idle machine */
} check_result;

enum { CHECK_MOST = 32 };
/* Runs the checks of p's kind, in order, and returns their number. only: runs the checks whose names begin with this
 * text, without the checks that these depend on; NULL: runs all. */
size_t check_plugin(const plugin *p, const char *only, check_result out[CHECK_MOST]);

typedef enum { CHECK_DONE, CHECK_REFUSED, CHECK_USAGE } check_state;
typedef struct {
    check_state state; /* REFUSED: the file exists, but cannot be used as a plugin; USAGE: wrong arguments */
    ab_kind kind;
    size_t n;
    check_result r[CHECK_MOST];
    char name[256], path[4096], message[2048]; /* message: the reason if state is not CHECK_DONE */
} check_report;
typedef struct {        /* how a plugin is checked */
    const char *device; /* device to compare with the CPU; NULL: no comparison */
    bool no_sandbox;
} check_room;
/* Opens and checks a plugin (name as for check_plugins) in a child process in a sandbox with limits (child.c). A plugin
 * that crashes, hangs, exits or forges its results fails. */
void check_in_sandbox(const char *name, const check_room *room, check_report *out);
/* Runs work in a child as check_in_sandbox does and returns its code; -1 and e if the child crashed, hung or exited. */
int check_shut_in(int (*work)(void *self), void *self, const check_room *room, err *e);
/* Sets a parameter for all later checks. text: "PLUGIN.KEY=VALUE". */
int check_set(const char *text, err *e);
void check_print(const char *title, const check_result *r, size_t n, FILE *f);

/* Sets the device that later checks compare with the CPU; NULL: no comparison. */
void check_use_device(const backend *b);

/* Checks plugins given as KIND/NAME, NAME or file and prints the results; n = 0: every loaded plugin. Returns the exit
 * code: 0: all ok; 1: some failed; 2: no such plugin. json: prints an array of JSON instead of lines. */
int check_plugins(const char *const *names, size_t n, const check_room *room, bool json);
#endif
