# Communicators: modules opened at run time, each built if its header is found. The program that opens them provides
# errors and memory.
function(ab_communicator name)
  add_library(ablate_${name} MODULE ${CMAKE_SOURCE_DIR}/core/tensor/comm/${name}.c)
  set_target_properties(ablate_${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY
    ${CMAKE_BINARY_DIR}/backends)
  target_include_directories(ablate_${name} PRIVATE ${CMAKE_SOURCE_DIR}/core)
  add_dependencies(product ablate_${name})
  install(TARGETS ablate_${name} DESTINATION lib/ablate/backends)
endfunction()

set_target_properties(ablate PROPERTIES ENABLE_EXPORTS ON)
find_package(MPI QUIET COMPONENTS C)
if(MPI_C_FOUND)
  ab_communicator(mpi)
  target_link_libraries(ablate_mpi PRIVATE MPI::MPI_C)
endif()
