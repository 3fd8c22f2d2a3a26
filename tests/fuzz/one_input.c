/*
 * One input of a fuzz target, with what is asked of all of them: what is logged about bad input is
 * formatted and thrown away (reports go to the descriptor), and it takes no more than a few seconds
 * of the processor. libFuzzer's own limit is in real time, which says little on a busy machine.
 */
#include <time.h>

#include "fuzz/fuzz.h"

#define CPU_SECONDS_MAX 5

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static FILE *nowhere;
	FILE *own_stderr = stderr;
	clock_t start = clock();

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	FUZZ_CHECK(nowhere);
	stderr = nowhere;
	fuzz_one(bytes, size_bytes);
	stderr = own_stderr;
	FUZZ_CHECK(clock() - start < CPU_SECONDS_MAX * CLOCKS_PER_SEC);
	return 0;
}
