package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet"
	"freshet/config"
	"freshet/policy"
	"freshet/sched"
)

// An option is one thing to set: the same by a key of the file, a variable of
// the environment or a flag.
type option struct {
	key  string // in the file, with a dot before what is nested
	env  string
	flag string // "" if there is none
	arg  string // what the flag takes, for its help
	help string
	many bool // a list in the file, a flag that can be repeated, commas in the environment
	live bool // a reload takes it on
	set  func(*config.Settings, string) error
	show func(config.Settings) any // as it would be written in the file
}

// options are all of them, in the order in which they are shown.
var options = named(slices.Concat([]option{
	{key: "data", flag: "data", arg: "DIR", help: "where sources and history are kept; default $XDG_DATA_HOME/freshet or ~/.local/share/freshet",
		set: text(func(s *config.Settings) *string { return &s.Data }), show: func(s config.Settings) any { return s.Data }},
	{key: "listen", flag: "listen", arg: "ADDR", help: "address of the API; port 0 takes any free one; default 127.0.0.1:8080",
		set: setListen, show: func(s config.Settings) any { return s.Listen }},
	{key: "api.url", help: "where others reach the API, as told in events",
		set: text(func(s *config.Settings) *string { return &s.PublicURL }), show: func(s config.Settings) any { return s.PublicURL }},
	{key: "api.names", help: "names that the API is called by, besides addresses and localhost", many: true,
		set: func(s *config.Settings, v string) error { s.Names = splitList(v); return nil }, show: func(s config.Settings) any { return s.Names }},
	{key: "budget", flag: "budget", arg: "N/TIME", help: "requests to spend, such as 500/s or 10/30s; default 60/m", live: true,
		set: setBudget, show: func(s config.Settings) any { return s.Limits.Budget.String() }},
	{key: "policy", flag: "policy", arg: "NAME", help: "what to poll next: " + strings.Join(policy.Names, " or ") + "; default " + policy.Default,
		set: setPolicy, show: func(s config.Settings) any { return s.Policy }},
	{key: "hosts.delay", flag: "host-delay", arg: "TIME", help: "time between two polls of one host; default 1s", live: true,
		set: length(func(s *config.Settings) *time.Duration { return &s.Limits.Hosts.Delay }), show: func(s config.Settings) any { return freshet.FormatDuration(s.Limits.Hosts.Delay) }},
	{key: "hosts.concurrency", help: "polls of one host at once, where there is no delay", live: true,
		set: count(func(s *config.Settings) *int { return &s.Limits.Hosts.Concurrency }, 1), show: func(s config.Settings) any { return s.Limits.Hosts.Concurrency }},
	{key: "workers", help: "polls at once in all", live: true,
		set: count(func(s *config.Settings) *int { return &s.Limits.Workers }, 1), show: func(s config.Settings) any { return s.Limits.Workers }},
	{key: "allow_cidr", flag: "allow-cidr", arg: "CIDR", help: "private addresses that may be polled, such as 127.0.0.0/8", many: true,
		set: setAllow, show: func(s config.Settings) any { return s.Fetch.Allow }},
	{key: "log.level", flag: "log-level", arg: "LEVEL", help: "least to log: debug, info, warn or error; default info", live: true,
		set: oneOf(func(s *config.Settings) *string { return &s.LogLevel }, "debug", "info", "warn", "error"), show: func(s config.Settings) any { return s.LogLevel }},
	{key: "log.format", flag: "log-format", arg: "FORM", help: "form of the log: text or json; default text",
		set: oneOf(func(s *config.Settings) *string { return &s.LogForm }, "text", "json"), show: func(s config.Settings) any { return s.LogForm }},
	{key: "keep.age", help: "drop versions superseded longer ago than this",
		set: length(func(s *config.Settings) *time.Duration { return &s.Keep.Age }), show: func(s config.Settings) any { return freshet.FormatDuration(s.Keep.Age) }},
	{key: "keep.versions", help: "versions of all sources together",
		set: count(func(s *config.Settings) *int { return &s.Keep.Versions }, 0), show: func(s config.Settings) any { return s.Keep.Versions }},
	{key: "keep.bytes", help: "stored bytes of all sources together",
		set: size(func(s *config.Settings) *int64 { return &s.Keep.Bytes }), show: func(s config.Settings) any { return freshet.FormatSize(s.Keep.Bytes) }},
	{key: "keep.logs", help: "how long outcomes of polls are kept",
		set: length(func(s *config.Settings) *time.Duration { return &s.Logs }), show: func(s config.Settings) any { return freshet.FormatDuration(s.Logs) }},
}, fetchOptions))

// named fills in the names of the variables: after the flag if there is one,
// and otherwise after the key.
func named(list []option) []option {
	for i, o := range list {
		name := o.flag
		if name == "" {
			name = o.key
		}
		list[i].env = "FRESHET_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	}
	return list
}

// optionFlags adds the flags of the options named to a set.
func optionFlags(set *pflag.FlagSet, names ...string) {
	for _, o := range options {
		if o.flag != "" && slices.Contains(names, o.flag) {
			set.Var(&optionFlag{option: o}, o.flag, o.help+" ["+o.env+"]")
		}
	}
}

// An optionFlag holds what was written after a flag until all settings are
// gathered.
type optionFlag struct {
	option
	value string
}

// String returns what was written.
func (f *optionFlag) String() string { return f.value }

// Type returns what the flag takes, for its help.
func (f *optionFlag) Type() string { return f.arg }

// Set notes what was written.
func (f *optionFlag) Set(v string) error {
	if f.many && f.value != "" {
		v = f.value + "," + v
	}
	f.value = v
	return nil
}

func text(at func(*config.Settings) *string) func(*config.Settings, string) error {
	return func(s *config.Settings, v string) error {
		if v == "" {
			return fmt.Errorf("is empty")
		}
		*at(s) = v
		return nil
	}
}

func oneOf(at func(*config.Settings) *string, known ...string) func(*config.Settings, string) error {
	return func(s *config.Settings, v string) error {
		if !slices.Contains(known, v) {
			return fmt.Errorf("%q is not one of %s%s", v, strings.Join(known, ", "), didYouMean(v, known))
		}
		*at(s) = v
		return nil
	}
}

func length(at func(*config.Settings) *time.Duration) func(*config.Settings, string) error {
	return func(s *config.Settings, v string) (err error) {
		d, err := freshet.ParseDuration(v)
		if err == nil {
			*at(s) = d
		}
		return err
	}
}

func size(at func(*config.Settings) *int64) func(*config.Settings, string) error {
	return func(s *config.Settings, v string) error {
		n, err := freshet.ParseSize(v)
		if err == nil {
			*at(s) = n
		}
		return err
	}
}

func count(at func(*config.Settings) *int, least int) func(*config.Settings, string) error {
	return func(s *config.Settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least {
			return fmt.Errorf("%q is not a whole number of at least %d", v, least)
		}
		*at(s) = n
		return nil
	}
}

func setListen(s *config.Settings, v string) error {
	host, port, err := net.SplitHostPort(v)
	if err != nil {
		return fmt.Errorf("%q is not an address and port; write 127.0.0.1:8080", v)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q has no port between 0 and 65535", v)
	}
	s.Listen = net.JoinHostPort(host, port)
	return nil
}

func setBudget(s *config.Settings, v string) error {
	b, err := sched.ParseBudget(v)
	if err != nil {
		return reason(err)
	}
	s.Limits.Budget = b
	return nil
}

func setPolicy(s *config.Settings, v string) error {
	if _, err := policy.New(v, policy.Setting{}); err != nil {
		return fmt.Errorf("%w%s", reason(err), didYouMean(v, policy.Names))
	}
	s.Policy = v
	return nil
}

func setAllow(s *config.Settings, v string) (err error) {
	prefixes, err := parsePrefixes(v)
	if err == nil {
		s.Fetch.Allow = prefixes
	}
	return err
}
