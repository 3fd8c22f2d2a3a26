/* torch_version.h - which build of PyTorch a process runs, from the files that it has mapped. */
#ifndef ATTACH_TORCH_VERSION_H
#define ATTACH_TORCH_VERSION_H

#include <stdio.h>

/* major * 1000 + minor, so that 1.13 is 1013 and 2.6 is 2006. 0: not known. */
typedef unsigned int torch_release;

#define TORCH_RELEASE(major, minor) ((major)*1000U + (minor))

struct torch_version {
	char torch[64]; /* "2.13.0+cpu"; empty: not known */
	char cuda[32];	/* empty: a build without CUDA, or not known */
	char python[32];
};

torch_release torch_version_release(const char *text);

/* Reads torch/version.py; keys that are not there stay as they are. */
void torch_version_parse(FILE *file, struct torch_version *version);

/* "_C.cpython-311-x86_64-linux-gnu.so" -> "3.11", "_C.cpython-313t-..." -> "3.13t"; leaves python
 * as it is when the name tells nothing. */
void torch_version_python_of(const char *extension_name, struct torch_version *version);

#endif /* ATTACH_TORCH_VERSION_H */
