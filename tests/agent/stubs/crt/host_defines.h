/* host_defines.h - what CUPTI's headers want of the compiler's package, which is not fetched. */
#ifndef CRT_HOST_DEFINES_H
#define CRT_HOST_DEFINES_H

#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __host__
#define __device__
#define CUDARTAPI
#define CUDARTAPI_CDECL

#endif /* CRT_HOST_DEFINES_H */
