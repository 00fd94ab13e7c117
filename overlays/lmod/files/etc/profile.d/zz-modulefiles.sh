# After Lmod's own file: the site's module files before the distribution's. Mount a share there for all nodes to have the same.
[ -z "${LMOD_CMD:-}" ] || export MODULEPATH="/opt/modulefiles${MODULEPATH:+:$MODULEPATH}"
