# embed.cmake - cmake -DFROM=file -DTO=file.c -DNAME=symbol -P embed.cmake: a text file as a C string, `const char
# symbol[]`.
file(READ ${FROM} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
string(REGEX REPLACE "(('.x..',){24})" "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "/* made from ${FROM} */\nextern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}0};\n")
