#include "hostile_names.h"

#include "ranges.h"

using namespace std::string_literals;

static std::string repeated(const std::string &text, int times)
{
	std::string out;

	for (int i = 0; i < times; i++)
		out += text;
	return out;
}

// The string's pointer leads nowhere. PyTorch does not look at a name that no profiler wants, so
// neither may what watches it.
static void unreadable_name(Truth &truth)
{
#if STANDIN_TORCH >= 200
	struct {
		uintptr_t text;
		size_t size;
		char local[16];
	} fake = {0x1000, 5, {}};
	standin::PythonRange *range =
		standin::range_enter(*reinterpret_cast<const std::string *>(&fake));

	truth.begun("<unreadable>");
	standin::range_exit(range);
	truth.ended("<unreadable>");
#else
	(void)truth;
#endif
}

void hostile_ranges(Truth &truth)
{
	static const std::string names[] = {
		"quote\" backslash\\ slash/ apostrophe'"s,
		"ends with a backslash\\"s,
		"tab\tnewline\nreturn\rbell\a"s,
		"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J"s,
		"\x01\x02\x1f\x7f"s,
		"C1 control \xc2\x9b" "31m"s,
		"not utf8 \xff\xfe\xc3("s,
		"overlong \xc0\xaf"s,
		"surrogate \xed\xa0\x80"s,
		"beyond unicode \xf4\x90\x80\x80"s,
		"cut short \xe6\x97"s,
		"n\xc3\xa4me \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x94\xa5"s,
		"bidi \xe2\x80\xae" "override \xe2\x80\xa8line"s,
		"nul\0inside"s,
		""s,
		"</script><b>&amp;"s,
		"%s%n%d%1$p"s,
		"Optimizer.step"s,
		"a,b;c"s,
		repeated("x", 10000),
		repeated("\xc3\xa9", 5000),
		repeated("\x1b", 3000),
	};

	for (const std::string &name : names)
		CountedRange range(truth, name);
	unreadable_name(truth);
}
