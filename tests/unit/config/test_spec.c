/* test_spec.c - every tests/unit/config/NAME.ini against NAME.expected (README.md there). */
#include "config/read_case.h"

int main(void)
{
    CHECK(check_folder(FOLDER, "", &case_plugins) > 10);
    return test_end();
}
