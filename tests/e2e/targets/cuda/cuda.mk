# The simulated CUDA job, on the stand-ins of tests/fakes.
CUDA_JOB := $(BUILD)/cuda_job
CUDA_JOB_SRC := tests/e2e/targets/cuda

$(CUDA_JOB): $(wildcard $(CUDA_JOB_SRC)/*.[ch]) $(FAKE_CUDA) $(FAKE_CUDART) $(FAKE_HEADERS)
	$(say) TARGET $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror $(SANFLAGS) -pthread -I$(FAKE_SRC) \
		'-Wl,-rpath,$$ORIGIN/fakes' -o $@.tmp $(filter %.c,$^) -L$(FAKES) -l:libcudart.so.12 \
		-l:libcuda.so.1 -ldl && mv -f $@.tmp $@

# The same with CUPTI linked in, as some builds of PyTorch: its functions cannot be looked up from outside.
$(CUDA_JOB)-static: $(CUDA_JOB) $(FAKE_CUPTI_SOURCES)
	$(say) TARGET $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -pthread -I$(FAKE_SRC) \
		'-Wl,-rpath,$$ORIGIN/fakes' -o $@.tmp $(wildcard $(CUDA_JOB_SRC)/*.c) $(FAKE_CUPTI_SOURCES) \
		-L$(FAKES) -l:libcudart.so.12 -l:libcuda.so.1 -ldl && mv -f $@.tmp $@

cuda-job: $(CUDA_JOB) $(CUDA_JOB)-static $(FAKE_FILES)
.PHONY: cuda-job
