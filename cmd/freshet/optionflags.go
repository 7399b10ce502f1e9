package main

import (
	"github.com/spf13/pflag"

	"freshet/internal/app/config"
	"freshet/internal/cli"
)

// optionFlags adds the flags of the options named to a set.
func optionFlags(set *pflag.FlagSet, names ...string) {
	for _, name := range names {
		o := config.FlagOption(name)
		set.Var(&optionFlag{Option: o}, o.Flag, o.Help+" ["+o.Env+"]")
	}
}

// An optionFlag holds what was written after a flag until all settings are
// gathered.
type optionFlag struct {
	config.Option
	value string
}

// String returns what was written.
func (f *optionFlag) String() string { return f.value }

// Type returns what the flag takes, for its help.
func (f *optionFlag) Type() string { return f.Arg }

// Set notes what was written.
func (f *optionFlag) Set(v string) error {
	if f.Many && f.value != "" {
		v = f.value + "," + v
	}
	f.value = v
	return nil
}

// wrongFlag returns an error that names the flag that err is about.
func wrongFlag(name string, err error) error { return cli.WrongFlag(name, err) }
