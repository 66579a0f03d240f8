/*
 * setup_state as a program that is linked at a fixed address: the address of a stock method is still the same for the program as
 * for the library.
 * differs with -Bsymbolic-functions: the C library knows its methods by another address than the program, and takes pmdaFetch for
 * an agent's own method
 * cc: -no-pie -fno-pie
 * INIT-40
 */
#include "setup_state.c"
