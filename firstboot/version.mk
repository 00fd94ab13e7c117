# The version of all programs: imgbuild's, the agent's, ncclbench's. The agent is compiled inside images, where this
# folder is all there is.
VERSION := 0.1
