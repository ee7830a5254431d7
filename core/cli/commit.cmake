# commit.cmake - writes TO, a header with the commit that is built: git's, or that of core/cli/commit.txt, which `git
# archive` fills in. It is written again only when the commit has changed. SOURCE: the checkout.
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed OR NOT top STREQUAL SOURCE)
  file(STRINGS ${SOURCE}/core/cli/commit.txt commit LIMIT_COUNT 1)
  if(NOT commit MATCHES "^[0-9a-f]+$")
    set(commit "")
  endif()
endif()
set(text "#define ABLATE_COMMIT \"${commit}\"\n")
if(EXISTS ${TO})
  file(READ ${TO} old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE ${TO} "${text}")
endif()
