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
LIBS = $(call static_or,bpf) $(call static_or,capstone) -lelf -lz -lpthread

# A distribution's bpftool may be a wrapper that looks for the running kernel's own; tools/setup.sh then
# links one that works.
ifndef BPFTOOL
BPFTOOL := $(shell for t in $(CURDIR)/build/bpftool bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool /usr/lib/linux-tools-*/bpftool; \
	do "$$t" version >/dev/null 2>&1 && echo "$$t" && exit; done; echo bpftool)
endif
BPF_CFLAGS = -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Wall -Wextra -Werror -Iinclude -Ibpf
# clang for the bpf target looks nowhere by itself: its own list for the host comes last.
BPF_INCLUDES = $(shell $(CLANG) -v -E - </dev/null 2>&1 | sed -n '/<...> search starts here:/,/End of search/{ s| \(/.*\)|-idirafter \1|p }')

SOURCES := $(filter-out user/main.c,$(wildcard user/*.c user/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNITS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/unit/%)
C_FILES := $(wildcard user/*.[ch] user/*/*.[ch] include/*.h bpf/*.[ch] tests/unit/*.[ch] tests/sites/*.[ch])

.PHONY: all demo demo-run check check-run unit e2e lint san valgrind setup install uninstall clean help bench-wait
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/tpbpf

help:
	@echo 'make demo        set up, build, and capture the bundled example job (as root)'
	@echo 'make check       set up, build, and run every test that can run here (as root for all of them)'
	@echo 'make all         build/tpbpf'
	@echo 'make unit        unit tests, no privileges'
	@echo 'make e2e         end-to-end tests, as root; e2e TESTS=1 runs those whose name begins with 1'
	@echo 'make san         unit tests and capture replay under ASan and UBSan, in build/san'
	@echo 'make valgrind    unit tests under valgrind'
	@echo 'make lint        format, static analysis, layering, size of functions and files'
	@echo 'make bench-wait  what the wait phase costs a job, measured (as root)'
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

$(BUILD)/user/%.o: user/%.c | $(BUILD)/generated/trace.skel.h
	$(say) CC $<
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) $(DEPFLAGS) -c -o $@ $<

# Only this object sees the skeleton; its dependency file names it from the second build on.
$(BUILD)/user/attach/probe.o: $(BUILD)/generated/trace.skel.h

$(BUILD)/bpf/trace.bpf.o: bpf/trace.bpf.c
	$(say) CLANG-BPF $<
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) $(BPF_INCLUDES) $(DEPFLAGS) -c -o $@ $<

$(BUILD)/generated/trace.skel.h: $(BUILD)/bpf/trace.bpf.o
	$(say) SKELETON $@
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen object $(BUILD)/bpf/trace.linked.o $< && \
		$(BPFTOOL) gen skeleton $(BUILD)/bpf/trace.linked.o name trace_bpf > $@

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/core.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) -Itests $(DEPFLAGS) -MF $@.d -o $@ $< \
		$(BUILD)/core.a $(LIBS) -lcmocka -lcjson

$(BUILD)/tests/check_sites: tests/sites/check_sites.c $(BUILD)/core.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) $(DEPFLAGS) -MF $@.d -o $@ $< $(BUILD)/core.a $(LIBS)

units: $(UNITS)

unit: $(UNITS)
	tests/run-units.sh $(BUILD)/tests/unit

valgrind: $(UNITS)
	RUNNER='valgrind -q --error-exitcode=1 --leak-check=full' tests/run-units.sh $(BUILD)/tests/unit

san:
	$(Q)$(MAKE) --no-print-directory SAN=1 BUILD=$(BUILD)/san $(BUILD)/san/tpbpf unit

e2e: all standin $(BUILD)/tests/check_sites
	tests/e2e/run.sh $(TESTS)

-include tests/e2e/targets/standin/standin.mk

bench-wait: all
	tools/bench_wait.py

lint: $(BUILD)/generated/trace.skel.h
	tools/lint.sh $(C_FILES)

install: all
	install -D -m 755 $(BUILD)/tpbpf $(DESTDIR)$(PREFIX)/bin/tpbpf

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/tpbpf

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
