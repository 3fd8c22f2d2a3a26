# tpbpf: `make help` lists the targets. Everything that is made lies under build/.

ifneq ($(shell uname -m),x86_64)
$(error tpbpf reads x86-64 machine code and runs on x86-64 only)
endif

BUILD ?= build
CC ?= gcc
CXX ?= g++
CLANG ?= clang
PREFIX ?= /usr/local
DESTDIR ?=

V ?= 0
ifeq ($(V),1)
Q =
say = @:
else
Q = @
say = @printf '  %-9s %s\n'
endif

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wdeclaration-after-statement -Wformat=2 -Wundef -Wvla -Wpointer-arith -Wwrite-strings
CFLAGS ?= -O2 -g
ifdef SAN
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# Generated headers are somebody else's code to the warnings.
CORE_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(SANFLAGS) -Iuser -Iinclude -isystem $(BUILD)/generated
DEPFLAGS = -MMD -MP -MT $@

# The program should run where only libc, libelf and zlib are: what has a static library is linked so.
static_or = $(if $(wildcard $(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
LIBS = $(call static_or,bpf) $(call static_or,capstone) $(call static_or,supc++) -lelf -lz -lpthread

# A distribution's bpftool may be a wrapper that looks for the running kernel's own; tools/setup.sh then
# links one that works.
ifndef BPFTOOL
BPFTOOL := $(shell for t in $(CURDIR)/build/bpftool bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool /usr/lib/linux-tools-*/bpftool; \
	do "$$t" version >/dev/null 2>&1 && echo "$$t" && exit; done; echo bpftool)
endif
BPF_CFLAGS = -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Wall -Wextra -Werror -Iinclude -Ibpf
# clang for the bpf target looks nowhere by itself: its own list for the host comes last.
BPF_INCLUDES = $(shell $(CLANG) -v -E - </dev/null 2>&1 | sed -n '/<...> search starts here:/,/End of search/{ s| \(/.*\)|-idirafter \1|p }')

SOURCES := $(filter-out user/main.c user/agent/%,$(wildcard user/*.c user/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNITS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/unit/%)
C_FILES := $(wildcard user/*.[ch] user/*/*.[ch] include/*.h bpf/*.[ch] tests/unit/*.[ch] tests/support/*.[ch] tests/sites/*.[ch])

.PHONY: all gpu-demo demo demo-run check check-run unit e2e e2e-gpu lint san valgrind setup install uninstall clean help e2e-san e2e-valgrind bench bench-wait bench-agent bench-collector
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/tpbpf $(BUILD)/libtpbpf-agent.so

help:
	@echo 'make demo        set up, build, and capture the bundled example job (as root)'
	@echo 'make check       set up, build, and run every test that can run here (as root for all of them)'
	@echo 'make all         build/tpbpf and build/libtpbpf-agent.so'
	@echo 'make gpu-demo OUT=DIR  a simulated GPU job of two ranks, its traces and its truth (as root)'
	@echo 'make unit        unit tests, no privileges'
	@echo 'make e2e         end-to-end tests, as root; e2e TESTS=1 runs those whose name begins with 1'
	@echo 'make e2e-gpu     those of a real GPU, against torch.profiler, as root; where there is none they are skipped by name'
	@echo 'make harm        everything a target may do against everything that may happen to tpbpf, as root; harm-short; CELLS=PATTERN'
	@echo 'make matrix      the end-to-end tests on Linux 6.1 and 6.12, booted under QEMU, and on this kernel; KERNELS=6.1 on that one'
	@echo 'make san         unit tests and capture replay under ASan and UBSan, in build/san'
	@echo 'make valgrind    unit tests under valgrind'
	@echo 'make e2e-san     end-to-end tests of a tpbpf with ASan and UBSan, as root; e2e-valgrind: of one under valgrind'
	@echo 'make fuzz        libFuzzer on everything that reads from the job or from a file, 30 minutes a target; fuzz-short: 20 s'
	@echo 'make lint        format, static analysis, layering, size of functions and files'
	@echo 'make bench       what a window costs, beside torch.profiler; bench-wait, bench-agent, bench-collector (as root)'
	@echo 'make install     to PREFIX (/usr/local), DESTDIR; make uninstall; make clean'
	@echo 'V=1 shows the commands; BUILD=DIR builds elsewhere'

setup:
	tools/setup.sh

# Two steps: what set-up installs must be there before the second make looks for it.
demo: setup
	$(Q)$(MAKE) --no-print-directory all
	tools/demo.sh

check: setup
	$(Q)$(MAKE) --no-print-directory check-run

check-run: all
	tests/run.sh

$(BUILD)/tpbpf: $(BUILD)/user/main.o $(BUILD)/core.a
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/core.a: $(OBJECTS)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/user/%.o: user/%.c | $(BUILD)/generated/trace.skel.h $(BUILD)/generated/agent.skel.h
	$(say) CC $<
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) $(DEPFLAGS) -c -o $@ $<

# Only these objects see a skeleton; their dependency files name it from the second build on.
$(BUILD)/user/attach/probe.o: $(BUILD)/generated/trace.skel.h
$(BUILD)/user/attach/agent_probe.o: $(BUILD)/generated/agent.skel.h

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	$(say) CLANG-BPF $<
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) $(BPF_INCLUDES) $(DEPFLAGS) -c -o $@ $<

$(BUILD)/generated/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(say) SKELETON $@
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen object $(BUILD)/bpf/$*.linked.o $< && \
		$(BPFTOOL) gen skeleton $(BUILD)/bpf/$*.linked.o name $*_bpf > $@

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/core.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) -Itests $(DEPFLAGS) -MF $@.d -o $@ $< \
		$(BUILD)/core.a $(LIBS) -lcmocka -lcjson

$(BUILD)/tests/check_sites: tests/sites/check_sites.c $(BUILD)/core.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) $(DEPFLAGS) -MF $@.d -o $@ $< $(BUILD)/core.a $(LIBS)

-include user/agent/agent.mk
-include tests/fakes/fakes.mk
-include tests/e2e/targets/cuda/cuda.mk
-include tests/e2e/targets/inject/inject.mk
-include tests/agent/agent_tests.mk

units: $(UNITS)

unit: $(UNITS)
	tests/run-units.sh $(BUILD)/tests/unit

valgrind: $(UNITS)
	RUNNER='valgrind -q --error-exitcode=1 --leak-check=full' tests/run-units.sh $(BUILD)/tests/unit

# ASan's large frames keep what the loader left on the stack where it resolved a name late: such a thread is not to be injected into,
# and test_inject_trace wants one that is.
san:
	$(Q)LD_BIND_NOW=1 $(MAKE) --no-print-directory SAN=1 BUILD=$(BUILD)/san $(BUILD)/san/tpbpf unit

e2e: all standin $(BUILD)/tests/check_sites
	tests/e2e/run.sh $(TESTS)

# What needs a GPU and a PyTorch that uses it; `make e2e` runs it too.
e2e-gpu: all standin fakes agent
	tests/e2e/run.sh 75_real_gpu

# A finding ends the program with 99, which no test takes for an answer.
e2e-san: all standin $(BUILD)/tests/check_sites
	$(Q)$(MAKE) --no-print-directory SAN=1 BUILD=$(BUILD)/san $(BUILD)/san/tpbpf
	ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99:print_stacktrace=1 TPBPF_TEST_SANITIZED=1 TPBPF=$(CURDIR)/$(BUILD)/san/tpbpf \
		tests/e2e/run.sh $(TESTS)

# The program with the few answers that it cannot find itself under valgrind. A finding ends it with 99.
VALGRIND_WRAPPED = kernel_check_filter site_cost_measure
$(BUILD)/valgrind/tpbpf: tests/support/under_valgrind.c $(BUILD)/user/main.o $(BUILD)/core.a $(BUILD)/libtpbpf-agent.so
	$(say) LINK $@
	$(Q)mkdir -p $(@D) && cp $(BUILD)/libtpbpf-agent.so $(@D)/ && $(CC) $(CFLAGS) $(CORE_CFLAGS) $(DEPFLAGS) -MF $@.d $(LDFLAGS) \
		$(VALGRIND_WRAPPED:%=-Wl,--wrap=%) -o $@ $(filter %.c %.o %.a,$^) $(LIBS)

e2e-valgrind: all standin $(BUILD)/valgrind/tpbpf $(BUILD)/tests/check_sites
	tests/support/valgrind.sh
	TPBPF_BINARY=$(CURDIR)/$(BUILD)/valgrind/tpbpf TPBPF=$(CURDIR)/tests/support/under_valgrind.sh TPBPF_TEST_MUTATIONS=60 \
		TPBPF_TEST_SANITIZED=1 TPBPF_TEST_LEAVE_OUT="$$(cat tests/support/left_out_under_valgrind)" \
		TPBPF_TEST_SLOW=5 TPBPF_TEST_TIMEOUT=3000 tests/e2e/run.sh $(TESTS)

-include tests/e2e/targets/standin/standin.mk
-include tests/harm/harm.mk
-include tests/fuzz/fuzz.mk
-include tools/matrix.mk

# The simulated job as two ranks, their traces in OUT/trace/ and the device's own truth in OUT/truth.json.
gpu-demo: all standin fakes agent
	@test -n "$(OUT)" || { echo 'gpu-demo: say where to: make gpu-demo OUT=DIR'; exit 2; }
	tests/e2e/gpu_demo.py $(OUT)

bench: all
	tools/bench_overhead.py

bench-wait: all
	tools/bench_wait.py

bench-agent: all standin fakes agent
	tools/bench_agent.py

bench-collector: all
	tools/bench_collector.py

lint: $(BUILD)/generated/trace.skel.h $(BUILD)/generated/agent.skel.h
	tools/lint.sh $(C_FILES)

install: all
	install -D -m 755 $(BUILD)/tpbpf $(DESTDIR)$(PREFIX)/bin/tpbpf
	install -D -m 755 $(BUILD)/libtpbpf-agent.so $(DESTDIR)$(PREFIX)/lib/libtpbpf-agent.so

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/tpbpf $(DESTDIR)$(PREFIX)/lib/libtpbpf-agent.so

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
