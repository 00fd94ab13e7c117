# $(call say,CC,FILE): a line for each thing that is made, but with V=1, where the commands are shown. By make itself: a shell for each would take
# longer than some compilers' runs. Names are below $(say_below), where a Makefile sets that.
say = $(if $(V),,$(info $(empty)  $(if $(filter GEN,$(1)),GEN ,$(1)  ) $(patsubst $(say_below)/%,%,$(2))))
