/* Weights as a page and as figures: the shapes drawn for known weights. */
#include "lab/report/attention_view.h"
#include "test.h"

static const char *const tokens[] = {"the", "law", "</script>"};
/* Two heads: the first looks at itself, the second at the token before (the first token at itself). */
static const float weights[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0.25f, 0.75f};
static const attention_map map = {"encoder self-attention", 5, 2, 3, 3, tokens, tokens, weights, NULL};

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++) n++;
    return n;
}

static void check_figure(attention_figure f, size_t lines, size_t squares)
{
    str svg = {0}, pdf = {0};
    err e = {0};
    drawing *d = attention_draw(&map, &f);
    drawing_svg(d, SVG_ALONE, &svg);
    CHECK_INT(count(svg.s, "<path"), lines);
    CHECK_INT(count(svg.s, "<rect") - 1, squares); /* the first is the paper */
    CHECK_INT(drawing_pdf(d, &pdf, &e), 0);
    drawing_free(d);
    str_free(&svg), str_free(&pdf);
}

int main(void)
{
    check_figure((attention_figure){.figure = 3, .token = 2}, 3, 3); /* one in head 1, two in head 2 */
    /* head 1 in full: 3; the token: 1 + 1 */
    check_figure((attention_figure){.figure = 4, .token = 1, .next = 1}, 5, 2);
    check_figure((attention_figure){.figure = 5, .next = 1}, 7, 0);
    str page = {0};
    attention_page(&map, 1, "run <1>", "the law", "das Gesetz", &page);
    CHECK_HAS(
        page.s,
        "\"part\":\"encoder self-attention\",\"layer\":5,\"heads\":2,\"q\":[\"the\",\"law\",\"\\u003c/script>\"]");
    CHECK_HAS(page.s, "\"w\":\"__AAAA"); /* 1 is 4095, 0 is 0 */
    CHECK_HAS(page.s, "AAQAv_\"}");      /* a quarter, three quarters */
    CHECK_HAS(page.s, "run &lt;1&gt;");
    CHECK_INT(count(page.s, "</script>"), 2);
    str_free(&page);
    return test_end();
}
