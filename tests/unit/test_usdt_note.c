/* Notes that announce probes, in this program itself and in files that lie. */
#include "support/test.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "attach/usdt_note.h"

__attribute__((section(".probes"), used)) volatile unsigned short test_semaphore = 0;

#define NOTE(provider, name, site, semaphore)                                                 \
	".pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n.4byte 2f - 1f, 4f - 3f, 3\n" \
	"1: .asciz \"stapsdt\"\n2: .balign 4\n3: .8byte " site ", _.stapsdt.base, " semaphore \
	"\n.asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"8@%rdi\"\n4: .balign 4\n"   \
	".popsection\n"

__asm__(".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection\n"
	".pushsection .text\n.globl test_site\ntest_site: .byte 0x90, 0x90, "
	"0xc3\n.popsection\n" NOTE("other", "first", "test_site + 1", "0")
		NOTE("tpbpf_test", "first", "test_site", "test_semaphore")
			NOTE("tpbpf_test", "nowhere", "0x7fffffffffff0000", "0")
				NOTE("tpbpf_test", "readonly", "test_site", "test_site"));

static int self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void site_and_semaphore_are_found_in_the_file(void **state)
{
	struct usdt_note note, other;
	unsigned char code[3];
	unsigned short count;
	int fd = self();

	(void)state;
	assert_int_equal(usdt_note_find(fd, "tpbpf_test", "first", &note), 0);
	assert_int_equal(pread(fd, code, sizeof(code), (off_t)note.site_offset), 3);
	assert_memory_equal(code, "\x90\x90\xc3", 3);
	assert_int_equal(pread(fd, &count, sizeof(count), (off_t)note.semaphore_offset), 2);
	assert_int_equal(count, 0);
	assert_int_equal(usdt_note_find(fd, "other", "first", &other), 0);
	assert_true(other.site_offset == note.site_offset + 1);
	assert_true(other.semaphore_offset == 0);
	close(fd);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct usdt_note note = { 1, 2 };
	int fd = self();

	(void)state;
	assert_int_equal(usdt_note_find(fd, "tpbpf_test", "second", &note), -ENOENT);
	assert_int_equal(usdt_note_find(fd, "tpbpf", "first", &note), -ENOENT);
	assert_int_equal(usdt_note_find(fd, "tpbpf_test", "nowhere", &note), -ENOENT);
	/* A semaphore that nobody could count in. */
	assert_int_equal(usdt_note_find(fd, "tpbpf_test", "readonly", &note), -ENOENT);
	assert_true(note.site_offset == 1 && note.semaphore_offset == 2);
	close(fd);
	fd = open("/etc/passwd", O_RDONLY);
	assert_int_equal(usdt_note_find(fd, "tpbpf_test", "first", &note), -ENOEXEC);
	close(fd);
}

static void damaged_files_are_survived(void **state)
{
	static char whole[8 << 20];
	char path[] = "/tmp/tpbpf-note-XXXXXX";
	uint64_t random = 88172645463325252ULL;
	int fd = self(), copy = mkstemp(path), i;
	ssize_t size = read(fd, whole, sizeof(whole));
	const Elf64_Ehdr *head = (const void *)whole;
	struct usdt_note note;

	(void)state;
	close(fd);
	assert_true(size > 4096 && size < (ssize_t)sizeof(whole) && copy >= 0);
	for (i = 0; i < 400; i++) {
		size_t at[4], k;
		char saved[4];

		for (k = 0; k < 4; k++) {
			/* The heads of the file, of its sections, or anywhere. */
			at[k] = k == 0	? random_next(&random) % 64
				: k < 3 ? head->e_shoff + random_next(&random) %
								  ((size_t)size - head->e_shoff)
					: random_next(&random) % (size_t)size;
			saved[k] = whole[at[k]];
		}
		for (k = 0; k < 4; k++)
			whole[at[k]] = (char)random_next(&random);
		assert_int_equal(pwrite(copy, whole, (size_t)size, 0), size);
		usdt_note_find(copy, "tpbpf_test", "first", &note);
		for (k = 4; k--;)
			whole[at[k]] = saved[k];
	}
	close(copy);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(site_and_semaphore_are_found_in_the_file),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(damaged_files_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
