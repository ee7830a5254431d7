# The model of cost (tests/shim/cost.cc): kernels with the race detector's hooks, called by model_calls with shapes of
# real models; tests/cuda/model.sh holds what it counts against tests/cuda/model_budget.tsv. The short suite has the
# kernels of two .cu files alone (model_calls_short). Included by races.cmake, whose objects these are. Compilers other
# than GCC split accesses of 16 bytes.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()
add_library(cost_objects OBJECT EXCLUDE_FROM_ALL tests/shim/cost.cc tests/shim/cost_report.cc)
target_compile_definitions(cost_objects PRIVATE GPU_ON_CPU)
target_include_directories(cost_objects PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
set(cost_sources tests/shim/cost_attention.c tests/shim/cost_generic.c tests/shim/cost_rows.c
  $<TARGET_OBJECTS:cost_objects>)
add_executable(model_calls EXCLUDE_FROM_ALL ${cost_sources} $<TARGET_OBJECTS:ab_race_short_objects>
  $<TARGET_OBJECTS:ab_race_long_objects> "$<FILTER:${plain},EXCLUDE,[.]cu[.]o$>")
add_executable(model_calls_short EXCLUDE_FROM_ALL ${cost_sources} $<TARGET_OBJECTS:ab_race_short_objects>
  "$<FILTER:${plain},EXCLUDE,/(select|attend_step)[.]cu[.]o$>")
foreach(name model_calls model_calls_short)
  target_compile_definitions(${name} PRIVATE GPU_ON_CPU)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/unit
    ${CMAKE_SOURCE_DIR}/tests/shim)
  target_link_libraries(${name} PRIVATE ab_graph ab_comm ab_cpu dl)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
endforeach()
add_dependencies(unit_tests model_calls_short)
add_dependencies(all_tests model_calls)
set(model_sh bash ${CMAKE_SOURCE_DIR}/tests/cuda/model.sh)
add_test(NAME cuda/model_short COMMAND ${model_sh} --check $<TARGET_FILE:model_calls_short> choices steps)
set_tests_properties(cuda/model_short PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
add_test(NAME cuda/model COMMAND ${model_sh} --check $<TARGET_FILE:model_calls>)
add_test(NAME cuda/model_registers COMMAND ${model_sh} --compare ${CMAKE_BINARY_DIR}/cuda)
set_tests_properties(cuda/model cuda/model_registers PROPERTIES LABELS long SKIP_RETURN_CODE 77)
add_executable(model_planted tests/shim/planted_cost.cu $<TARGET_OBJECTS:cost_objects> ${emulation})
set_source_files_properties(tests/shim/planted_cost.cu PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++;${race_flags}")
target_compile_definitions(model_planted PRIVATE GPU_ON_CPU)
target_include_directories(model_planted PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
target_link_libraries(model_planted PRIVATE dl)
add_dependencies(unit_tests model_planted)
add_test(NAME cuda/model_planted COMMAND bash ${CMAKE_SOURCE_DIR}/tests/shim/planted_cost.sh
  $<TARGET_FILE:model_planted>)
set_tests_properties(cuda/model_planted PROPERTIES LABELS unit)
