/*
 * usdt_note.h - a probe that a library announces itself, in the notes of systemtap's <sys/sdt.h>:
 * where its site is, and the semaphore that says whether anybody is attached to it.
 */
#ifndef ATTACH_USDT_NOTE_H
#define ATTACH_USDT_NOTE_H

#include <stdint.h>

struct usdt_note {
	uint64_t site_offset;	   /* in the file */
	uint64_t semaphore_offset; /* in the file; 0: it has none */
};

/*
 * The first note of that provider and name in the file behind fd, which stays the caller's. Nothing
 * in the file is believed. 0, -ENOENT (no such note, or one that points nowhere), -ENOEXEC or -EIO.
 */
int usdt_note_find(int fd, const char *provider, const char *name, struct usdt_note *note);

#endif /* ATTACH_USDT_NOTE_H */
