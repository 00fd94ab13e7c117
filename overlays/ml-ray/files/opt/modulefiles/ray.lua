whatis("Ray: tasks and actors on all nodes of a job, by ray-slurm")
family("python_environment")
prepend_path("PATH", "/opt/ml/ray/bin")
setenv("VIRTUAL_ENV", "/opt/ml/ray")
