package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommasPartPoliciesAndTheirOptions(t *testing.T) {
	var f policiesFlag
	for _, v := range []string{"uniform", "sample-greedy:samples=10,share=0.3,wic, cam:slip=2,epoch=9"} {
		if err := f.Set(v); err != nil {
			t.Fatal(err)
		}
	}
	want := policiesFlag{"uniform", "sample-greedy:samples=10,share=0.3", "wic", "cam:slip=2,epoch=9"}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}
