# How all programs are compiled where CFLAGS and LDFLAGS say nothing. They run as root and read what strangers wrote: buffers are checked, the stack is
# guarded, the tables of functions are read-only once the program runs. DEBUG= leaves out what a debugger wants.
DEBUG ?= -g
CFLAGS ?= -O2 $(DEBUG) $(if $(SANITIZE),,-fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=2)
LDFLAGS ?= $(if $(SANITIZE),,-Wl,-z,relro,-z,now)
