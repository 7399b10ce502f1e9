package main

import (
	"testing"

	"freshet/internal/app/config"
)

// Every option that has a flag is a flag of serve, as the docs say.
func TestServeTakesEveryOption(t *testing.T) {
	serve, _, err := (&program{env: func(string) string { return "" }}).root().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range config.Options() {
		if o.Flag != "" && serve.Flag(o.Flag) == nil {
			t.Errorf("%s has the flag --%s, and serve does not take it", o.Key, o.Flag)
		}
	}
}
