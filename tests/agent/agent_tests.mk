# Tests of the agent. They are run with the other unit tests, and by san and valgrind as well.
AGENT_TEST_SRC := tests/agent
AGENT_TESTS := $(patsubst $(AGENT_TEST_SRC)/%.c,$(BUILD)/tests/unit/%,$(wildcard $(AGENT_TEST_SRC)/test_agent_*.c))
UNITS += $(AGENT_TESTS)
C_FILES += $(wildcard tests/agent/*.[ch] tests/fakes/*.[ch] tests/e2e/targets/cuda/*.[ch])

# The agent without its way in and its way out.
AGENT_TESTED := $(filter-out user/agent/agent.c user/agent/handover.c,$(AGENT_SOURCES))
AGENT_TESTED_OBJECTS := $(AGENT_TESTED:user/agent/%.c=$(BUILD)/agent-test/%.o)
AGENT_TEST_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(SANFLAGS) -pthread -Iuser -Iinclude -Itests \
	-I$(FAKE_SRC) '-DFAKE_CUPTI_PATH="$(abspath $(FAKE_CUPTI))"' '-DFAKES_PATH="$(abspath $(FAKES))"' \
	'-DAGENT_PATH="$(abspath $(BUILD)/libtpbpf-agent.so)"'

$(BUILD)/agent-test/%.o: user/agent/%.c
	$(say) CC $<
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(AGENT_TEST_CFLAGS) $(DEPFLAGS) -c -o $@ $<

AGENT_HARNESS := $(AGENT_TEST_SRC)/agent_harness.c $(AGENT_TEST_SRC)/agent_compare.c $(CUDA_JOB_SRC)/work.c
AGENT_TEST_HEADERS := $(wildcard $(AGENT_TEST_SRC)/*.h include/agent_wire.h user/agent/*.h)

$(AGENT_TESTS): $(BUILD)/tests/unit/%: $(AGENT_TEST_SRC)/%.c $(AGENT_HARNESS) $(AGENT_TESTED_OBJECTS) \
		$(AGENT_TEST_HEADERS) $(FAKE_FILES) $(BUILD)/libtpbpf-agent.so
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(AGENT_TEST_CFLAGS) '-Wl,-rpath,$(abspath $(FAKES))' -o $@ \
		$< $(AGENT_HARNESS) $(AGENT_TESTED_OBJECTS) -L$(FAKES) -l:libcudart.so.12 -l:libcuda.so.1 -ldl -lcmocka

# The threads of the agent, and CUPTI's, under ThreadSanitizer.
tsan:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SANFLAGS='-fsanitize=thread -fno-omit-frame-pointer' tsan-run

tsan-run: $(AGENT_TESTS)
	tests/run-units.sh $(BUILD)/tests/unit
.PHONY: tsan tsan-run

# The agent against the headers and the libraries of real CUPTI, from the package index.
conformance: $(AGENT_TESTED_OBJECTS) $(FAKE_FILES)
	tests/agent/conformance.sh $(BUILD)
.PHONY: conformance

# The collector's side in small, for the end-to-end test of the agent.
$(BUILD)/tests/agent/capture.skel.h: $(AGENT_TEST_SRC)/capture.bpf.c include/agent_wire.h
	$(say) SKELETON $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) $(BPF_INCLUDES) -c -o $(@D)/capture.bpf.o $< && \
		$(BPFTOOL) gen object $(@D)/capture.linked.o $(@D)/capture.bpf.o && \
		$(BPFTOOL) gen skeleton $(@D)/capture.linked.o name capture_bpf > $@

$(BUILD)/tests/agent/capture: $(AGENT_TEST_SRC)/capture.c $(BUILD)/tests/agent/capture.skel.h $(BUILD)/core.a
	$(say) TEST $@
	$(Q)$(CC) $(CFLAGS) $(CORE_CFLAGS) -isystem $(BUILD)/tests/agent -o $@ $< $(BUILD)/core.a $(LIBS)

agent-capture: $(BUILD)/tests/agent/capture $(BUILD)/libtpbpf-agent.so
.PHONY: agent-capture
