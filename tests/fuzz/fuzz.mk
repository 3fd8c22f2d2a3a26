# Fuzzing. A target is one file tests/fuzz/fuzz_NAME.c; its seeds lie in tests/fuzz/corpus/NAME.
#
#   make fuzz [TARGETS='elf names'] [FUZZ_SECONDS=1800] [FUZZ_JOBS=1]
#   make fuzz-short     20 seconds each
#   make fuzz-merge     what the last runs found and the corpus does not reach goes into it
#
# The corpus is gone through by `make unit` as well, without libFuzzer (replay.c).

FUZZ_SECONDS ?= 1800
FUZZ_JOBS ?= 1
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
TARGETS ?= $(FUZZ_TARGETS)

# Seeds that are made here: stored, they would be blobs that nobody can look into.
FUZZ_MADE := $(BUILD)/fuzz-seeds
FUZZ_SEEDS := $(FUZZ_MADE)/elf/library.so $(FUZZ_MADE)/capture_file/job.raw
FUZZ_WITH_MADE := elf capture_file names

FUZZ_LDFLAGS_elf := -Wl,--wrap=elf_begin
FUZZ_LDFLAGS_proc := -Wl,--wrap=fopen
fuzz_corpus = tests/fuzz/corpus/$(1)$(if $(filter $(1),$(FUZZ_WITH_MADE)), $(FUZZ_MADE)/$(1))

C_FILES += $(wildcard tests/fuzz/*.[ch])

.PHONY: fuzz fuzz-short fuzz-merge fuzz-programs

# ---- as unit tests, by any compiler ----

FUZZ_UNITS := $(FUZZ_TARGETS:%=$(BUILD)/tests/unit/test_fuzz_%)

unit valgrind units: $(FUZZ_UNITS)

# The target comes last among the sources: the dependencies that are written are those of the last.
$(BUILD)/tests/unit/test_fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/one_input.c tests/fuzz/replay.c $(BUILD)/core.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) -Itests '-DFUZZ_CORPUS="$(call fuzz_corpus,$*)"' \
		$(DEPFLAGS) -MF $@.d -o $@ tests/fuzz/one_input.c tests/fuzz/replay.c $< $(BUILD)/core.a $(FUZZ_LDFLAGS_$*) $(LIBS) -lcmocka -lcjson -lz

$(FUZZ_WITH_MADE:%=$(BUILD)/tests/unit/test_fuzz_%): | $(FUZZ_SEEDS)

$(BUILD)/tests/seeds: tests/fuzz/seeds.c $(BUILD)/core.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) -Itests $(DEPFLAGS) -MF $@.d -o $@ $< $(BUILD)/core.a $(LIBS)

$(FUZZ_MADE)/capture_file/job.raw: $(BUILD)/tests/seeds
	$(say) SEED $(FUZZ_MADE)
	$(Q)mkdir -p $(FUZZ_MADE) && $< $(FUZZ_MADE)

$(FUZZ_MADE)/elf/library.so: tests/fuzz/seed_library.c
	$(say) SEED $@
	$(Q)mkdir -p $(@D) && $(CC) -O2 -fPIC -shared -nostdlib -Wl,--hash-style=sysv -Wl,-z,noseparate-code -o $@.tmp $< && mv -f $@.tmp $@

# ---- with libFuzzer: a build of its own, in which FUZZ is set ----

ifdef FUZZ
CC := $(CLANG)
WARNINGS := -w # the ordinary build heeds them; clang does not know all that gcc allows
SANFLAGS := -DSMALL_BOUNDS -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

fuzz-programs: $(TARGETS:%=$(BUILD)/fuzz_%)

$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/one_input.c $(BUILD)/core.a
	$(say) FUZZ $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CORE_CFLAGS) -fsanitize=fuzzer -Itests $(DEPFLAGS) -MF $@.d -o $@ tests/fuzz/one_input.c $< \
		$(BUILD)/core.a $(FUZZ_LDFLAGS_$*) $(LIBS) -lcjson

fuzz fuzz-merge: $(FUZZ_SEEDS)
	$(Q)tests/fuzz/run.sh runtime '$(CLANG)'
	$(Q)$(MAKE) --no-print-directory FUZZ=1 BUILD=$(BUILD)/fuzz TARGETS='$(TARGETS)' fuzz-programs
	$(Q)BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_JOBS=$(FUZZ_JOBS) tests/fuzz/run.sh $@ $(TARGETS)

fuzz-short:
	$(Q)$(MAKE) --no-print-directory FUZZ_SECONDS=20 fuzz
