/* array.h - room in an array that grows as it is filled. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/*
 * Room for count elements in all: 0, or -ENOMEM, and then array and *capacity are as they were.
 * array is the address of the pointer, which is NULL while *capacity is 0; what is new is not set.
 */
int array_reserve(void *array, size_t *capacity, size_t count, size_t element_bytes);

/* The same by the pointer and the number themselves. */
#define ARRAY_RESERVE(array, capacity, count) \
	array_reserve(&(array), &(capacity), (count), sizeof(*(array)))

#endif /* BASE_ARRAY_H */
