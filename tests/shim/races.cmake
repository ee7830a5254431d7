# The kernels once more for the race detector (tests/shim/races.cc), which defines what -fsanitize=thread calls, and the
# tests of tests/shim with them: races_test_* (target race_tests), in the long suite, with the cases of the short one
# and three orders of some. All cases and twenty orders are for releases (tests/reliability.sh races). The short suite
# has those of two of the .cu files alone, and the planted races. Included by shim.cmake.
if(ABLATE_SANITIZE)
  return()
endif()
set(races_short select step) # tests, of select.cu and attend_step.cu
set(short_kernels ${shim_kernels})
list(FILTER short_kernels INCLUDE REGEX "/(select|attend_step)\\.cu$")
set(long_kernels ${shim_kernels})
list(REMOVE_ITEM long_kernels ${short_kernels})

set(race_sources tests/shim/races.cc tests/shim/races_report.cc)
# structs of 16 bytes are accessed as a whole, as on a GPU; inlined functions show their callers' lines
set(race_flags -fsanitize=thread -O1 -g1 -DGPU_INLINE $<$<CXX_COMPILER_ID:GNU>:-fno-tree-sra>)
foreach(name short long)
  add_library(ab_race_${name}_objects OBJECT EXCLUDE_FROM_ALL ${${name}_kernels})
  target_compile_definitions(ab_race_${name}_objects PRIVATE GPU_ON_CPU)
  target_compile_options(ab_race_${name}_objects PRIVATE ${race_flags})
  target_include_directories(ab_race_${name}_objects PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
endforeach()
set(plain $<TARGET_OBJECTS:ab_shim_objects>)
add_library(ab_race_detector OBJECT EXCLUDE_FROM_ALL ${race_sources})
target_compile_definitions(ab_race_detector PRIVATE GPU_ON_CPU)
target_include_directories(ab_race_detector PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
add_library(ab_races_short STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:ab_race_detector>
  $<TARGET_OBJECTS:ab_race_short_objects>
  "$<FILTER:${plain},EXCLUDE,/(select|attend_step)[.]cu[.]o$>")
add_library(ab_races_long STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:ab_race_detector>
  $<TARGET_OBJECTS:ab_race_short_objects>
  $<TARGET_OBJECTS:ab_race_long_objects> "$<FILTER:${plain},EXCLUDE,[.]cu[.]o$>")
foreach(name short long)
  target_compile_definitions(ab_races_${name} PRIVATE GPU_ON_CPU)
  target_include_directories(ab_races_${name} PUBLIC ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
  target_link_libraries(ab_races_${name} PUBLIC ab_graph ab_comm)
endforeach()

add_custom_target(race_tests)
add_dependencies(all_tests race_tests)
foreach(source ${shim_tests})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^test_" "" subject ${name})
  # one counts, one has races on purpose, and three are about libraries
  if(subject MATCHES "^(launches|streams|lt|choice|dnn_attend)$")
    continue()
  endif()
  set(suite long)
  set(label long)
  if(subject IN_LIST races_short)
    set(suite short)
    set(label unit)
    add_dependencies(unit_tests races_${name})
  endif()
  add_executable(races_${name} EXCLUDE_FROM_ALL ${source})
  target_compile_definitions(races_${name} PRIVATE GPU_ON_CPU SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    BUILD_DIR="${CMAKE_BINARY_DIR}" BY_CXX_FLAGS="-fsanitize=thread -g1")
  target_include_directories(races_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit ${CMAKE_SOURCE_DIR}/tests/shim)
  target_link_libraries(races_${name} PRIVATE ab_races_${suite} ab_check ab_decode ab_train stdc++)
  set_target_properties(races_${name} PROPERTIES ENABLE_EXPORTS ON) # for stand-ins and generated kernels
  if(stand_ins)
    add_dependencies(races_${name} ${stand_ins})
  endif()
  add_dependencies(race_tests races_${name})
  if(subject STREQUAL "training") # minutes over kernels that the others run: `tests/reliability.sh races`
    continue()
  endif()
  add_test(NAME races/${name} COMMAND races_${name})
  set_tests_properties(races/${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT 1800 ENVIRONMENT
    "${test_environment};ABLATE_SCHEDULE=1;ABLATE_TEST_LONG=")
endforeach()
add_test(NAME races/seeds COMMAND bash ${CMAKE_SOURCE_DIR}/tests/shim/race_seeds.sh drawn
  $<TARGET_FILE:races_test_select> $<TARGET_FILE:races_test_step> $<TARGET_FILE:races_test_shape>
  $<TARGET_FILE:races_test_rows> $<TARGET_FILE:races_test_generic>)
set_tests_properties(races/seeds PROPERTIES LABELS long TIMEOUT 1800)

add_executable(races_planted tests/shim/planted_races.cu $<TARGET_OBJECTS:ab_race_detector> ${emulation})
set_source_files_properties(tests/shim/planted_races.cu PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++;${race_flags}")
target_compile_definitions(races_planted PRIVATE GPU_ON_CPU)
target_include_directories(races_planted PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
add_dependencies(unit_tests races_planted)
add_test(NAME races/planted COMMAND bash ${CMAKE_SOURCE_DIR}/tests/shim/planted_races.sh
  $<TARGET_FILE:races_planted>)
set_tests_properties(races/planted PROPERTIES LABELS unit)
include(${CMAKE_SOURCE_DIR}/tests/shim/cost.cmake)
