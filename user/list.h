/* list.h - `tpbpf list`. */
#ifndef LIST_H
#define LIST_H

/* The exit code. */
int list_run(void);

#endif /* LIST_H */
