# Prints a compiler's log and fails: nvcc's output goes to a file, which nobody would see when it fails.
file(READ ${LOG} text)
message(FATAL_ERROR "${text}")
