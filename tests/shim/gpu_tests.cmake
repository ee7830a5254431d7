# tests/shim/test_*.c for a real GPU: the same sources against nvcc's objects and runtime.cu, as gpu_test_* (target
# gpu_tests). They look for plugins/ in the working folder, so that they run on another machine than the one that built
# them. Included at the end of cuda.cmake. test_launches asks the emulation alone, which counts.
add_library(ab_gpu STATIC EXCLUDE_FROM_ALL ${cuda_host} ${module_objects})
set_target_properties(ab_gpu PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(ab_gpu PUBLIC ${CMAKE_SOURCE_DIR}/core)
target_include_directories(ab_gpu SYSTEM PUBLIC ${cuda_home}/include)
target_compile_definitions(ab_gpu PUBLIC ${have_cudnn})
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
