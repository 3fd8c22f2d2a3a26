#!/bin/sh
# In the place of tpbpf (TPBPF=...): what reads captures and files runs under valgrind, a capture of a job does not. There
# the program measures a child of its own code, which under valgrind is never executed as it stands.
#   TPBPF_BINARY    the program
case ${1:-} in
report | list)
	exec valgrind -q --error-exitcode=99 --leak-check=full "$TPBPF_BINARY" "$@"
	;;
esac
exec "$TPBPF_BINARY" "$@"
