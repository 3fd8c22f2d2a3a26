# The stand-ins for libcuda, libcudart and libcupti. Each version of CUPTI has its file name.
FAKES := $(BUILD)/fakes
FAKE_SRC := tests/fakes
FAKE_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -fPIC -fvisibility=hidden -pthread
FAKE_CUDA := $(FAKES)/libcuda.so.1
FAKE_CUDART := $(FAKES)/libcudart.so.12
FAKE_CUPTI := $(FAKES)/libcupti.so.12
FAKE_CUPTIS := $(FAKE_CUPTI) $(FAKES)/libcupti.so.11.8 $(FAKES)/libcupti.so.13 $(FAKES)/libcupti-1ab2c3d4.so.12
FAKE_FILES := $(FAKE_CUDA) $(FAKE_CUDART) $(FAKE_CUPTIS) $(FAKES)/libfakeclock.so

FAKE_HEADERS := $(wildcard $(FAKE_SRC)/*.h)

# $(call fake,NAME,SOURCES,NEEDED): the file NAME, under a temporary name first.
define fake
	$(say) FAKE $@
	$(Q)mkdir -p $(@D) && $(CC) $(FAKE_CFLAGS) $(SANFLAGS) -shared -Wl,-soname,$(1) '-Wl,-rpath,$$ORIGIN' \
		-o $@.tmp $(2) $(3) -ldl && mv -f $@.tmp $@
endef

$(FAKE_CUDA): $(FAKE_SRC)/libcuda.c $(FAKE_SRC)/fake_device.c $(FAKE_SRC)/fake_truth.c $(FAKE_HEADERS)
	$(call fake,libcuda.so.1,$(filter %.c,$^),)

$(FAKE_CUDART): $(FAKE_SRC)/libcudart.c $(FAKE_CUDA) $(FAKE_HEADERS)
	$(call fake,libcudart.so.12,$(filter %.c,$^),-L$(FAKES) -l:libcuda.so.1)

FAKE_CUPTI_SOURCES := $(addprefix $(FAKE_SRC)/,libcupti.c fake_buffers.c fake_clock.c fake_knobs.c)
$(FAKE_CUPTIS): $(FAKE_CUPTI_SOURCES) $(FAKE_CUDA) $(FAKE_HEADERS)
	$(call fake,$(@F),$(filter %.c,$^),-L$(FAKES) -l:libcuda.so.1)

$(FAKES)/libfakeclock.so: $(FAKE_SRC)/libfakeclock.c
	$(call fake,libfakeclock.so,$(filter %.c,$^),)

fakes: $(FAKE_FILES)
.PHONY: fakes
