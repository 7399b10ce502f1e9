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
	set  func(*settings, string) error
	show func(settings) any // as it would be written in the file
}

// options are all of them, in the order in which they are shown.
var options = named(slices.Concat([]option{
	{key: "data", flag: "data", arg: "DIR", help: "where sources and history are kept; default $XDG_DATA_HOME/freshet or ~/.local/share/freshet",
		set: text(func(s *settings) *string { return &s.data }), show: func(s settings) any { return s.data }},
	{key: "listen", flag: "listen", arg: "ADDR", help: "address of the API; port 0 takes any free one; default 127.0.0.1:8080",
		set: setListen, show: func(s settings) any { return s.listen }},
	{key: "api.url", help: "where others reach the API, as told in events",
		set: text(func(s *settings) *string { return &s.publicURL }), show: func(s settings) any { return s.publicURL }},
	{key: "api.names", help: "names that the API is called by, besides addresses and localhost", many: true,
		set: func(s *settings, v string) error { s.names = splitList(v); return nil }, show: func(s settings) any { return s.names }},
	{key: "budget", flag: "budget", arg: "N/TIME", help: "requests to spend, such as 500/s or 10/30s; default 60/m", live: true,
		set: setBudget, show: func(s settings) any { return s.limits.Budget.String() }},
	{key: "policy", flag: "policy", arg: "NAME", help: "what to poll next: " + strings.Join(policy.Names, " or ") + "; default " + policy.Default,
		set: setPolicy, show: func(s settings) any { return s.policy }},
	{key: "hosts.delay", flag: "host-delay", arg: "TIME", help: "time between two polls of one host; default 1s", live: true,
		set: length(func(s *settings) *time.Duration { return &s.limits.Hosts.Delay }), show: func(s settings) any { return freshet.FormatDuration(s.limits.Hosts.Delay) }},
	{key: "hosts.concurrency", help: "polls of one host at once, where there is no delay", live: true,
		set: count(func(s *settings) *int { return &s.limits.Hosts.Concurrency }, 1), show: func(s settings) any { return s.limits.Hosts.Concurrency }},
	{key: "workers", help: "polls at once in all", live: true,
		set: count(func(s *settings) *int { return &s.limits.Workers }, 1), show: func(s settings) any { return s.limits.Workers }},
	{key: "allow_cidr", flag: "allow-cidr", arg: "CIDR", help: "private addresses that may be polled, such as 127.0.0.0/8", many: true,
		set: setAllow, show: func(s settings) any { return s.fetch.Allow }},
	{key: "log.level", flag: "log-level", arg: "LEVEL", help: "least to log: debug, info, warn or error; default info", live: true,
		set: oneOf(func(s *settings) *string { return &s.logLevel }, "debug", "info", "warn", "error"), show: func(s settings) any { return s.logLevel }},
	{key: "log.format", flag: "log-format", arg: "FORM", help: "form of the log: text or json; default text",
		set: oneOf(func(s *settings) *string { return &s.logForm }, "text", "json"), show: func(s settings) any { return s.logForm }},
	{key: "keep.age", help: "drop versions superseded longer ago than this",
		set: length(func(s *settings) *time.Duration { return &s.keep.Age }), show: func(s settings) any { return freshet.FormatDuration(s.keep.Age) }},
	{key: "keep.versions", help: "versions of all sources together",
		set: count(func(s *settings) *int { return &s.keep.Versions }, 0), show: func(s settings) any { return s.keep.Versions }},
	{key: "keep.bytes", help: "stored bytes of all sources together",
		set: size(func(s *settings) *int64 { return &s.keep.Bytes }), show: func(s settings) any { return freshet.FormatSize(s.keep.Bytes) }},
	{key: "keep.logs", help: "how long outcomes of polls are kept",
		set: length(func(s *settings) *time.Duration { return &s.logs }), show: func(s settings) any { return freshet.FormatDuration(s.logs) }},
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

func text(at func(*settings) *string) func(*settings, string) error {
	return func(s *settings, v string) error {
		if v == "" {
			return fmt.Errorf("is empty")
		}
		*at(s) = v
		return nil
	}
}

func oneOf(at func(*settings) *string, known ...string) func(*settings, string) error {
	return func(s *settings, v string) error {
		if !slices.Contains(known, v) {
			return fmt.Errorf("%q is not one of %s%s", v, strings.Join(known, ", "), didYouMean(v, known))
		}
		*at(s) = v
		return nil
	}
}

func length(at func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, v string) (err error) {
		d, err := freshet.ParseDuration(v)
		if err == nil {
			*at(s) = d
		}
		return err
	}
}

func size(at func(*settings) *int64) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := freshet.ParseSize(v)
		if err == nil {
			*at(s) = n
		}
		return err
	}
}

func count(at func(*settings) *int, least int) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least {
			return fmt.Errorf("%q is not a whole number of at least %d", v, least)
		}
		*at(s) = n
		return nil
	}
}

func setListen(s *settings, v string) error {
	host, port, err := net.SplitHostPort(v)
	if err != nil {
		return fmt.Errorf("%q is not an address and port; write 127.0.0.1:8080", v)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q has no port between 0 and 65535", v)
	}
	s.listen = net.JoinHostPort(host, port)
	return nil
}

func setBudget(s *settings, v string) error {
	b, err := sched.ParseBudget(v)
	if err != nil {
		return reason(err)
	}
	s.limits.Budget = b
	return nil
}

func setPolicy(s *settings, v string) error {
	if _, err := policy.New(v, policy.Setting{}); err != nil {
		return fmt.Errorf("%w%s", reason(err), didYouMean(v, policy.Names))
	}
	s.policy = v
	return nil
}

func setAllow(s *settings, v string) (err error) {
	prefixes, err := parsePrefixes(v)
	if err == nil {
		s.fetch.Allow = prefixes
	}
	return err
}
