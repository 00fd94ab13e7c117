whatis("NCCL's three examples: one-process, process-per-gpu, gpus-per-process")
prepend_path("PATH", "/opt/nccl-examples")
setenv("NCCL_EXAMPLES", "/opt/nccl-examples")
