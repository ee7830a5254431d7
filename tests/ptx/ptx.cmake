# tests/shim/test_*.c on the PTX that nvcc emits, as ptx_test_* (target ptx_tests), by the interpreter of this folder: a
# second witness beside the emulation, which another compiler compiles. Included by gpu_tests.cmake.
set(ptx_objects)
foreach(source ${cuda_kernels})
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_BINARY_DIR}/ptx/${name}.o)
  add_custom_command(OUTPUT ${object} DEPENDS ${source} ${headers} VERBATIM COMMENT "nvcc's PTX of ${name}.cu"
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/ptx
    COMMAND ${nvcc} -std=c++17 -O3 -lineinfo -gencode arch=compute_80,code=compute_80 --no-compress ${flags_${name}}
    -I${CMAKE_SOURCE_DIR}/core --compiler-options=-fPIC -c ${source} -o ${object})
  list(APPEND ptx_objects ${object})
endforeach()
file(GLOB ptx_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/ptx/*.c)
list(FILTER ptx_sources EXCLUDE REGEX "/nvrtc[.]c$")
add_library(ab_ptx STATIC EXCLUDE_FROM_ALL ${cuda_host} ${ptx_objects} ${ptx_sources})
set_source_files_properties(${ptx_objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
# a GPU's integers wrap, and the compiler contracts nothing that PTX keeps apart
set_source_files_properties(${ptx_sources} PROPERTIES COMPILE_OPTIONS
  "-O3;-fwrapv;-ffp-contract=off;-fno-math-errno;$<$<BOOL:${machine}>:-mfma>")
set_target_properties(ab_ptx PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(ab_ptx PUBLIC ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/ptx)
target_include_directories(ab_ptx SYSTEM PUBLIC ${cuda_home}/include ${CUDNN_HEADER})
target_compile_definitions(ab_ptx PUBLIC ${have_cudnn} CUDA_GPUS=80)
target_link_libraries(ab_ptx PUBLIC ab_graph ab_comm dl rt pthread m)
add_library(ptx_nvrtc MODULE tests/ptx/nvrtc.c)
# beside the tests, where the backend looks first
set_target_properties(ptx_nvrtc PROPERTIES PREFIX "" OUTPUT_NAME libnvrtc SUFFIX .so.13 EXCLUDE_FROM_ALL ON
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/ptx)
target_compile_definitions(ptx_nvrtc PRIVATE NVRTC_FILE="${cuda_home}/lib64/libnvrtc.so")
target_link_libraries(ptx_nvrtc PRIVATE dl)

add_custom_target(ptx_tests)
add_dependencies(ptx_tests ptx_nvrtc)
add_dependencies(all_tests ptx_tests)
set(ptx_environment "ABLATE_PRODUCT=own;ABLATE_CUDNN=none;ABLATE_KERNELS=;ABLATE_TEST_LONG=")
foreach(source ${shim_tests})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^test_" "" subject ${name})
  # one asks the emulation itself, five are about libraries whose stand-ins know the emulation
  if(subject MATCHES "^(launches|lt|choice|dnn_attend|ranks|wgmma)$")
    continue()
  endif()
  add_executable(ptx_${name} EXCLUDE_FROM_ALL ${source})
  target_compile_definitions(ptx_${name} PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}" BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_include_directories(ptx_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit ${CMAKE_SOURCE_DIR}/tests/shim)
  target_link_libraries(ptx_${name} PRIVATE ab_ptx ab_check ab_decode ab_train stdc++)
  set_target_properties(ptx_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/ptx)
  add_dependencies(ptx_tests ptx_${name})
  if(subject MATCHES "^(attend|score|check|training)$") # half a minute and more each: `tests/reliability.sh ptx`
    continue()
  endif()
  add_test(NAME ptx/${name} COMMAND ptx_${name} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(ptx/${name} PROPERTIES LABELS long TIMEOUT 1800 ENVIRONMENT "${ptx_environment}")
endforeach()
foreach(name norm_product select step) # with the race detector, last blocks and warps first
  add_test(NAME ptx/races_${name} COMMAND ptx_test_${name} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(ptx/races_${name} PROPERTIES LABELS long TIMEOUT 1800 ENVIRONMENT
    "${ptx_environment};PTX_RACES=1;PTX_ORDER=reversed")
endforeach()
add_test(NAME ptx/mutants COMMAND bash ${CMAKE_SOURCE_DIR}/tests/ptx/mutants.sh ${CMAKE_BINARY_DIR} part)
set_tests_properties(ptx/mutants PROPERTIES LABELS long TIMEOUT 1800)
