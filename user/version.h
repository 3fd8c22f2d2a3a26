/* version.h - of the program. */
#ifndef VERSION_H
#define VERSION_H

#define TPBPF_VERSION "0.1.0"

#endif /* VERSION_H */
