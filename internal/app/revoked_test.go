package app_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/auth/access"
)

// A worker is at work when its token is revoked, or when the token in the file is changed. It is cut off, and
// is not let in again. Workers with a token that is good stay, and one with the new token is let in.
func TestWorkersWhoseTokenIsRevoked(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.Cluster.TokenFile, s.Cluster.Lease = workerToken(t), 300*time.Millisecond
	c, at, _ := serve(t, s, app.ServeConfig{})
	token := func(name string) client.MadeToken {
		t.Helper()
		m, err := c.Tokens.Add(t.Context(), client.NewToken{Name: name, Scopes: []access.Right{access.Work}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	revoked, stays := token("revoked"), token("stays")
	ended := map[string]chan error{}
	for name, shown := range map[string]string{"revoked": revoked.Secret, "old file": "0123456789abcdef"} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan error, 1)
		ended[name] = done
		go func() {
			done <- app.RunWorker(ctx, settings(t), app.WorkerConfig{Join: []string{at}, Token: shown, Name: name, Slots: 8}, slog.New(slog.DiscardHandler))
		}()
		joined(t, c, name, true)
	}
	startWorkerWith(t, c, at, "stays", "a", stays.Secret)
	if err := c.Tokens.Remove(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Cluster.TokenFile, []byte("fedcba9876543210"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, done := range ended {
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "401") {
				t.Errorf("worker %s ends with %v", name, err)
			}
		case <-time.After(5 * time.Minute):
			t.Fatalf("worker %s is still at work", name)
		}
		joined(t, c, name, false)
	}
	startWorkerWith(t, c, at, "new file", "a", "fedcba9876543210")
	joined(t, c, "stays", true)
	if err := os.Remove(s.Cluster.TokenFile); err != nil {
		t.Fatal(err)
	}
	startWorkerWith(t, c, at, "without file", "a", "fedcba9876543210")
}
