/*
 * inject_image.c - see inject_image.h. Of glibc: the functions are exported, the restorer, which
 * every signal handler returns to, is not and is known by its bytes.
 */
#include "attach/inject_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attach/elf_symbols.h"
#include "attach/process.h"
#include "base/text.h"

#define LOADER_LOCKS_MAX 3
#define LOADER_DATA_MAX (1UL << 20)

enum role {
	ROLE_LOADER,
	ROLE_LIBC,
	ROLE_THREADS, /* these two are part of libc since 2.34 */
	ROLE_DL,
	ROLE_CNT,
};

/* The name since 2.34 or always, and the one before, up to a digit. */
static const struct {
	const char *name, *old_name;
} roles[ROLE_CNT] = {
	[ROLE_LOADER] = { "ld-linux-x86-64.so.2", "ld-2." },
	[ROLE_LIBC] = { "libc.so.6", "libc-2." },
	[ROLE_THREADS] = { "libpthread.so.0", "libpthread-2." },
	[ROLE_DL] = { "libdl.so.2", "libdl-2." },
};

struct library {
	struct code_range code;
	uint64_t offset; /* in the file, of the code's begin */
	int fd;		 /* -1: not mapped */
	struct code_range data;
};

struct search {
	pid_t pid;
	struct library libraries[ROLE_CNT];
};

bool code_range_has(const struct code_range *range, uint64_t address)
{
	return address >= range->begin && address < range->end;
}

static int take_mapping(struct library *library, pid_t pid, const struct process_mapping *mapping)
{
	if (mapping->is_writable && library->fd >= 0 && !library->data.end)
		library->data = (struct code_range){ mapping->start, mapping->end };
	/* The first one: in a namespace of its own (dlmopen) there may be another. */
	if (!mapping->is_executable || library->fd >= 0)
		return 0;
	library->fd = process_open_mapping(pid, mapping);
	if (library->fd < 0)
		return library->fd;
	library->code = (struct code_range){ mapping->start, mapping->end };
	library->offset = mapping->offset;
	return 0;
}

static int on_mapping(void *context, const struct process_mapping *mapping)
{
	const char *base = strrchr(mapping->path, '/') + 1;
	struct search *search = context;
	size_t role;

	for (role = 0; role < ROLE_CNT; role++) {
		if (!strcmp(base, roles[role].name) || text_has_prefix(base, roles[role].old_name))
			return take_mapping(&search->libraries[role], search->pid, mapping);
	}
	return 0;
}

static const char *const function_names[INJECT_FUNCTION_CNT] = {
	[INJECT_DLOPEN] = "dlopen",	     [INJECT_DLERROR] = "dlerror",
	[INJECT_SYSCALL] = "syscall",	     [INJECT_MEMCCPY] = "memccpy",
	[INJECT_ERRNO] = "__errno_location",
};

static const char *const wait_names[] = {
	"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait",
	"sem_wait",	     "sem_timedwait",	       "sem_clockwait",
};

struct symbols {
	struct inject_image *image;
	const struct elf_image *elf;
	const struct library *library;
};

/* 0: not in the code that is mapped. */
static uint64_t in_job(const struct symbols *symbols, uint64_t address)
{
	const struct library *library = symbols->library;
	uint64_t offset, place;

	if (elf_image_file_offset(symbols->elf, address, &offset) || offset < library->offset)
		return 0;
	place = library->code.begin + (offset - library->offset);
	return code_range_has(&library->code, place) ? place : 0;
}

static bool is_wait_name(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(wait_names) / sizeof(wait_names[0]); i++) {
		if (!strcmp(name, wait_names[i]))
			return true;
	}
	return false;
}

static void add_wait(struct inject_image *image, const char *name, uint64_t begin, uint64_t size)
{
	const struct code_range range = { begin, begin + size };

	if (!size || size > 65536)
		return;
	if (!strcmp(name, "dl_iterate_phdr") && !image->walk.end)
		image->walk = range;
	if (is_wait_name(name) && image->wait_count < INJECT_WAITS_MAX)
		image->waits[image->wait_count++] = range;
	else if (!is_wait_name(name) && image->lock_count < INJECT_LOCKS_MAX &&
		 (text_has_prefix(name, "pthread_") || text_has_prefix(name, "__pthread_") ||
		  text_has_prefix(name, "mtx_") || text_has_prefix(name, "thrd_")))
		image->locks[image->lock_count++] = range;
}

static int on_function(void *context, const struct elf_symbol *symbol)
{
	const struct symbols *symbols = context;
	uint64_t place = in_job(symbols, symbol->address);
	size_t i;

	if (!place || symbol->from_symtab)
		return 0;
	for (i = 0; i < INJECT_FUNCTION_CNT; i++) {
		if (!symbols->image->functions[i] && !strcmp(symbol->name, function_names[i]))
			symbols->image->functions[i] = place;
	}
	add_wait(symbols->image, symbol->name, place, symbol->size_bytes);
	return 0;
}

/* Anything that the kernel takes for the call is as good as the function itself. */
static uint64_t find_restorer(pid_t pid, const struct code_range *code)
{
	static const uint8_t bytes[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	uint8_t page[4096 + sizeof(bytes)];
	uint64_t at;

	for (at = code->begin; at < code->end; at += 4096) {
		const uint64_t left = code->end - at;
		struct iovec to = { page, left < sizeof(page) ? left : sizeof(page) };
		struct iovec from = { (void *)(uintptr_t)at, to.iov_len };
		ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
		const uint8_t *found =
			got > 0 ? memmem(page, (size_t)got, bytes, sizeof(bytes)) : NULL;

		if (found)
			return at + (uint64_t)(found - page);
	}
	return 0;
}

/* "mov disp(%rip),%rax; add %fs:0,%rax; ret", or with mov and add the other way round. */
bool inject_errno_code(const uint8_t *code, size_t size_bytes, uint64_t address, uint64_t *slot,
		       int64_t *offset)
{
	static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa }; /* endbr64 */
	static const uint8_t load[] = { 0x48, 0x8b, 0x05 };	     /* mov disp32(%rip),%rax */
	static const uint8_t add_base[] = { 0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc3 };
	static const uint8_t load_base[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0 };
	static const uint8_t add[] = { 0x48, 0x03, 0x05 }; /* add disp32(%rip),%rax */
	static const uint8_t add_value[] = { 0x48, 0x05 }; /* add $imm32,%rax */
	const uint8_t *at = code, *end = code + size_bytes;
	int32_t number;

	*slot = 0;
	if (size_bytes < 32)
		return false;
	if (!memcmp(at, landing, sizeof(landing)))
		at += sizeof(landing);
	if (!memcmp(at, load, sizeof(load)) && !memcmp(at + 7, add_base, sizeof(add_base))) {
		memcpy(&number, at + sizeof(load), sizeof(number));
		*slot = address + (uint64_t)(at + 7 - code) + (uint64_t)(int64_t)number;
		return true;
	}
	if (memcmp(at, load_base, sizeof(load_base)) != 0)
		return false;
	at += sizeof(load_base);
	if (!memcmp(at, add, sizeof(add)) && at + 7 < end && at[7] == 0xc3) {
		memcpy(&number, at + sizeof(add), sizeof(number));
		*slot = address + (uint64_t)(at + 7 - code) + (uint64_t)(int64_t)number;
		return true;
	}
	if (memcmp(at, add_value, sizeof(add_value)) != 0 || at[6] != 0xc3)
		return false;
	memcpy(&number, at + sizeof(add_value), sizeof(number));
	*offset = number;
	return true;
}

static int read_word(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

static int find_errno(struct inject_image *image, pid_t pid)
{
	uint64_t address = image->functions[INJECT_ERRNO], slot;
	uint8_t code[48];
	int err = read_word(pid, address, code, sizeof(code));

	if (err)
		return err;
	if (!inject_errno_code(code, sizeof(code), address, &slot, &image->errno_offset))
		return -ENOEXEC;
	return slot ? read_word(pid, slot, &image->errno_offset, sizeof(image->errno_offset)) : 0;
}

/* A recursive mutex as it is when it is free; the 5th number is its kind. */
#define MUTEX_NUMBERS 10
static const uint32_t free_mutex[MUTEX_NUMBERS] = { 0, 0, 0, 0, 1, 0, 0, 0, 0, 0 };

size_t inject_loader_locks(const uint8_t *data, size_t size_bytes, size_t *offset)
{
	size_t at, count;

	for (at = 0; at + 2 * sizeof(free_mutex) <= size_bytes; at += 8) {
		for (count = 0; count < LOADER_LOCKS_MAX; count++) {
			size_t next = at + count * sizeof(free_mutex);

			if (next + sizeof(free_mutex) > size_bytes ||
			    memcmp(data + next, free_mutex, sizeof(free_mutex)) != 0)
				break;
		}
		*offset = at;
		if (count >= 2)
			return count;
	}
	return 0;
}

static int find_loader_locks(struct inject_image *image, pid_t pid, const struct code_range *data)
{
	size_t size = data->end - data->begin, offset = 0;
	uint8_t *bytes = size && size <= LOADER_DATA_MAX ? malloc(size) : NULL;
	int err;

	if (!bytes)
		return -ENOEXEC;
	err = read_word(pid, data->begin, bytes, size);
	if (!err) {
		image->loader_lock_count = inject_loader_locks(bytes, size, &offset);
		image->loader_locks = data->begin + offset;
	}
	free(bytes);
	return err || image->loader_lock_count ? err : -EBUSY;
}

bool inject_image_is_idle(const struct inject_image *image, pid_t pid)
{
	uint32_t locks[LOADER_LOCKS_MAX][MUTEX_NUMBERS];
	size_t i;

	if (read_word(pid, image->loader_locks, locks, image->loader_lock_count * sizeof(locks[0])))
		return false;
	for (i = 0; i < image->loader_lock_count; i++) {
		if (memcmp(locks[i], free_mutex, sizeof(free_mutex)) != 0)
			return false;
	}
	return true;
}

static int read_symbols(struct inject_image *image, const struct library *library)
{
	struct symbols symbols = { image, NULL, library };
	struct elf_image *elf = NULL;
	int err;

	if (library->fd < 0)
		return 0;
	err = elf_image_open(&elf, library->fd);
	if (err)
		return err;
	symbols.elf = elf;
	err = elf_image_each_function(elf, on_function, &symbols);
	elf_image_free(elf);
	return err;
}

static int read_libraries(struct inject_image *image, pid_t pid, const struct library *libraries)
{
	size_t role, i;
	int err = 0;

	if (libraries[ROLE_LOADER].fd < 0 || libraries[ROLE_LIBC].fd < 0)
		return -ENOENT;
	image->loader = libraries[ROLE_LOADER].code;
	image->libc = libraries[ROLE_LIBC].code;
	image->threads = libraries[ROLE_THREADS].code;
	/* libc first: what is in both since 2.34 is empty in the other one. */
	for (role = ROLE_LIBC; role < ROLE_CNT && !err; role++)
		err = read_symbols(image, &libraries[role]);
	if (err)
		return err;
	image->restorer = find_restorer(pid, &image->libc);
	for (i = 0; i < INJECT_FUNCTION_CNT; i++) {
		if (!image->functions[i])
			return -ENOEXEC;
	}
	err = image->restorer ? find_errno(image, pid) : -ENOEXEC;
	return err ? err : find_loader_locks(image, pid, &libraries[ROLE_LOADER].data);
}

int inject_image_read(struct inject_image *image, pid_t pid)
{
	struct search search = { .pid = pid };
	size_t role;
	int err;

	memset(image, 0, sizeof(*image));
	for (role = 0; role < ROLE_CNT; role++)
		search.libraries[role].fd = -1;
	err = process_each_mapping(pid, on_mapping, &search);
	if (!err)
		err = read_libraries(image, pid, search.libraries);
	for (role = 0; role < ROLE_CNT; role++) {
		if (search.libraries[role].fd >= 0)
			close(search.libraries[role].fd);
	}
	return err;
}
