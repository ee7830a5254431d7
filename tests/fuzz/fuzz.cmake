# Fuzz targets: tests/fuzz/NAME_fuzz.c with seeds in NAME_seeds/. In the usual build each runs over its seeds as the
# test fuzz/NAME (seeds.c); with -DABLATE_FUZZ=ON and clang they are libFuzzer's, under AddressSanitizer and UBSan
# (tests/fuzz/run.sh). They compile the sources they need themselves, so that these are instrumented, and nothing else
# is.
function(ab_fuzz name)
  add_executable(${name}_fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}_fuzz.c)
  target_include_directories(${name}_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/core)
  target_link_libraries(${name}_fuzz PRIVATE ${ARGN})
  if(ABLATE_FUZZ)
    target_compile_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name}_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/seeds.c)
  endif()
  add_dependencies(unit_tests ${name}_fuzz)
  add_dependencies(fuzz_targets ${name}_fuzz)
  add_test(NAME fuzz/${name} COMMAND ${name}_fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}_seeds)
  set_tests_properties(fuzz/${name} PROPERTIES LABELS unit)
endfunction()

add_custom_target(fuzz_targets)
ab_fuzz(tree)
file(GLOB parsing CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/plugins/tasks/parsing/*.c)
target_sources(tree_fuzz PRIVATE ${parsing})
target_include_directories(tree_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/plugins/tasks/parsing ${CMAKE_SOURCE_DIR}/core/api
  ${CMAKE_SOURCE_DIR}/plugins)
ab_fuzz(ini ab_config)
ab_fuzz(config ab_settings)
ab_fuzz(evalb ab_metric)
ab_fuzz(vocab ab_tokens)
ab_fuzz(import ab_results)
ab_fuzz(sheet ab_foreign)
ab_fuzz(data ab_data)
target_sources(data_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/plugins/tasks/translation/corpus.c
  ${CMAKE_SOURCE_DIR}/plugins/tasks/translation/table.c ${CMAKE_SOURCE_DIR}/core/network/plugin/lines.c)
target_include_directories(data_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/plugins/tasks/translation ${CMAKE_SOURCE_DIR}/core/api
  ${CMAKE_SOURCE_DIR}/plugins)
ab_fuzz(image)
target_sources(image_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/plugins/tasks/image/read.c)
target_include_directories(image_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/plugins/tasks/image ${CMAKE_SOURCE_DIR}/plugins)
ab_fuzz(event ab_metric)
target_sources(event_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/core/lab/launch/event.c)
ab_fuzz(model ab_graph ${CJSON_LIB})
target_sources(model_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/core/network/train/checkpoint.c)
ab_fuzz(export ab_formats ab_train)
target_compile_definitions(export_fuzz PRIVATE EXPORT_MODELS="${CMAKE_SOURCE_DIR}/tests/fuzz/export_models"
  PLUGINS="${CMAKE_BINARY_DIR}/plugins")
