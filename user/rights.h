/*
 * rights.h - what this process may do, phase by phase: each gives up for good what no later one
 * needs. README.md says what each capability is for, SECURITY.md when it goes.
 */
#ifndef RIGHTS_H
#define RIGHTS_H

#include "attach/probe.h"
#include "attach/target.h"
#include "base/privilege.h"
#include "options.h"
#include "output/out_dir.h"

/* What is still needed of what was held; of zeroes at first. */
struct rights {
	capability_set attaching; /* to attach more probes */
	capability_set looking;	  /* to look at the job */
	capability_set writing;	  /* to make files */
};

/* At the very start: leaves what the command may need. */
void rights_begin(enum command command);

/*
 * Opens the output directory as the user who called sudo, or where that one may not write, as
 * ourselves; whatever opens it makes the files from then on. Errors are logged, as of
 * out_dir_open().
 */
int rights_open_directory(struct rights *rights, struct out_dir **out, const char *path,
			  struct out_cancel cancel);

/* Attaches the first group, and finds out whether this kernel asks for a capability to do so. */
int rights_attach_first(struct rights *rights, struct probes *probes);

/*
 * Everything is open, the first probes are attached. has_agent: that of the job is yet to be asked,
 * by probes of its own, which take capabilities on every kernel.
 */
void rights_after_open(struct rights *rights, const struct target *target,
		       const struct probes *probes, bool has_agent);

/* Nothing will be attached any more. */
void rights_after_detach(struct rights *rights);

/* Only files are written from now on. */
void rights_for_files(const struct rights *rights);

#endif /* RIGHTS_H */
