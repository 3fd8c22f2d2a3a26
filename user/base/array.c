/* array.c - see array.h. To double what there is makes the copying a constant part of each element.
 */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 16

int array_reserve(void *array, size_t *capacity, size_t count, size_t element_bytes)
{
	size_t wanted = *capacity > FIRST / 2 ? *capacity : FIRST / 2;
	size_t size_bytes;
	void *elements;

	if (count <= *capacity)
		return 0;
	while (wanted < count) {
		if (wanted > SIZE_MAX / 2)
			return -ENOMEM;
		wanted *= 2;
	}
	if (__builtin_mul_overflow(wanted, element_bytes, &size_bytes))
		return -ENOMEM;
	/* The pointer is of any type; it is read and written as bytes. */
	memcpy(&elements, array, sizeof(elements));
	elements = realloc(elements, size_bytes);
	if (!elements)
		return -ENOMEM;
	memcpy(array, &elements, sizeof(elements));
	*capacity = wanted;
	return 0;
}
