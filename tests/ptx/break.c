/* break.c - plants one mistake in a program as it is read: removes a barrier or fence, or shifts a bound by one.
 * PTX_BREAK=KIND:FILE:LINE:COLUMN names its place in the source; PTX_PLACES=FILE appends a line to FILE for each
 * possible place that is read (mutants.sh). */
#include "ptx.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a comparison and its replacement: a < b becomes a <= b */
static const char *const shifted[][2] = {{"lt", "le"}, {"le", "lt"}, {"gt", "ge"}, {"ge", "gt"}};

static const char *kind_of(const instruction *i, char other[32])
{
    if (i->kind == BARRIER) return "barrier";
    if (i->kind == WARP_BARRIER) return "warp";
    if (i->kind == FENCE) return "fence";
    if (i->kind != COMPUTE || strncmp(i->text, "setp.", 5)) return NULL;
    for (int k = 0; k < 4; k++)
        if (!strncmp(i->text + 5, shifted[k][0], 2) && i->text[7] == '.' && strchr("su", i->text[8])) {
            snprintf(other, 32, "setp.%s%.4s", shifted[k][1], i->text + 7);
            return "bound";
        }
    return NULL;
}
void break_instruction(instruction *i)
{
    static FILE *list;
    const char *wanted = getenv("PTX_BREAK"), *places = getenv("PTX_PLACES");
    char other[32] = "", at[256];
    const char *kind = wanted || places ? kind_of(i, other) : NULL;
    if (!kind || !i->file) return;
    snprintf(at, sizeof at, "%s:%s:%d:%d", kind, i->file, i->line, i->column);
    if (places && !list) list = fopen(places, "a");
    if (list) fprintf(list, "%s\n", at), fflush(list);
    if (!wanted || strcmp(wanted, at)) return;
    if (*other)
        i->compute = numbers_function(other);
    else
        i->kind = NOTHING;
}
