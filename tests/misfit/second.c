/* Preloaded: a second libpcp, of another generation of PCP; its name is all that matters. */
extern const int another_libpcp;
const int another_libpcp = 99;
