package main

import (
	"github.com/spf13/pflag"
)

// frozenFlag has a command start only what is locked.
func (a *app) frozenFlag(f *pflag.FlagSet) {
	f.BoolVar(&a.launch.Frozen, "frozen", false, "start only programs that junction.lock has and that are installed (junction install does that); for CI and teams")
}
