#!/bin/sh
# In the place of tpbpf (TPBPF=...): it runs under valgrind, and a finding ends it with 99, which no test takes for an answer.
#   TPBPF_BINARY    the program, as `make e2e-valgrind` links it
here=$(dirname "$0")
exec "$here/valgrind.sh" -q --error-exitcode=99 --leak-check=full --suppressions="$here/libbpf.supp" "$TPBPF_BINARY" "$@"
