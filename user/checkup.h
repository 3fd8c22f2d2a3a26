/*
 * checkup.h - the lines of `tpbpf doctor`: one for each thing looked at, whether it works, what is
 * lost if not, and the mend; at the end what they come to.
 */
#ifndef CHECKUP_H
#define CHECKUP_H

#include <stdbool.h>
#include <stdio.h>

enum verdict {
	VERDICT_OK,
	VERDICT_NOTE,	 /* a capture works; something is less, or good to know */
	VERDICT_MISSING, /* no capture without it */
	VERDICT_UNKNOWN, /* could not be looked at */
	VERDICT_CNT,
};

struct checkup {
	FILE *out; /* not owned */
	unsigned int count[VERDICT_CNT];
	char missing[512]; /* the names, for the end */
};

void checkup_init(struct checkup *checkup, FILE *out);

/* One line. mend: what helps; NULL: there is nothing to do. Text may come from the job. */
void checkup_line(struct checkup *checkup, enum verdict verdict, const char *name, const char *mend,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* What it comes to. True: everything that is needed works. mend: NULL, or what helps in general. */
bool checkup_end(struct checkup *checkup, const char *mend);

#endif /* CHECKUP_H */
