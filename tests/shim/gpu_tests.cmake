# tests/shim/test_*.c for a real GPU: the same sources against nvcc's objects and runtime.cu, as gpu_test_* (target
# gpu_tests). They look for plugins/ in the working folder, so that they run on another machine than the one that built
# them. Included at the end of cuda.cmake. test_launches asks the emulation alone, which counts.
add_library(ab_gpu STATIC EXCLUDE_FROM_ALL ${cuda_host} ${module_objects})
set_target_properties(ab_gpu PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(ab_gpu PUBLIC ${CMAKE_SOURCE_DIR}/core)
target_include_directories(ab_gpu SYSTEM PUBLIC ${cuda_home}/include)
target_compile_definitions(ab_gpu PUBLIC ${have_cudnn} "CUDA_GPUS=$<JOIN:${ABLATE_CUDA_GPUS},$<COMMA>>")
target_include_directories(ab_gpu SYSTEM PUBLIC ${CUDNN_HEADER})
target_link_libraries(ab_gpu PUBLIC ab_graph ab_comm ${cuda_home}/lib64/libcudart_static.a dl rt pthread)
# custom commands' outputs, which two targets share: one of them makes the files
add_dependencies(ab_gpu ablate_cuda)
add_custom_target(gpu_tests)
foreach(source ${shim_tests})
  get_filename_component(name ${source} NAME_WE)
  if(name STREQUAL "test_launches")
    continue()
  endif()
  add_executable(gpu_${name} EXCLUDE_FROM_ALL ${source})
  target_compile_definitions(gpu_${name} PRIVATE SOURCE_DIR="." BUILD_DIR=".")
  target_include_directories(gpu_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit ${CMAKE_SOURCE_DIR}/tests/shim)
  target_link_libraries(gpu_${name} PRIVATE ab_gpu ab_check ab_decode ab_train stdc++)
  add_dependencies(gpu_tests gpu_${name})
endforeach()

# ---- the module under nvcc and the real cuDNN ------------------------------------------------------------------------
add_dependencies(all_tests ablate_cuda)
# attend_wgmma.h, compiled by nvcc as by NVRTC, for the log
set(source ${CMAKE_SOURCE_DIR}/tests/cuda/wgmma.cu)
set(object ${CMAKE_BINARY_DIR}/cuda/wgmma.o)
add_custom_command(OUTPUT ${object} DEPENDS ${source} ${nvrtc_files} VERBATIM COMMENT "nvcc wgmma.cu"
  COMMAND ${nvcc} -std=c++17 -O3 --fmad=false -gencode arch=compute_90a,code=sm_90a -I${CMAKE_SOURCE_DIR}/core
    -Xptxas -v -c ${source} -o ${object} > ${CMAKE_BINARY_DIR}/cuda/wgmma.log 2>&1)
add_custom_target(cuda_wgmma DEPENDS ${object})
add_dependencies(all_tests cuda_wgmma)
add_test(NAME cuda/spills COMMAND bash ${CMAKE_SOURCE_DIR}/tests/cuda/spills.sh ${CMAKE_BINARY_DIR}/cuda
  ${CMAKE_BINARY_DIR}/backends/ablate_cuda.so ${object})
add_test(NAME cuda/module COMMAND bash ${CMAKE_SOURCE_DIR}/tests/cuda/module.sh ${CMAKE_BINARY_DIR}/ablate
  ${CMAKE_BINARY_DIR}/backends/ablate_cuda.so)
# Tests whether the real cuDNN has plans for our graphs. It needs a driver's library, for which a stub is enough.
add_executable(cuda_test_dnn EXCLUDE_FROM_ALL tests/cuda/test_dnn.c)
target_link_libraries(cuda_test_dnn PRIVATE ab_gpu stdc++)
add_dependencies(all_tests cuda_test_dnn)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
file(CREATE_LINK ${cuda_home}/lib64/stubs/libcuda.so ${CMAKE_BINARY_DIR}/cuda/libcuda.so.1 SYMBOLIC)
add_test(NAME cuda/test_dnn COMMAND cuda_test_dnn)
set_tests_properties(cuda/test_dnn PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT
  "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/cuda:${cuda_home}/lib64:$ENV{LD_LIBRARY_PATH}")
set_tests_properties(cuda/spills cuda/module cuda/test_dnn PROPERTIES LABELS long) # they need nvcc's objects
include(${CMAKE_SOURCE_DIR}/tests/ptx/ptx.cmake)
