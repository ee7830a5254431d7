# commands.cmake - cmake "-DFROM=a.c;b.c" -DTO=commands.c -P commands.cmake: all_commands[], by name, of every
# `const command NAME_command` in these files.
foreach(file ${FROM})
  file(STRINGS ${file} lines REGEX "^const command [a-z_0-9]+_command ")
  foreach(line ${lines})
    string(REGEX REPLACE "^const command ([a-z_0-9]+).*" "\\1" name "${line}")
    list(APPEND names ${name})
  endforeach()
endforeach()
list(SORT names)
foreach(name ${names})
  string(APPEND declared "extern const command ${name};\n")
  string(APPEND listed "    &${name},\n")
endforeach()
list(LENGTH names n)
file(WRITE ${TO} "#include \"cli/options.h\"\n${declared}const command *const all_commands[] = {\n${listed}};\n"
  "const size_t n_commands = ${n};\n")
