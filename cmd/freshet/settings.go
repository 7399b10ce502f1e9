package main

import (
	"github.com/spf13/cobra"

	"freshet/config"
)

// settings gathers what was set for cmd. All that is wrong is reported at once.
func (p *program) settings(cmd *cobra.Command) (config.Settings, error) {
	if err := cmd.Context().Err(); err != nil {
		return config.Defaults(p.env), err
	}
	s, err := config.Load(config.Input{File: p.configFile(cmd), Env: p.env, Flag: func(name string) (string, bool) {
		f := cmd.Flag(name)
		if f == nil || !f.Changed {
			return "", false
		}
		return f.Value.String(), true
	}})
	return s, err
}

// configFile returns the file that was named, if any.
func (p *program) configFile(cmd *cobra.Command) string {
	if f := cmd.Flag("config"); f != nil && f.Changed {
		return f.Value.String()
	}
	return p.env("FRESHET_CONFIG")
}
