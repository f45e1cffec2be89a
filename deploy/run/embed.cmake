# Turns a text file into a C++ source that defines it as a string:
#   cmake -DINPUT=file -DOUTPUT=file.cc -DNAME=kVariable -P embed.cmake
file(READ ${INPUT} TEXT)
file(WRITE ${OUTPUT} "namespace ssd {\nextern const char ${NAME}[];\nconst char ${NAME}[] = R\"embedded(${TEXT})embedded\";\n}  // namespace ssd\n")
