whatis("mpi4py: MPI from Python, with the image's Open MPI")
family("python_environment")
prepend_path("PATH", "/opt/ml/mpi4py/bin")
setenv("VIRTUAL_ENV", "/opt/ml/mpi4py")
