package queries

import (
	"time"

	"cel.dev/cel-go/cel"
)

// A OneByOne is an engine that evaluates every condition in scope.
type OneByOne struct{ *Engine }

// NewOneByOne returns such an engine without queries. It shares its programs with
// another one.
func NewOneByOne(with *Engine) OneByOne {
	e := newEngine(with.forge)
	return OneByOne{e}
}

// Put adds a query without what an index would find it by.
func (o OneByOne) Put(q Query) error {
	p, err := o.forge.plan(q)
	if err == nil {
		p.atoms, p.exact = nil, false
		o.install(p)
	}
	return err
}

// IsQuiet reports whether a moment lies in quiet hours.
func IsQuiet(q QuietHours, at time.Time) bool {
	in, err := time.LoadLocation(q.Zone)
	if err != nil {
		panic(err)
	}
	return isQuiet(q, at.In(in))
}

// Vocabulary returns the names and functions that conditions have beyond CEL.
func Vocabulary() (all []string) {
	for name, is := range names() {
		all = append(all, name)
		for member := range members()[is.TypeName()] {
			all = append(all, member)
		}
	}
	env, err := cel.NewCustomEnv(append(functions(), lookbacks()...)...)
	if err != nil {
		panic(err)
	}
	for name := range env.Functions() {
		all = append(all, name)
	}
	return all
}
