whatis("PyTorch: training on one node or several, torchrun")
family("python_environment")
prepend_path("PATH", "/opt/ml/torch/bin")
setenv("VIRTUAL_ENV", "/opt/ml/torch")
