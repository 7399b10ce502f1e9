package labflag_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/lab/labflag"
	"freshet/internal/sched/policy"
)

func TestCommasPartPoliciesAndTheirOptions(t *testing.T) {
	f := labflag.Policies{Known: policy.Names, Check: func(name string) error {
		_, err := policy.New(name, policy.Setting{})
		return err
	}}
	for _, v := range []string{"uniform", "sample-greedy:samples=10,share=0.3,wic, frequency:floor=0.1,memory=9", "sample-adaptive:cycle=1d,window=22:00-06:00,uniform"} {
		if err := f.Set(v); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"uniform", "sample-greedy:samples=10,share=0.3", "wic", "frequency:floor=0.1,memory=9", "sample-adaptive:cycle=1d,window=22:00-06:00", "uniform"}
	if diff := cmp.Diff(want, f.List); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}
