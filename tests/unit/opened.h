/* opened.h - opens the plugin files that a test's settings name, since settings alone open no file. */
#ifndef ABLATE_TEST_OPENED_H
#define ABLATE_TEST_OPENED_H
#include "network/plugin/plugin.h"
#include "test.h"

static inline void open_file(const char *path)
{
    err e = {0};
    CHECK(plugin_load(path, &e));
    CHECK_TEXT(e.text, "");
}
#endif
