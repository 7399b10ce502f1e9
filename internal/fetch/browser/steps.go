package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
	"freshet/internal/mask"
)

// script is what is asked of pages; see its file.
//
//go:embed script/page.js
var script string

// step does one thing on the page.
func (t *tab) step(ctx context.Context, s rendering.Step, patience time.Duration, v *visit) error {
	if s.At != "" {
		if err := t.await(ctx, s.At, patience); err != nil {
			return err
		}
	}
	var act string
	switch s.Do {
	case rendering.Click:
		act = fmt.Sprintf(`freshet.click(%s)`, quoted(s.At))
	case rendering.Fill:
		act = fmt.Sprintf(`freshet.fill(%s, %s)`, quoted(s.At), quoted(s.Text))
	case rendering.Scroll:
		act = fmt.Sprintf(`freshet.scroll(%s)`, quoted(s.At))
	case rendering.Wait:
		if s.At != "" {
			return nil
		}
		return t.rest(ctx, s.For)
	}
	if err := t.eval(ctx, act, nil); err != nil {
		return err
	}
	return t.quiet(ctx, v, patience)
}

// rest waits for a time.
func (t *tab) rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stepFailure says which step failed.
func stepFailure(i int, s rendering.Step, err error) error {
	e, ok := errors.AsType[*freshet.FetchError](err)
	if !ok || !e.Class.Is(failure.RenderStep) {
		return err
	}
	return fail(e.Class, e.Hint, "step %d (%s): %w", i+1, mask.Shorten(s.String(), 80), e.Err)
}

// bannerPatience is how long a page that is quiet may take to show its banner.
const bannerPatience = time.Second

// consent answers the consent banner of the page, if it shows one.
func (t *tab) consent(ctx context.Context, page Page, v *visit) error {
	begun := time.Now()
	var pressed bool
	err := t.poll(ctx, func() (bool, error) {
		err := t.eval(ctx, fmt.Sprintf(`freshet.consent(%s)`, quoted(string(page.Consent))), &pressed)
		return pressed || time.Since(begun) >= bannerPatience, err
	})
	if err != nil || !pressed {
		return err
	}
	return t.quiet(ctx, v, page.Wait)
}
