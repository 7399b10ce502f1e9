package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"freshet/internal/app"
)

// tellReady tells systemd, if it started this process and waits for that, that the daemon is ready.
func tellReady(url string) error {
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS=listening on "+url); err != nil {
		return fmt.Errorf("tell systemd that the daemon is ready: %w", err)
	}
	return nil
}

// tellAlive tells systemd, if it watches this process, as often as it wants to hear it, that the
// daemon is alive: that its API answers. When ctx is done it says that the daemon stops.
func tellAlive(ctx context.Context, data string) error {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read what the watchdog wants: %w", err)
	}
	var turn <-chan time.Time
	if every > 0 {
		ticks := time.NewTicker(every / 3)
		defer ticks.Stop()
		turn = ticks.C
	}
	for {
		select {
		case <-ctx.Done():
			_, err := daemon.SdNotify(false, daemon.SdNotifyStopping)
			return err
		case <-turn:
		}
		at, err := app.ReadAddress(data)
		if err == nil && at.Answers(ctx) {
			_, err = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("tell the watchdog: %w", err)
		}
	}
}
