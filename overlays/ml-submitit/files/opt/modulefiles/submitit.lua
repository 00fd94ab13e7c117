whatis("Submitit: Python functions as Slurm jobs")
family("python_environment")
prepend_path("PATH", "/opt/ml/submitit/bin")
setenv("VIRTUAL_ENV", "/opt/ml/submitit")
