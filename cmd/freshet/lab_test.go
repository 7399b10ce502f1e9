package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommasPartPoliciesAndTheirOptions(t *testing.T) {
	var f policiesFlag
	for _, v := range []string{"uniform", "sample-greedy:samples=10,share=0.3,wic, cam:slip=2,epoch=9", "sample-adaptive:cycle=1d,window=22:00-06:00,uniform"} {
		if err := f.Set(v); err != nil {
			t.Fatal(err)
		}
	}
	want := policiesFlag{"uniform", "sample-greedy:samples=10,share=0.3", "wic", "cam:slip=2,epoch=9", "sample-adaptive:cycle=1d,window=22:00-06:00", "uniform"}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}
