/* choice.h - the variance that the choice of a searched setting adds to a row's mean.
 *
 * A search compares candidates by one run each. With another seed it may choose another candidate, and the row's mean
 * would be that candidate's. More seeds of the chosen candidate cannot show this variance: if it is left out, two rows
 * that were tuned over the same candidates differ at 5 % in up to 22 % of cases with ten seeds
 * (tests/unit/statistics/test_choice.c). */
#ifndef ABLATE_STATISTICS_CHOICE_H
#define ABLATE_STATISTICS_CHOICE_H
#include <stddef.h>

/* behind: [n] how far each candidate's run was behind the chosen one's (INFINITY: it failed), in any unit; sd: standard
 * deviation of a run over seeds, in that unit. p_k is the probability that candidate k is chosen: that behind_k + sd *
 * (a standard normal number) is the least of all. Returns the variance of behind_k over p; 0 for one candidate. */
double choice_variance(const double *behind, size_t n, double sd);
#endif
