# Files of an installation: `cmake --install build --prefix DIR`, and a Debian package by `cpack` in the build folder.
# CMakeLists.txt and core/tensor/cuda/cuda.cmake install the program and its plugins.
install(FILES core/api/ab_plugin.h core/api/ab_host.h core/api/ab_task.h DESTINATION include)
configure_file(packaging/ablate.pc.in ${CMAKE_BINARY_DIR}/ablate.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/ablate.pc DESTINATION share/pkgconfig)
install(DIRECTORY experiments DESTINATION share/ablate)
install(DIRECTORY python/ablate DESTINATION lib/ablate/python PATTERN __pycache__ EXCLUDE)
install(FILES README.md LICENSE CHANGELOG.md CITATION.cff DESTINATION share/doc/ablate)
install(DIRECTORY docs/ DESTINATION share/doc/ablate)
install(FILES core/lab/draw/letters/OFL.txt DESTINATION share/doc/ablate) # licence of the font used in PNG files
# Files that the program prints about itself, such as its manual, if this version can.
install(CODE [[
  set(here "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
  set(ENV{ABLATE_HOME} "${here}")
  foreach(page "man;share/man/man1/ablate.1" "completion bash;share/bash-completion/completions/ablate"
      "completion zsh;share/zsh/vendor-completions/_ablate"
      "completion fish;share/fish/vendor_completions.d/ablate.fish")
    list(POP_FRONT page command file)
    separate_arguments(command)
    execute_process(COMMAND "${here}/bin/ablate" ${command} OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      message(STATUS "Installing: ${here}/${file}")
      file(WRITE "${here}/${file}" "${text}")
    endif()
  endforeach()
]])

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ablate)
set(CPACK_PACKAGE_CONTACT "ablate contributors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Which part of a Transformer matters? Ablation studies from one INI file")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)               # lists the libraries that the program links
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gcc, pkg-config") # for users' plugins
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
include(CPack)
