package sinks_test

import (
	"testing"

	"freshet/internal/sinks"
)

// Stores hold these names, so the same URL must keep its name.
func TestEndpointAt(t *testing.T) {
	const want = "0fcec33e998ff06e99477f0746e9a781"
	if got := sinks.EndpointAt("https://hook.example/in?key=secret"); got != want {
		t.Errorf("the endpoint is called %s, want %s", got, want)
	}
}
