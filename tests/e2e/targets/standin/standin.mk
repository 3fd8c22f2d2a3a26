# The stand-in target, in four flavours. From the top Makefile by `include`, or alone:
#   make -f tests/e2e/targets/standin/standin.mk BUILD=build standin
#
# $(BUILD)/standin           2.13.0, .symtab kept, as the official wheels
# $(BUILD)/standin-stripped  the same, .dynsym only
# $(BUILD)/standin-2.4       2.4.1: old string ABI, older tensor layout
# $(BUILD)/standin-1.13      1.13.1: legacy record_function, stack protector, stripped, as Debian's

BUILD ?= build
CXX ?= g++
CC ?= gcc
STRIP ?= strip
STANDIN_Q := $(if $(filter 1,$(V)),,@)

STANDIN_SRC := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
STANDIN_FLAVOURS := standin standin-stripped standin-2.4 standin-1.13

STANDIN_VERSION_standin := 2.13.0+standin
STANDIN_VERSION_standin-stripped := 2.13.0+standin
STANDIN_VERSION_standin-2.4 := 2.4.1+standin
STANDIN_VERSION_standin-1.13 := 1.13.1+standin

# The shapes of the probed functions depend on these: the wheels have no endbr64 and no canary.
STANDIN_SHAPE := -fcf-protection=none -fno-stack-protector
STANDIN_FLAGS_standin := -DSTANDIN_TORCH=213 $(STANDIN_SHAPE)
STANDIN_FLAGS_standin-stripped := $(STANDIN_FLAGS_standin)
STANDIN_FLAGS_standin-2.4 := -DSTANDIN_TORCH=204 -D_GLIBCXX_USE_CXX11_ABI=0 $(STANDIN_SHAPE)
STANDIN_FLAGS_standin-1.13 := -DSTANDIN_TORCH=113 -fcf-protection=none -fstack-protector-strong
STANDIN_STRIP_standin-stripped := y
STANDIN_STRIP_standin-1.13 := y

# Unique symbols would keep a library in memory that is given up (standin-host).
STANDIN_CXXFLAGS := -std=c++17 -O2 -Wall -Wextra -Werror -Wno-missing-field-initializers \
	-fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique -pthread -MMD -MP \
	-I$(STANDIN_SRC)

STANDIN_CPU_SRCS := record_function profiler_ops autograd operators schemas tensors kernels \
	kernels_views tick
STANDIN_PYTHON_SRCS := bindings functions
STANDIN_INTERPRETER_SRCS := python
STANDIN_C10_SRCS := fault ledger memory
STANDIN_JOB_SRCS := job options truth model crew workers hostile_names operator_work throw_all lies deeds \
	confine workload gpu
STANDIN_PROGRAM_SRCS := main $(STANDIN_JOB_SRCS)

.PHONY: standin standin-clean
standin: $(foreach f,$(STANDIN_FLAVOURS),$(BUILD)/$(f)/standin) $(BUILD)/standin/standin-host

standin-clean:
	rm -rf $(foreach f,$(STANDIN_FLAVOURS),$(BUILD)/$(f) $(BUILD)/obj-$(f))

# A library is linked under a temporary name, so that a process that maps the old file keeps it.
# $(call standin_library,FLAVOUR,NAME,SOURCES,NEEDED LIBRARIES)
define standin_library
$(BUILD)/$(1)/torch/lib/lib$(2).so: $(foreach s,$(3),$(BUILD)/obj-$(1)/$(s).o) \
		$(foreach n,$(4),$(BUILD)/$(1)/torch/lib/lib$(n).so)
	@mkdir -p $$(@D)
	$(STANDIN_Q)$(CXX) -shared -pthread -Wl,-soname,lib$(2).so '-Wl,-rpath,$$$$ORIGIN' -o $$@.tmp \
		$(foreach s,$(3),$(BUILD)/obj-$(1)/$(s).o) -L$(BUILD)/$(1)/torch/lib \
		-Wl,--no-as-needed $(foreach n,$(4),-l$(n))
	$(if $(STANDIN_STRIP_$(1)),$(STANDIN_Q)$(STRIP) --strip-all $$@.tmp)
	$(STANDIN_Q)mv -f $$@.tmp $$@
endef

define standin_flavour
# Strings of one alignment, so that the linker keeps one as the end of another whatever its length.
$(BUILD)/obj-$(1)/schemas.o: STANDIN_CXXFLAGS += -malign-data=abi
$(BUILD)/obj-$(1)/%.o: $(STANDIN_SRC)/%.cpp $(STANDIN_SRC)/standin.mk
	@mkdir -p $$(@D)
	$(STANDIN_Q)$(CXX) $(STANDIN_CXXFLAGS) $(STANDIN_FLAGS_$(1)) -c -o $$@ $$<

$(call standin_library,$(1),python3.11,$(STANDIN_INTERPRETER_SRCS),)
$(call standin_library,$(1),c10,$(STANDIN_C10_SRCS),)
$(call standin_library,$(1),torch_cpu,$(STANDIN_CPU_SRCS),c10)
$(call standin_library,$(1),torch_python,$(STANDIN_PYTHON_SRCS),torch_cpu c10)

$(BUILD)/$(1)/torch/_C.cpython-311-x86_64-linux-gnu.so: $(STANDIN_SRC)/extension.c \
		$(BUILD)/$(1)/torch/lib/libtorch_python.so
	@mkdir -p $$(@D)
	$(STANDIN_Q)$(CC) -shared -fPIC -O2 -Wall -Wextra '-Wl,-rpath,$$$$ORIGIN/lib' -o $$@.tmp $$< \
		-L$(BUILD)/$(1)/torch/lib -Wl,--no-as-needed -ltorch_python
	$(STANDIN_Q)mv -f $$@.tmp $$@

$(BUILD)/$(1)/torch/version.py: $(STANDIN_SRC)/version.py.in $(STANDIN_SRC)/standin.mk
	@mkdir -p $$(@D)
	$(STANDIN_Q)sed 's/@VERSION@/$(STANDIN_VERSION_$(1))/' $$< > $$@

$(BUILD)/$(1)/standin: $(foreach s,$(STANDIN_PROGRAM_SRCS),$(BUILD)/obj-$(1)/$(s).o) \
		$(BUILD)/$(1)/torch/lib/libtorch_python.so $(BUILD)/$(1)/torch/lib/libpython3.11.so \
		$(BUILD)/$(1)/torch/version.py $(BUILD)/$(1)/torch/_C.cpython-311-x86_64-linux-gnu.so
	@echo "  STANDIN $$@"
	$(STANDIN_Q)$(CXX) -pthread '-Wl,-rpath,$$$$ORIGIN/torch/lib' -o $$@.tmp \
		$(foreach s,$(STANDIN_PROGRAM_SRCS),$(BUILD)/obj-$(1)/$(s).o) \
		-L$(BUILD)/$(1)/torch/lib -Wl,--no-as-needed -ltorch_python -ltorch_cpu -lc10 \
		-lpython3.11 -ldl
	$(STANDIN_Q)mv -f $$@.tmp $$@

-include $(wildcard $(BUILD)/obj-$(1)/*.d)
endef

$(foreach f,$(STANDIN_FLAVOURS),$(eval $(call standin_flavour,$(f))))

# The program's objects once more, to be loaded and given up by a program that knows none of them.
$(BUILD)/standin/libstandin_job.so: $(STANDIN_JOB_SRCS:%=$(BUILD)/obj-standin/%.o) \
		$(BUILD)/standin/torch/lib/libtorch_python.so $(BUILD)/standin/torch/lib/libpython3.11.so
	$(STANDIN_Q)$(CXX) -shared -pthread '-Wl,-rpath,$$ORIGIN/torch/lib' -o $@.tmp \
		$(STANDIN_JOB_SRCS:%=$(BUILD)/obj-standin/%.o) -L$(BUILD)/standin/torch/lib \
		-Wl,--no-as-needed -ltorch_python -ltorch_cpu -lc10 -lpython3.11 -ldl
	$(STANDIN_Q)mv -f $@.tmp $@

$(BUILD)/standin/standin-host: $(STANDIN_SRC)/host.c $(STANDIN_SRC)/job.h \
		$(BUILD)/standin/libstandin_job.so $(BUILD)/standin/standin
	$(STANDIN_Q)$(CC) -O2 -Wall -Wextra -Werror -pthread -I$(STANDIN_SRC) -o $@.tmp $< -ldl
	$(STANDIN_Q)mv -f $@.tmp $@
