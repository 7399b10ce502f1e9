package main

import (
	"cmp"
	"context"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cli"
)

// settings loads the settings for cmd, which delivers nothing to sinks and needs
// no secrets. All that is wrong is reported at once.
func (p *program) settings(cmd *cobra.Command) (config.Settings, error) {
	return p.load(cmd, true)
}

// fetchSettings is settings for a verb that fetches what a source would be: private addresses that
// the daemon of the data directory may poll are allowed. Those of a daemon elsewhere are not: its
// network is another, and it must not open this machine's.
func (p *program) fetchSettings(cmd *cobra.Command) (config.Settings, error) {
	s, err := p.settings(cmd)
	if err == nil {
		s.Fetch.Allow = append(s.Fetch.Allow, allowedBy(cmd.Context(), daemonHere(cmd.Context(), s.Data))...)
	}
	return s, err
}

// allowedByDaemon returns the private addresses that the daemon may poll which --server names or,
// without that, the one of the data directory.
func (p *program) allowedByDaemon(cmd *cobra.Command, data string) []netip.Prefix {
	if cmp.Or(cmd.Flag("server").Value.String(), p.env("FRESHET_SERVER")) == "" {
		return allowedBy(cmd.Context(), daemonHere(cmd.Context(), data))
	}
	c, err := p.connect(cmd, app.Reading)
	if err != nil {
		return nil
	}
	return allowedBy(cmd.Context(), c)
}

// daemonHere returns a connection to the daemon that uses a data directory; nil if none runs.
func daemonHere(ctx context.Context, data string) *connection {
	a, err := app.ReadAddress(data)
	if err != nil || a.URL == "" || !a.Answers(ctx) {
		return nil
	}
	return remote(a.URL, a.Token, a.Trust())
}

// allowedBy returns the private addresses that a daemon may poll, and closes the connection. If there
// is no daemon, or it does not say, the settings of the command alone count.
func allowedBy(ctx context.Context, c *connection) []netip.Prefix {
	if c == nil {
		return nil
	}
	defer c.close()
	settings, err := c.Settings(ctx)
	if err != nil {
		return nil
	}
	allowed, err := config.ParsePrefixes(strings.Join(settings.AllowCIDR, ","))
	if err != nil {
		return nil
	}
	return allowed
}

// sendingSettings is settings for a verb that delivers to sinks, and so needs their secrets.
func (p *program) sendingSettings(cmd *cobra.Command) (config.Settings, error) {
	return p.load(cmd, false)
}

func (p *program) load(cmd *cobra.Command, noSecrets bool) (config.Settings, error) {
	if err := cmd.Context().Err(); err != nil {
		return config.Defaults(p.env), err
	}
	file, err := p.configFile(cmd)
	if err != nil {
		return config.Defaults(p.env), err
	}
	s, err := config.Load(config.Input{File: file, Env: p.env, NoSecrets: noSecrets, Flag: func(name string) (string, bool) {
		f := cmd.Flag(name)
		if f == nil || !f.Changed {
			return "", false
		}
		return f.Value.String(), true
	}})
	s.Render.Launch = launcher()
	return s, err
}

// configFile returns the file that was named, or else the one that is found; "" if
// there is none, or none is wanted.
func (p *program) configFile(cmd *cobra.Command) (string, error) {
	named, given := namedFile(cmd, p.env)
	switch {
	case named == "none" || given && named == "":
		return "", nil
	case named != "":
		return named, nil
	}
	return config.Find(p.env)
}

// namedFile returns what the flag says or, if it was not given, the environment.
func namedFile(cmd *cobra.Command, env func(string) string) (name string, byFlag bool) {
	if f := cmd.Flag("config"); f != nil && f.Changed {
		return f.Value.String(), true
	}
	return env("FRESHET_CONFIG"), false
}

// sayFile prints which file the settings come from, unless the user named it.
func (p *program) sayFile(cmd *cobra.Command, s config.Settings) {
	if named, _ := namedFile(cmd, p.env); named == "" && s.File != "" {
		p.remark("note: using settings from %s", s.File)
	}
}

// optionFlags adds the flags of the options named to a set.
func optionFlags(set *pflag.FlagSet, names ...string) {
	for _, name := range names {
		o := config.FlagOption(name)
		set.Var(&optionFlag{Option: o}, o.Flag, o.Help+" ["+o.Env+"]")
		if o.Switch {
			set.Lookup(o.Flag).NoOptDefVal = "on"
		}
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
