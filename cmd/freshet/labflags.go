package main

import (
	"strings"

	"freshet/internal/lab/labflag"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/policy"
)

// An estimateFlag names the estimator that tells a policy how likely changes are.
type estimateFlag struct{ estimate.Spec }

// Type returns what the flag takes, for its help.
func (f *estimateFlag) Type() string { return "ESTIMATE" }

// Set reads the name of an estimator.
func (f *estimateFlag) Set(v string) (err error) {
	f.Spec, err = estimate.Parse(v)
	return labflag.Meant(err, v, each(estimate.Names, func(name string) string {
		base, _, _ := strings.Cut(name, ":")
		return base
	})...)
}

// policiesFlag returns a flag that lists policies.
func policiesFlag() labflag.Policies {
	return labflag.Policies{Known: policy.Names, Check: func(name string) error {
		_, err := policy.New(name, policy.Setting{})
		return err
	}}
}
